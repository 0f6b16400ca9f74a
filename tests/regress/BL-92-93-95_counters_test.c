// BL-92 (tokens), BL-93, 95 (counters): numbers that only tell what happened.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

// --- BL-92: fencing retries use up the epoch space -----------------------------------------------

START_TEST(BL_92_a_refused_grant_takes_no_token) {
    uint64_t token = fixture_claim(&fixture, "K", 1000);
    fixture_advance(&fixture, 1000);
    fixture_close(&fixture);
    fixture.options.disk_soft_reserve_bytes = UINT64_MAX; // what grants cannot be written now
    fixture_open(&fixture);
    for (int i = 0; i < 10000; i++) {
        struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
        FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
        fixture_forget(&fixture);
    }
    fixture_close(&fixture);
    fixture.options.disk_soft_reserve_bytes = 0;
    fixture_open(&fixture);
    ck_assert_uint_eq(fixture_claim(&fixture, "K", 1000), token + 1);
}
END_TEST

START_TEST(BL_92_other_outcomes_take_no_token) {
    uint64_t token = fixture_claim(&fixture, "K", 60000);
    for (int i = 0; i < 100; i++) fixture_begin_for(&fixture, "K", 1000);
    ck_assert_uint_eq(fixture_claim(&fixture, "K2", 1000), token + 1);
}
END_TEST

START_TEST(BL_92_tokens_pass_32_bits_and_end_at_63) {
    static const uint64_t starts[] = {UINT32_MAX - 1, UINT64_C(1) << 53, (uint64_t)LIMIT_TOKEN_MAX};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct error_detail detail;
        fixture_close(&fixture);
        temp_dir_remove_path(fixture.dir);
        ck_assert_int_eq(store_create(fixture.dir, starts[i], &detail), ERR_OK);
        fixture_open(&fixture);
        for (uint64_t j = 0; j < 3; j++) {
            char id[32];
            (void)snprintf(id, sizeof id, "K%llu", (unsigned long long)j);
            if (starts[i] + j > (uint64_t)LIMIT_TOKEN_MAX) {
                struct fixture_answer answer = fixture_begin_for(&fixture, id, 1000);
                FIXTURE_EXPECT_ERR(answer, ERR_TOKENS_EXHAUSTED);
                continue;
            }
            ck_assert_uint_eq(fixture_claim(&fixture, id, 1000), starts[i] + j);
            struct fixture_answer done = fixture_complete(&fixture, id, starts[i] + j, NULL);
            FIXTURE_EXPECT_ERR(done, ERR_OK);
            fixture_reopen(&fixture);
        }
    }
}
END_TEST

// --- BL-93: duplicates counted in two layers -----------------------------------------------------

START_TEST(BL_93_each_begin_is_counted_once) {
    uint64_t token = fixture_claim(&fixture, "K", 30000);
    fixture_begin_for(&fixture, "K", 1000);
    fixture_begin_for(&fixture, "K", 1000);
    fixture_complete(&fixture, "K", token, "r");
    fixture_begin_for(&fixture, "K", 1000);
    fixture_begin_for(&fixture, "K", 1000);
    struct engine_stats stats = fixture_stats(&fixture);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_CLAIMED], 1);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_IN_FLIGHT], 2);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_DUPLICATE], 2);
    ck_assert_uint_eq(stats.verbs_accepted[CLAIM_COMPLETE], 1);
    uint64_t begins = stats.begins_refused;
    for (int i = 0; i < CLAIM_OUTCOMES; i++) begins += stats.begins_by_outcome[i];
    ck_assert_uint_eq(begins, 5);
    // A repeated call is no second completion, and a waiting Begin is one Begin.
    fixture_complete(&fixture, "K", token, "r");
    ck_assert_uint_eq(fixture_stats(&fixture).verbs_accepted[CLAIM_COMPLETE], 1);
}
END_TEST

START_TEST(BL_93_a_begin_that_waited_is_counted_once) {
    static struct fixture_call waiter;
    uint64_t token = fixture_claim(&fixture, "K", 1000);
    fixture_start(
        &fixture, &waiter,
        &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 60000});
    for (int i = 0; i < 5; i++) { // looks again at each end of a lease that was renewed
        fixture_advance(&fixture, 900);
        fixture_renew(&fixture, "K", token, 1000);
    }
    fixture_complete(&fixture, "K", token, "r");
    fixture_expect_result(fixture_finish(&waiter), bytes_of("r"));
    struct engine_stats stats = fixture_stats(&fixture);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_CLAIMED], 1);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_IN_FLIGHT], 0);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_DUPLICATE], 1);
}
END_TEST

