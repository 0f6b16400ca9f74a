// BL-78, 79, 81, 83: what a restart, a compaction or a torn log makes of what was stored.
#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "engine/prune.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

// --- BL-78: range deletes bring keys back or delete others ---------------------------------------

static struct prune_progress last;

static void prune_heard(struct prune_request *request, const struct prune_progress *progress) {
    last = *progress;
    if (!progress->done) prune_continue(request);
}

static bool is_pruned(void *arg) {
    (void)arg;
    return last.done;
}

static struct fixture_answer verb_do(const char *consumer, const char *id, enum claim_verb verb) {
    return fixture_do(&fixture, &(struct fixture_request){
                                    .consumer = consumer, .id = id, .command = {.verb = verb}});
}

START_TEST(BL_78_both_ends_of_a_prune_are_exact) {
    // Three consumers whose keys are neighbours, with the lowest and the highest IDs there are.
    static const char *const consumers[] = {"left", "middle", "right"};
    static const char *const keys[] = {"\x01",
                                       "a",
                                       "m",
                                       "zzzz",
                                       "\xF4\x8F\xBF\xBF",
                                       "00000000-0000-0000-0000-000000000000",
                                       "ffffffff-ffff-ffff-ffff-ffffffffffff"};
    const size_t key_count = sizeof keys / sizeof keys[0];
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < key_count; j++) verb_do(consumers[i], keys[j], CLAIM_CANCEL);
    }
    fixture_advance(&fixture, 1);
    fixture_flush(&fixture);
    struct prune_request request = {.consumer = bytes_of("middle"),
                                    .before = {fake_clock_wall_ms(&fixture.clock)},
                                    .force = true,
                                    .progress = prune_heard};
    ck_assert_int_eq(prune_start(fixture.engine, &request), ERR_OK);
    fixture_turn_until(&fixture, is_pruned, NULL);
    ck_assert_uint_eq(last.removed_count, key_count);
    verb_do("middle", "m", CLAIM_CANCEL); // written into the range again
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < key_count; j++) {
                bool there = i != 1 || strcmp(keys[j], "m") == 0;
                struct fixture_answer seen = verb_do(consumers[i], keys[j], CLAIM_GET);
                FIXTURE_EXPECT_ERR(seen, there ? ERR_OK : ERR_NOT_FOUND);
            }
        }
        ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 2 * key_count + 1);
        fixture_flush(&fixture); // files are rewritten
        if (round == 1) fixture_reopen(&fixture);
    }
}
END_TEST

// --- BL-79: dedup memory differs after a restart -------------------------------------------------

// What each of five claims answers; deadlines relative to now.
static void expect_answers(int64_t grace_ms) {
    struct fixture_answer answer = fixture_begin_for(&fixture, "K1", 1000);
    fixture_expect_result(&answer, bytes_of("one"));
    answer = fixture_begin_for(&fixture, "K2", 1000);
    fixture_expect_result(&answer, bytes_of("two"));
    answer = fixture_begin_for(&fixture, "K3", 1000);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    ck_assert_int_ge(fixture_lease_left_ms(&answer), 9000);
    ck_assert_int_le(fixture_lease_left_ms(&answer), 9000 + grace_ms);
    answer = fixture_begin_for(&fixture, "K4", 1000);
    fixture_expect_outcome(&answer, CLAIM_NOT_YET);
    ck_assert_int_ge(fixture_delay_left_ms(&answer), 4000);
    ck_assert_int_le(fixture_delay_left_ms(&answer), 4000 + grace_ms);
    answer = fixture_begin_for(&fixture, "K5", 1000);
    fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
    ck_assert(bytes_equal(answer.decision.record.last_error.message, bytes_of("it did not work")));
}

START_TEST(BL_79_the_same_answers_after_a_restart) {
    fixture_succeed(&fixture, "K1", "one");
    fixture_advance(&fixture, 3600000);
    fixture_succeed(&fixture, "K2", "two");
    uint64_t token = fixture_claim(&fixture, "K5", 10000);
    fixture_fail(&fixture, "K5", token, FAIL_POISON);
    token = fixture_claim(&fixture, "K4", 10000);
    fixture_fail_after(&fixture, "K4", token, 5000);
    token = fixture_claim(&fixture, "K3", 10000);
    fixture_advance(&fixture, 1000);
    expect_answers(0);
    fixture_reopen(&fixture);
    expect_answers(0);
    fixture_crash(&fixture);
    expect_answers(1000); // at most a second more for the crash
    ck_assert_uint_gt(fixture_claim(&fixture, "new", 1000), token);
    struct fixture_answer done = fixture_complete(&fixture, "K3", token, "three");
    FIXTURE_EXPECT_ERR(done, ERR_OK); // its holder lives on
}
END_TEST

// --- BL-81: an active item with no lease entry is never recovered --------------------------------

// Deadlines are nowhere but in the records: whatever is remembered of them in memory can be lost.
START_TEST(BL_81_deadlines_are_found_again_from_the_records) {
    fixture.policy.on_lapse = POLICY_HOLD;
    fixture_claim(&fixture, "held", 10000);
    fixture.policy.on_lapse = POLICY_RETRY;
    fixture_claim(&fixture, "retried", 10000);
    fixture_advance(&fixture, 5000);
    fixture_crash(&fixture);
    fixture_advance(&fixture, 6000);
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_UNKNOWN - 1], 1);
    struct fixture_answer answer = fixture_begin_for(&fixture, "held", 1000);
    fixture_expect_outcome(&answer, CLAIM_OUTCOME_UNKNOWN);
    answer = fixture_begin_for(&fixture, "retried", 1000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    fixture_expect_counts_true(&fixture);
}
END_TEST

