// SIGKILL at any instant: every acknowledged group is there, and no group is half there.
//
// A child writes groups and acknowledges each through a pipe; the parent kills it after a random
// number of acknowledgements. Small memtables make log switches, flushes and compactions frequent,
// so that kills fall into them. The parent never opens RocksDB itself: its threads do not survive a
// fork.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "base/rand.h"
#include "base/scope.h"
#include "lib/store_fixture.h"
#include "store/store_scan.h"

#define ROUNDS 20
#define ACKS_MAX 150
#define VALUE_BYTES 1500

static struct store_fixture fixture;

static void setup(void) {
    store_fixture_init(&fixture);
    ck_assert(!temp_dir_is_in_memory(fixture.temp.path)); // a kill would prove nothing there
    fixture.options.write_buffer_bytes = (size_t)64 * 1024;
}

static void teardown(void) { store_fixture_deinit(&fixture); }

static void key_of(uint64_t position, char out[16]) {
    (void)snprintf(out, 16, "k%08u", (unsigned)position);
}

// Row of a group: the same value in both families, and the position in the value.
static void write_group(const char *fill) {
    uint64_t position = store_position(fixture.store) + 1;
    char key[16];
    char value[VALUE_BYTES + 32];
    key_of(position, key);
    (void)snprintf(value, sizeof value, "%u:%s", (unsigned)position, fill);
    store_fixture_put(&fixture, KEYSPACE_OPEN, key, value);
    store_fixture_put(&fixture, KEYSPACE_DONE, key, value);
    // The hot rows of meta, and a row that is deleted again by the next group.
    key_of(position - 1, key);
    store_fixture_delete(&fixture, KEYSPACE_BLOB, key);
    key_of(position, key);
    store_fixture_put(&fixture, KEYSPACE_BLOB, key, value);
    store_fixture_put(&fixture, KEYSPACE_META, "counts", value);
    ck_assert_uint_eq(store_fixture_commit(&fixture), position);
}

static _Noreturn void child_write(int acks) {
    static char fill[VALUE_BYTES];
    memset(fill, 'f', sizeof fill - 1);
    store_fixture_open(&fixture);
    for (;;) {
        write_group(fill);
        uint64_t position = store_position(fixture.store);
        if (write(acks, &position, sizeof position) != sizeof position) _exit(1);
    }
}

static uint64_t count_rows(enum keyspace_family family, uint64_t first) {
    struct store_scan *scan = NULL;
    struct bytes key;
    struct bytes value;
    ck_assert_int_eq(store_scan_open(fixture.store, family, bytes_of("k"), &scan), ERR_OK);
    uint64_t position = first;
    enum err err;
    while ((err = store_scan_next(scan, &key, &value)) == ERR_OK) {
        char expected[16];
        key_of(position, expected);
        ck_assert_msg(bytes_equal(key, bytes_of(expected)), "%.*s instead of %s", (int)key.len,
                      (const char *)key.data, expected);
        char number[16];
        int len = snprintf(number, sizeof number, "%u:", (unsigned)position);
        ck_assert(value.len > (size_t)len && memcmp(value.data, number, (size_t)len) == 0);
        position++;
    }
    ck_assert_int_eq(err, ERR_NOT_FOUND);
    store_scan_close(scan);
    return position - first;
}

// Opens what the killed child left, and says by its exit status whether it holds what it must.
static _Noreturn void child_verify(uint64_t acknowledged, int out) {
    store_fixture_open(&fixture);
    uint64_t position = store_position(fixture.store);
    ck_assert_uint_ge(position, acknowledged);
    ck_assert_uint_le(position, acknowledged + 1); // one may have been written and not told
    ck_assert_uint_eq(count_rows(KEYSPACE_OPEN, 1), position);
    ck_assert_uint_eq(count_rows(KEYSPACE_DONE, 1), position);
    ck_assert_uint_eq(count_rows(KEYSPACE_BLOB, position), position == 0 ? 0 : 1);
    store_fixture_close(&fixture);
    if (write(out, &position, sizeof position) != sizeof position) _exit(1);
    _exit(0);
}