START_TEST(BL_93_replays_that_are_granted_are_counted_apart) {
    fixture_do(&fixture, &(struct fixture_request){
                             .id = "K", .command = {.verb = CLAIM_BEGIN}, .replay = true});
    fixture_do(&fixture, &(struct fixture_request){
                             .id = "K", .command = {.verb = CLAIM_BEGIN}, .replay = true});
    struct engine_stats stats = fixture_stats(&fixture);
    ck_assert_uint_eq(stats.replays_claimed, 1);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_CLAIMED], 1);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_IN_FLIGHT], 1);
}
END_TEST

// --- BL-95: the limit that is reached is counted twice -------------------------------------------

START_TEST(BL_95_each_dead_letter_is_counted_once) {
    static const char *const ids[] = {"K1", "K2"};
    fixture.policy.max_retries[RETRY_LAPSED] = 0;
    for (int i = 0; i < 2; i++) fixture_claim(&fixture, ids[i], 1000);
    fixture_advance(&fixture, 1000);
    for (int i = 0; i < 4; i++) {
        struct fixture_answer answer = fixture_begin_for(&fixture, ids[i % 2], 1000);
        fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
    }
    for (int i = 0; i < 4; i++) {
        fixture_do(&fixture,
                   &(struct fixture_request){.id = ids[i % 2], .command = {.verb = CLAIM_SETTLE}});
    }
    ck_assert_uint_eq(fixture_stats(&fixture).dead_lettered, 2);
    for (int restart = 0; restart < 3; restart++) {
        struct engine_stats stats = fixture_stats(&fixture);
        ck_assert_uint_eq(stats.records_by_state[CLAIM_PROCESSING - 1], 0);
        ck_assert_uint_eq(stats.records_by_state[CLAIM_DEAD_LETTERED - 1], 2);
        ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 2);
        if (restart == 0) fixture_reopen(&fixture);
        if (restart == 1) fixture_crash(&fixture);
    }
    ck_assert_uint_eq(fixture_stats(&fixture).dead_lettered, 0); // since this start
}
END_TEST

// What still happens to a dead letter that a lapse made is no other dead letter.
START_TEST(BL_95_a_dead_letter_that_changes_is_not_counted_again) {
    fixture.policy.max_retries[RETRY_LAPSED] = 0;
    fixture.policy.dead_letter_retention = (struct optional_ms){true, 60000};
    uint64_t failed = fixture_claim(&fixture, "failed", 1000);
    uint64_t completed = fixture_claim(&fixture, "completed", 1000);
    fixture_advance(&fixture, 1000);
    ck_assert_uint_eq(fixture_stats(&fixture).dead_lettered, 2);
    struct fixture_answer answer = fixture_fail(&fixture, "failed", failed, FAIL_TRANSIENT);
    ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED);
    answer = fixture_complete(&fixture, "completed", completed, "late, and not too late");
    ck_assert_int_eq(fixture_state(&answer), CLAIM_SUCCEEDED);
    fixture_advance(&fixture, 60000); // the one that is left goes
    struct engine_stats stats = fixture_stats(&fixture);
    ck_assert_uint_eq(stats.dead_lettered, 2);
    ck_assert_uint_eq(stats.records_by_state[CLAIM_DEAD_LETTERED - 1], 0);
    fixture_expect_counts_true(&fixture);
}
END_TEST

// The lapse and the limit met in the same instant by a Begin, before any sweep.
START_TEST(BL_95_nobody_counts_what_somebody_wrote_already) {
    static struct fixture_call begins[2];
    fixture.policy.max_retries[RETRY_LAPSED] = 0;
    fixture_claim(&fixture, "K", 1000);
    fake_clock_advance(&fixture.clock, 1000);
    for (int i = 0; i < 2; i++) {
        fixture_start(&fixture, &begins[i],
                      &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_BEGIN}});
    }
    fixture_settle(&fixture);
    for (int i = 0; i < 2; i++) fixture_expect_outcome(&begins[i].answer, CLAIM_DEAD_LETTER);
    struct engine_stats stats = fixture_stats(&fixture);
    ck_assert_uint_eq(stats.dead_lettered, 1);
    ck_assert_uint_eq(stats.lapses_counted, 1);
    fixture_expect_counts_true(&fixture);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/counters");
    TCase *cases = tcase_create("counters");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_92_a_refused_grant_takes_no_token);
    tcase_add_test(cases, BL_92_other_outcomes_take_no_token);
    tcase_add_test(cases, BL_92_tokens_pass_32_bits_and_end_at_63);
    tcase_add_test(cases, BL_93_each_begin_is_counted_once);
    tcase_add_test(cases, BL_93_a_begin_that_waited_is_counted_once);
    tcase_add_test(cases, BL_93_replays_that_are_granted_are_counted_apart);
    tcase_add_test(cases, BL_95_each_dead_letter_is_counted_once);
    tcase_add_test(cases, BL_95_a_dead_letter_that_changes_is_not_counted_again);
    tcase_add_test(cases, BL_95_nobody_counts_what_somebody_wrote_already);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
