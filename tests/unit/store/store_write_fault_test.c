// RocksDB's own calls to the file system fail, one after the other: a write that is not on disk is
// never acknowledged, what was acknowledged is there afterwards, and the process does not abort.
//
// This program's own write, pwrite, fsync and fdatasync stand before the C library's, also for the
// shared library that RocksDB is. Each case runs in a child: RocksDB cannot be used on both sides
// of a fork.
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "lib/store_fixture.h"

#define GROUPS 12
#define VALUE_BYTES 6000

static struct store_fixture fixture;

static void setup(void) {
    store_fixture_init(&fixture);
    fixture.options.write_buffer_bytes = (size_t)64 * 1024; // flushes and log switches occur
}

static void teardown(void) { store_fixture_deinit(&fixture); }

// --- the calls -----------------------------------------------------------------------------------

static _Atomic int log_syncs;  // so far
static _Atomic int calls_left; // before the one that fails...
static _Atomic int call_error; // ...with this errno; 0: none fails
static _Atomic bool fail_logs_only;

static bool path_ends(const char *path, const char *suffix) {
    size_t len = strlen(path);
    return len >= strlen(suffix) && strcmp(path + len - strlen(suffix), suffix) == 0;
}

// Counts a call on a file of the store; the errno to fail with, or 0.
static int note_call(int fd, bool is_sync) {
    char link[64];
    char path[1024];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 0) return 0;
    path[len] = '\0';
    bool is_log = path_ends(path, ".log");
    if (is_log && is_sync) log_syncs++;
    // LOG is RocksDB's text for people.
    if (strstr(path, "/data/") == NULL || path_ends(path, "/LOG")) return 0;
    if (call_error == 0 || (fail_logs_only && !is_log)) return 0;
    return atomic_fetch_sub(&calls_left, 1) == 0 ? call_error : 0;
}

static long checked_call(int fd, bool is_sync, long number, const void *data, size_t len,
                         off_t offset) {
    int error = note_call(fd, is_sync);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(number, fd, data, len, offset);
}

ssize_t write(int fd, const void *data, size_t len) {
    return (ssize_t)checked_call(fd, false, SYS_write, data, len, 0);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset) {
    return (ssize_t)checked_call(fd, false, SYS_pwrite64, data, len, offset);
}

int fsync(int fd) { return (int)checked_call(fd, true, SYS_fsync, NULL, 0, 0); }

int fdatasync(int fd) { return (int)checked_call(fd, true, SYS_fdatasync, NULL, 0, 0); }

// --- durability ----------------------------------------------------------------------------------

static void put_group(uint64_t position) {
    static char value[VALUE_BYTES];
    char key[16];
    memset(value, 'v', sizeof value - 1);
    (void)snprintf(key, sizeof key, "k%02u", (unsigned)position);
    store_fixture_put(&fixture, KEYSPACE_OPEN, key, value);
    store_fixture_put(&fixture, KEYSPACE_DONE, key, value);
    char head[64];
    struct buf row = {0};
    keyspace_put_head(&row, &(struct keyspace_head){.position = position, .term = 0});
    ck_assert(!row.failed && row.len < sizeof head);
    store_batch_put(fixture.batch, fixture.store, KEYSPACE_META, keyspace_head_key(),
                    buf_bytes(&row));
    buf_deinit(&row);
}

static enum err write_group(uint64_t position) {
    put_group(position);
    enum err err = store_write(fixture.store, fixture.batch, position);
    store_batch_clear(fixture.batch);
    return err;
}

START_TEST(each_write_is_synced_before_it_returns) {
    fixture.options = store_options_default();
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    for (uint64_t position = 1; position <= 5; position++) {
        int before = log_syncs;
        ck_assert_int_eq(write_group(position), ERR_OK);
        ck_assert_int_eq(log_syncs, before + 1);
    }
}
END_TEST

START_TEST(relaxed_writes_are_synced_when_asked) {
    fixture.options = store_options_default();
    fixture.options.relaxed = true;
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    int before = log_syncs;
    for (uint64_t position = 1; position <= 5; position++) {
        ck_assert_int_eq(write_group(position), ERR_OK);
    }
    ck_assert_int_eq(log_syncs, before);
    ck_assert_int_eq(store_sync_high_water(fixture.store), ERR_OK);
    ck_assert_int_eq(log_syncs, before + 1);
}
END_TEST

