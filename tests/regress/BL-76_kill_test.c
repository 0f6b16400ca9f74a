// BL-76, the half that kill -9 tests: what was acknowledged is there after a process that died at
// any instant. (Loss of power, which takes what was not synced, is the crash suite's.)
#define _GNU_SOURCE // environ
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rand.h"
#include "lib/engine_calls.h"

#define ROUNDS 12
#define BATCH 16
#define IDS_MAX 100000

// What the child tells before it goes on: as a server tells its clients.
struct ack {
    uint32_t number;
    uint32_t completed; // 0: claimed
    uint64_t token;
};

static struct engine_fixture fixture;
static struct ack acked[IDS_MAX]; // by number; a token of 0: nothing was acknowledged
static char ids[BATCH][32];

static void setup(void) { fixture_init_closed(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static void id_of(uint32_t number, char out[32]) { (void)snprintf(out, 32, "K%u", number); }

static void tell(struct ack ack) {
    if (write(STDOUT_FILENO, &ack, sizeof ack) != (ssize_t)sizeof ack) _exit(1);
}

// Claims and completes one batch, each time in as few groups as the writer will have it.
static void serve_batch(uint32_t from) {
    static struct fixture_call calls[BATCH];
    for (uint32_t i = 0; i < BATCH; i++) {
        struct claim_command begin = {.verb = CLAIM_BEGIN, .lease = {true, 86400000}};
        id_of(from + i, ids[i]);
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){.id = ids[i], .command = begin});
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        uint64_t token = fixture_finish(&calls[i])->decision.record.token;
        tell((struct ack){from + i, 0, token});
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        struct claim_command complete = {.verb = CLAIM_COMPLETE,
                                         .token = calls[i].answer.decision.record.token,
                                         .result = {.present = true,
                                                    .size_bytes = (uint32_t)strlen(ids[i]),
                                                    .data = bytes_of(ids[i])}};
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){.id = ids[i], .command = complete});
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        if (fixture_finish(&calls[i])->err != ERR_OK) _exit(1);
        tell((struct ack){from + i, 1, calls[i].answer.decision.record.token});
    }
    fixture_forget(&fixture);
    fake_clock_advance(&fixture.clock, 100);
}

// --- the process that is killed: this program again, with a directory and a first number --------

static const char *serve_dir;
static uint32_t serve_first;

START_TEST(serve) {
    fixture_init_on(&fixture, serve_dir);
    fixture_open(&fixture);
    for (uint32_t from = serve_first; from < IDS_MAX - BATCH; from += BATCH) serve_batch(from);
}
END_TEST

static int serve_main(const char *dir, const char *first) {
    serve_dir = dir;
    for (; *first >= '0' && *first <= '9'; first++) {
        serve_first = serve_first * 10 + (uint32_t)(*first - '0');
    }
    Suite *suite = suite_create("server");
    TCase *cases = tcase_create("server");
    tcase_add_test(cases, serve);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT); // what it has to say is the acknowledgements
    srunner_free(runner);
    return EXIT_FAILURE;
}

// --- the process that kills it ------------------------------------------------------------------

static pid_t start_serving(uint32_t first, int *out_fd) {
    static char program[] = "/proc/self/exe";
    static char word[] = "--serve";
    char number[32];
    (void)snprintf(number, sizeof number, "%u", first);
    char *const arguments[] = {program, word, fixture.dir, number, NULL};
    posix_spawn_file_actions_t actions;
    int fds[2];
    pid_t pid;
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO), 0);
    ck_assert_int_eq(posix_spawn_file_actions_addclose(&actions, fds[0]), 0);
    ck_assert_int_eq(posix_spawn_file_actions_addclose(&actions, fds[1]), 0);
    ck_assert_int_eq(posix_spawn(&pid, program, &actions, NULL, arguments, environ), 0);
    ck_assert_int_eq(posix_spawn_file_actions_destroy(&actions), 0);
    ck_assert_int_eq(close(fds[1]), 0);
    *out_fd = fds[0];
    return pid;
}

// Notes an acknowledgement; false at the end.
static bool hear(int fd, uint32_t *last) {
    struct ack ack;
    ssize_t len;
    do {
        len = read(fd, &ack, sizeof ack);
    } while (len < 0 && errno == EINTR);
    if (len == 0) return false;
    ck_assert_int_eq(len, (ssize_t)sizeof ack);
    ck_assert_uint_lt(ack.number, IDS_MAX);
    acked[ack.number] = ack;
    if (ack.number > *last) *last = ack.number;
    return true;
}

static void expect_kept(uint32_t count, uint64_t *token_max) {
    for (uint32_t number = 0; number < count; number++) {
        char id[32];
        id_of(number, id);
        const struct ack *ack = &acked[number];
        struct fixture_answer seen = fixture_get(&fixture, id);
        if (ack->token == 0) {
            // Whole or not there at all.
            ck_assert(seen.err == ERR_NOT_FOUND || seen.err == ERR_OK);
        } else {
            FIXTURE_EXPECT_ERR(seen, ERR_OK);
            ck_assert_uint_eq(seen.decision.record.token, ack->token);
            ck_assert_uint_eq(seen.decision.record.attempt_count, 1);
        }
        if (ack->completed) {
            struct fixture_answer answer = fixture_begin_for(&fixture, id, 1000);
            fixture_expect_result(&answer, bytes_of(id));
        }
        if (seen.err == ERR_OK && seen.decision.record.token > *token_max) {
            *token_max = seen.decision.record.token;
        }
        fixture_forget(&fixture);
    }
}

START_TEST(BL_76_acknowledged_is_kept) {
    struct rand kernel = rand_from_kernel();
    uint64_t seed = rand_u64(&kernel);
    struct rand rand = rand_from_seed(seed);
    (void)fprintf(stderr, "BL-76: seed %" PRIu64 "\n", seed);
    uint32_t next = 0;
    uint64_t token_max = 0;
    uint64_t heard = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int fd;
        pid_t pid = start_serving(next, &fd);
        // In the middle of something, after so many acknowledgements.
        uint32_t last = next;
        for (uint64_t left = rand_u64(&rand) % 300; left > 0 && hear(fd, &last); left--) heard++;
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        while (hear(fd, &last)) heard++;
        (void)close(fd);
        int status;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status));

        fixture_open(&fixture);
        expect_kept(last + 2 * BATCH, &token_max);
        fixture_expect_counts_true(&fixture);
        next = last + 2 * BATCH;
        uint64_t token = fixture_claim(&fixture, "afterwards", 1000);
        ck_assert_uint_gt(token, token_max);
        fixture_release(&fixture, "afterwards", token);
        fixture_close(&fixture);
    }
    ck_assert_uint_gt(heard, 100);
}
END_TEST

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "--serve") == 0) {
        return serve_main(argv[2], argv[3]);
    }
    Suite *suite = suite_create("regress/kill");
    TCase *cases = tcase_create("kill");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_76_acknowledged_is_kept);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