// Reads acknowledgements until the pipe ends, killing the writer after some; returns the last.
static uint64_t read_acks(int fd, pid_t writer, uint64_t kill_after, uint64_t last) {
    uint64_t position = 0;
    uint64_t count = 0;
    while (read(fd, &position, sizeof position) == sizeof position) {
        ck_assert_uint_gt(position, last);
        last = position;
        if (++count == kill_after) ck_assert_int_eq(kill(writer, SIGKILL), 0);
    }
    ck_assert_uint_ge(count, kill_after); // else the writer failed by itself
    return last;
}

static pid_t start(bool verify, uint64_t acknowledged, int *out_fd) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)close(ends[0]);
        if (verify) child_verify(acknowledged, ends[1]);
        child_write(ends[1]);
    }
    (void)close(ends[1]);
    *out_fd = ends[0];
    return child;
}

static uint64_t run_round(uint64_t kill_after, uint64_t acknowledged) {
    int fd = -1;
    int status = 0;
    pid_t writer = start(false, 0, &fd);
    acknowledged = read_acks(fd, writer, kill_after, acknowledged);
    (void)close(fd);
    ck_assert_int_eq(waitpid(writer, &status, 0), writer);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    uint64_t position = 0;
    pid_t verifier = start(true, acknowledged, &fd);
    ck_assert_int_eq(waitpid(verifier, &status, 0), verifier);
    ck_assert_msg(status == 0, "verification failed after position %u", (unsigned)acknowledged);
    ck_assert_int_eq(read(fd, &position, sizeof position), sizeof position);
    (void)close(fd);
    return position;
}

// STORE_CRASH_SEED, to repeat a run, else a fresh one.
static uint64_t choose_seed(void) {
    const char *asked = getenv("STORE_CRASH_SEED");
    struct rand fresh = rand_from_kernel();
    if (asked == NULL) return rand_u64(&fresh) >> 32;
    uint64_t seed = 0;
    for (; *asked >= '0' && *asked <= '9'; asked++) seed = seed * 10 + (uint64_t)(*asked - '0');
    return seed;
}

static void run_rounds(void) {
    uint64_t seed = choose_seed();
    const char *more = getenv("STORE_CRASH_MORE"); // set: ten times the rounds
    struct rand random = rand_from_seed(seed);
    (void)printf("store_crash: STORE_CRASH_SEED=%u\n", (unsigned)seed);
    (void)fflush(stdout);
    int status = 0;
    pid_t creator = fork();
    ck_assert_int_ge(creator, 0);
    if (creator == 0) {
        store_fixture_create(&fixture);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(creator, &status, 0), creator);
    ck_assert_int_eq(status, 0);
    uint64_t acknowledged = 0;
    for (int round = 0; round < (more != NULL ? ROUNDS * 10 : ROUNDS); round++) {
        acknowledged = run_round(1 + rand_u64(&random) % ACKS_MAX, acknowledged);
    }
}

START_TEST(kills_lose_nothing) { run_rounds(); }
END_TEST

// A kill is not a power cut: what the kernel has is there, synced or not.
START_TEST(kills_lose_nothing_when_relaxed) {
    fixture.options.relaxed = true;
    run_rounds();
}
END_TEST

START_TEST(memory_backed_places_are_known) {
    if (access("/dev/shm", W_OK) == 0) ck_assert(temp_dir_is_in_memory("/dev/shm"));
}
END_TEST

int main(void) {
    TCase *cases = tcase_create("store_crash");
    tcase_set_timeout(cases, 280);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, kills_lose_nothing);
    tcase_add_test(cases, kills_lose_nothing_when_relaxed);
    tcase_add_test(cases, memory_backed_places_are_known);
    Suite *suite = suite_create("store/store_crash");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