// The counts are a second structure beside the records. One that was lost is damage, and is said at
// the start instead of ending the process at the first Complete.
START_TEST(BL_81_counts_that_are_not_the_records_are_damage) {
    SCOPE_BUF struct buf key = {0};
    struct error_detail detail = {0};
    fixture_claim(&fixture, "K", 10000);
    fixture_close(&fixture);
    keyspace_put_counts_key(&key, 0);
    fixture_edit_delete(&fixture, KEYSPACE_META, buf_bytes(&key));
    ck_assert_int_eq(fixture_try_open(&fixture, &detail), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(detail.text, "counts"));
    ck_assert_ptr_nonnull(strstr(detail.text, "backup"));
}
END_TEST

// --- BL-83: a torn log tail refuses to open ------------------------------------------------------

static char before_dir[1024]; // the files before the last group...
static char after_dir[1024];  // ...and after it

static const char *path_in(const char *dir, const char *name) { return temp_dir_join(dir, name); }

// The newest log of a store.
static void log_path(const char *dir, char out[1024]) {
    glob_t found;
    ck_assert_int_eq(glob(path_in(dir, "db/*.log"), 0, NULL, &found), 0);
    (void)snprintf(out, 1024, "%s", found.gl_pathv[found.gl_pathc - 1]); // sorted
    globfree(&found);
}

static off_t file_len(const char *path) {
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    return info.st_size;
}

static void make_two_moments(void) {
    (void)snprintf(before_dir, sizeof before_dir, "%s", path_in(fixture.temp.path, "before"));
    (void)snprintf(after_dir, sizeof after_dir, "%s", path_in(fixture.temp.path, "after"));
    fixture_succeed(&fixture, "acknowledged", "r");
    fixture_copy_files(&fixture, before_dir);
    fixture_claim(&fixture, "last", 30000);
    fixture_copy_files(&fixture, after_dir);
    fixture_close(&fixture);
}

// A store as a process leaves it that is killed while it writes its last group: the log of `after`,
// cut, and all else of `of`.
static void lay_out(const char *of, off_t cut) {
    char log[1024];
    char newer[1024];
    temp_dir_remove_path(fixture.dir);
    temp_dir_copy_path(of, fixture.dir);
    log_path(fixture.dir, log);
    log_path(after_dir, newer);
    ck_assert_str_eq(strrchr(log, '/'), strrchr(newer, '/')); // the same one, grown
    temp_dir_remove_path(log);
    temp_dir_copy_path(newer, log);
    ck_assert_int_eq(truncate(log, file_len(newer) - cut), 0);
}

static off_t last_group_len(void) {
    char log[1024];
    char newer[1024];
    log_path(before_dir, log);
    log_path(after_dir, newer);
    return file_len(newer) - file_len(log);
}

START_TEST(BL_83_a_torn_tail_opens) {
    make_two_moments();
    off_t group_len = last_group_len();
    ck_assert_int_gt(group_len, 64);
    for (off_t cut = 1; cut <= 64; cut++) {
        lay_out(before_dir, cut);
        fixture_open(&fixture);
        struct fixture_answer answer = fixture_begin_for(&fixture, "acknowledged", 1000);
        fixture_expect_result(&answer, bytes_of("r"));
        answer = fixture_get(&fixture, "last");
        FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND); // nobody was told of it
        fixture_expect_counts_true(&fixture);
        fixture_claim(&fixture, "last", 1000);
        fixture_close(&fixture);
    }
    // On disk, and nobody was told of it before the process died: there, or not there, whole.
    lay_out(before_dir, 0);
    fixture_open(&fixture);
    struct fixture_answer answer = fixture_get(&fixture, "last");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    fixture_expect_counts_true(&fixture);
}
END_TEST

// The same cut, but the group had been acknowledged: something was lost, and that is said.
START_TEST(BL_83_a_cut_into_what_was_acknowledged_is_refused) {
    make_two_moments();
    static const off_t cuts[] = {1, 7, 64};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct error_detail detail = {0};
        lay_out(after_dir, cuts[i]);
        ck_assert_int_eq(fixture_try_open(&fixture, &detail), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(detail.text, "backup"));
    }
}
END_TEST

START_TEST(BL_83_a_damaged_middle_is_refused) {
    make_two_moments();
    for (int percent = 10; percent <= 90; percent += 20) {
        struct error_detail detail = {0};
        char log[1024];
        lay_out(after_dir, 0);
        log_path(fixture.dir, log);
        int fd = open(log, O_RDWR);
        ck_assert_int_ge(fd, 0);
        off_t at = (file_len(log) - last_group_len()) * percent / 100;
        uint8_t byte;
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= 0x40;
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        (void)close(fd);
        ck_assert_int_eq(fixture_try_open(&fixture, &detail), ERR_CORRUPT);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/restart");
    TCase *cases = tcase_create("restart");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_78_both_ends_of_a_prune_are_exact);
    tcase_add_test(cases, BL_79_the_same_answers_after_a_restart);
    tcase_add_test(cases, BL_81_deadlines_are_found_again_from_the_records);
    tcase_add_test(cases, BL_81_counts_that_are_not_the_records_are_damage);
    tcase_add_test(cases, BL_83_a_torn_tail_opens);
    tcase_add_test(cases, BL_83_a_cut_into_what_was_acknowledged_is_refused);
    tcase_add_test(cases, BL_83_a_damaged_middle_is_refused);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