// --- faults --------------------------------------------------------------------------------------

struct result {
    uint64_t acknowledged;
    bool reached; // the failing call came
    bool failed;  // and was told
};

// Writes groups until one fails, and tells how far it came.
static _Noreturn void child_write(int out) {
    struct result result = {0};
    struct error_detail detail;
    enum err err = store_fixture_try_open(&fixture, &detail);
    for (uint64_t position = 1; position <= GROUPS && err == ERR_OK; position++) {
        err = write_group(position);
        if (err == ERR_OK) result.acknowledged = position;
    }
    result.failed = err != ERR_OK;
    result.reached = calls_left < 0;
    call_error = 0;
    if (result.failed) ck_assert_int_eq(err, ERR_IO);
    if (result.failed && fixture.store != NULL) {
        ck_assert_int_eq(write_group(GROUPS),
                         ERR_IO); // there is room again, and still nothing is tried
        ck_assert_uint_eq(store_position(fixture.store), result.acknowledged);
    }
    if (write(out, &result, sizeof result) != sizeof result) _exit(1);
    store_fixture_close(&fixture);
    _exit(0);
}

// Nothing acknowledged is missing, and of the group that failed all or nothing is there.
static _Noreturn void child_verify(uint64_t acknowledged) {
    store_fixture_open(&fixture);
    uint64_t position = store_position(fixture.store);
    ck_assert_uint_ge(position, acknowledged);
    ck_assert_uint_le(position, acknowledged + 1);
    for (uint64_t i = 1; i <= GROUPS; i++) {
        char key[16];
        struct buf out = {0};
        (void)snprintf(key, sizeof key, "k%02u", (unsigned)i);
        enum err expected = i <= position ? ERR_OK : ERR_NOT_FOUND;
        ck_assert_int_eq(
            store_get(fixture.store, KEYSPACE_OPEN, bytes_of(key), STORE_MAY_READ, &out), expected);
        ck_assert_int_eq(
            store_get(fixture.store, KEYSPACE_DONE, bytes_of(key), STORE_MAY_READ, &out), expected);
        buf_deinit(&out);
    }
    store_fixture_close(&fixture);
    _exit(0);
}

static void wait_for(pid_t child, const char *what, int n) {
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "%s, failing call %d: status %d", what, n, status);
}

static struct result run_write(int n, int error) {
    int ends[2];
    struct result result = {0};
    ck_assert_int_eq(pipe(ends), 0);
    calls_left = n;
    call_error = error;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) child_write(ends[1]);
    call_error = 0;
    (void)close(ends[1]);
    ssize_t got = read(ends[0], &result, sizeof result);
    wait_for(child, "writing", n);
    ck_assert_int_eq(got, sizeof result);
    (void)close(ends[0]);
    return result;
}

// Lets every step-th call fail, from the first on; returns how many failures were told.
static int run_faults(int error, int step) {
    int told = 0;
    for (int n = 0;; n += step) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            store_fixture_create(&fixture);
            _exit(0);
        }
        wait_for(child, "creating", n);
        struct result result = run_write(n, error);
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) child_verify(result.acknowledged);
        wait_for(child, "verifying", n);
        temp_dir_remove_path(fixture.dir);
        if (!result.reached) return told;
        if (result.failed) told++;
    }
}

START_TEST(every_call_on_the_log_may_find_the_disk_full) {
    fail_logs_only = true;
    ck_assert_int_ge(run_faults(ENOSPC, 1), 2 * GROUPS); // each group is written and synced
}
END_TEST

// Tables, the manifest, its CURRENT and the mark as well, while opening and beside the writes.
START_TEST(calls_on_all_files_may_fail) {
    const char *all = getenv("STORE_FAULT_ALL"); // set: every call instead of one in seven
    ck_assert_int_gt(run_faults(EIO, all != NULL ? 1 : 7), 3);
}
END_TEST

int main(void) {
    TCase *cases = tcase_create("store_write_fault");
    tcase_set_timeout(cases, 280);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, each_write_is_synced_before_it_returns);
    tcase_add_test(cases, relaxed_writes_are_synced_when_asked);
    tcase_add_test(cases, every_call_on_the_log_may_find_the_disk_full);
    tcase_add_test(cases, calls_on_all_files_may_fail);
    Suite *suite = suite_create("store/store_write_fault");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
