// BL-64, 66, 68, 70, 71, 72, 73, 74: attempts, delays and dead letters.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

// Begins, and its process dies: nothing more is heard of it until the lease is over.
static void begin_and_die(const char *id, uint32_t attempt) {
    struct fixture_answer answer = fixture_begin_for(&fixture, id, 5000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, attempt);
    fixture_advance(&fixture, 5000);
}

// --- BL-64: work that kills its worker retries for ever ------------------------------------------

START_TEST(BL_64_a_crash_counts) {
    fixture.policy.max_retries[RETRY_LAPSED] = 2; // three attempts in all
    for (uint32_t attempt = 1; attempt <= 3; attempt++) begin_and_die("K", attempt);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
    ck_assert_int_eq(answer.decision.record.last_error.kind, FAIL_LAPSED);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_by_outcome[CLAIM_CLAIMED], 3);
    ck_assert_uint_eq(fixture_stats(&fixture).dead_lettered, 1);
}
END_TEST

START_TEST(BL_64_a_crash_of_the_server_between_does_not_help_it) {
    fixture.policy.max_retries[RETRY_LAPSED] = 2;
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        begin_and_die("K", attempt);
        fixture_crash(&fixture);
        fixture_advance(&fixture, 1000); // what the crash has given
    }
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
}
END_TEST

// --- BL-66: a shift overflows and gives a negative delay; BL-68: the next retry is in the past ---

START_TEST(BL_66_BL_68_delays_never_shrink_and_are_the_same_everywhere) {
    static const uint32_t jitters[] = {0, 20};
    for (size_t i = 0; i < 2; i++) {
        const char *id = i == 0 ? "exact" : "jittered";
        int64_t last_ms = 0;
        fixture.policy.max_retries[RETRY_TRANSIENT] = 999;
        fixture.policy.backoff_first_ms = 100;
        fixture.policy.backoff_max_ms = 3600000;
        fixture.policy.backoff_jitter_percent = jitters[i];
        for (int attempt = 1; attempt <= 200; attempt++) {
            uint64_t token = fixture_claim(&fixture, id, 5000);
            struct fixture_answer failed = fixture_fail(&fixture, id, token, FAIL_TRANSIENT);
            int64_t delay_ms = fixture_delay_left_ms(&failed);
            int64_t full_ms = attempt < 17 ? INT64_C(100) << (attempt - 1) : 3600000;
            if (full_ms > 3600000) full_ms = 3600000;
            ck_assert_int_le(delay_ms, full_ms);
            ck_assert_int_ge(delay_ms, full_ms - full_ms * jitters[i] / 100);
            if (jitters[i] == 0) ck_assert_int_ge(delay_ms, last_ms);
            last_ms = delay_ms;
            // The same on every way to read it.
            int64_t at_ms = failed.decision.record.next_attempt_at.ms;
            struct fixture_answer seen = fixture_get(&fixture, id);
            ck_assert_int_eq(seen.decision.record.next_attempt_at.ms, at_ms);
            seen = fixture_begin_for(&fixture, id, 5000);
            fixture_expect_outcome(&seen, CLAIM_NOT_YET);
            ck_assert_int_eq(seen.decision.record.next_attempt_at.ms, at_ms);
            if (attempt % 50 == 0) fixture_reopen(&fixture);
            seen = fixture_get(&fixture, id);
            ck_assert_int_eq(seen.decision.record.next_attempt_at.ms, at_ms);
            fixture_advance(&fixture, delay_ms);
        }
    }
}
END_TEST

// --- BL-70: one time to live for lock and result; a failure erases the evidence ------------------

START_TEST(BL_70_a_crash_wedges_the_key_for_its_lease_only) {
    begin_and_die("K", 1);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 2);
}
END_TEST

START_TEST(BL_70_an_unknown_outcome_is_a_state_of_its_own) {
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
    uint64_t token = answer.decision.record.token;
    answer = fixture_do(&fixture, &(struct fixture_request){
                                      .id = "K",
                                      .command = {.verb = CLAIM_RENEW,
                                                  .token = token,
                                                  .checkpoint = {.present = true,
                                                                 .size_bytes = 7,
                                                                 .data = bytes_of("sent #1")}}});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_fail(&fixture, "K", token, FAIL_OUTCOME_UNKNOWN);
    ck_assert_int_eq(fixture_state(&answer), CLAIM_UNKNOWN);
    answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_OUTCOME_UNKNOWN);
    ck_assert_int_eq(answer.decision.record.last_error.kind, FAIL_OUTCOME_UNKNOWN);
    ck_assert(bytes_equal(answer.decision.record.last_error.message, bytes_of("it did not work")));
    ck_assert(bytes_equal(answer.decision.record.checkpoint.data, bytes_of("sent #1")));
    // After somebody has looked: another attempt, and not a first one.
    answer = fixture_resolve(&fixture, "K", CLAIM_AS_RETRY);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 2);
    ck_assert(bytes_equal(answer.decision.record.checkpoint.data, bytes_of("sent #1")));
}
END_TEST

START_TEST(BL_70_unless_the_policy_chose_to_retry) {
    fixture.policy.on_unknown = POLICY_RETRY;
    uint64_t token = fixture_claim(&fixture, "K", 5000);
    struct fixture_answer answer = fixture_fail(&fixture, "K", token, FAIL_OUTCOME_UNKNOWN);
    ck_assert_int_eq(fixture_delay_left_ms(&answer), 1000);
    ck_assert_uint_eq(answer.decision.record.retry_counts[RETRY_UNCLASSIFIED], 1);
}
END_TEST

// --- BL-71: stuck at attempts = max while locked -------------------------------------------------

START_TEST(BL_71_the_last_attempts_lapse_is_a_dead_letter_at_once) {
    fixture.policy.max_retries[RETRY_LAPSED] = 0;
    fixture.policy.dead_letter_retention = (struct optional_ms){true, 60000};
    fixture_claim(&fixture, "K", 5000);
    fake_clock_advance(&fixture.clock, 5000);
    // Asked before any turn of the sweep.
    struct fixture_call get;
    fixture_start(&fixture, &get,
                  &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_GET}});
    ck_assert_int_eq(fixture_state(fixture_finish(&get)), CLAIM_DEAD_LETTERED);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
    fixture_settle(&fixture);
    // The sweep makes it durable: it is among the dead letters, and goes when they do.
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_DEAD_LETTERED - 1], 1);
    fixture_expect_counts_true(&fixture);
    fixture_reopen(&fixture);
    fixture_advance(&fixture, 59999);
    answer = fixture_get(&fixture, "K");
    ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED);
    fixture_advance(&fixture, 1);
    answer = fixture_get(&fixture, "K");
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
}
END_TEST

// --- BL-72: delayed retries exceed the limit -----------------------------------------------------

START_TEST(BL_72_the_last_fail_already_says_so) {
    fixture.policy.max_retries[RETRY_TRANSIENT] = 1; // two attempts in all
    uint64_t token = fixture_claim(&fixture, "K", 5000);
    struct fixture_answer answer = fixture_fail_after(&fixture, "K", token, 1000);
    ck_assert_int_eq(fixture_delay_left_ms(&answer), 1000);
    fixture_advance(&fixture, 1000);
    token = fixture_claim(&fixture, "K", 5000);
    answer = fixture_fail_after(&fixture, "K", token, 1000);
    ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED);
    fixture_advance(&fixture, 1000);
    answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
}
END_TEST

// --- BL-73: a claim is kept although the work was never done -------------------------------------

START_TEST(BL_73_a_claim_alone_is_no_success) {
    fixture_claim(&fixture, "K", 5000); // the work fails, and the client dies before it says so
    for (int64_t t = 0; t < 5000; t += 1000) {
        struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
        fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
        fixture_advance(&fixture, 1000);
    }
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 5000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 2);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_by_outcome[CLAIM_DUPLICATE], 0);
}
END_TEST

// --- BL-74: a crash leaves a conflict for three days ---------------------------------------------

START_TEST(BL_74_an_orphan_blocks_for_its_lease_and_not_its_retention) {
    fixture.policy.retention_ms = INT64_C(3) * 86400000;
    fixture_claim(&fixture, "K", 30000);
    fixture_advance(&fixture, 29000);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 30000);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    fixture_advance(&fixture, 1000);
    answer = fixture_begin_for(&fixture, "K", 30000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

// Its owner, back from the crash, need not wait at all.
START_TEST(BL_74_the_owner_reclaims_at_once) {
    struct claim_command command = {.owner = bytes_of("w0"), .lease = {true, 30000}};
    struct fixture_answer first = fixture_begin(&fixture, "K", command);
    fixture_advance(&fixture, 5000);
    command.reclaim = true;
    struct fixture_answer second = fixture_begin(&fixture, "K", command);
    fixture_expect_outcome(&second, CLAIM_CLAIMED);
    ck_assert_uint_eq(second.decision.record.attempt_count, 2);
    struct fixture_answer old = fixture_complete(&fixture, "K", first.decision.record.token, "r");
    FIXTURE_EXPECT_ERR(old, ERR_STALE_TOKEN);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/attempts");
    TCase *cases = tcase_create("attempts");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_64_a_crash_counts);
    tcase_add_test(cases, BL_64_a_crash_of_the_server_between_does_not_help_it);
    tcase_add_test(cases, BL_66_BL_68_delays_never_shrink_and_are_the_same_everywhere);
    tcase_add_test(cases, BL_70_a_crash_wedges_the_key_for_its_lease_only);
    tcase_add_test(cases, BL_70_an_unknown_outcome_is_a_state_of_its_own);
    tcase_add_test(cases, BL_70_unless_the_policy_chose_to_retry);
    tcase_add_test(cases, BL_71_the_last_attempts_lapse_is_a_dead_letter_at_once);
    tcase_add_test(cases, BL_72_the_last_fail_already_says_so);
    tcase_add_test(cases, BL_73_a_claim_alone_is_no_success);
    tcase_add_test(cases, BL_74_an_orphan_blocks_for_its_lease_and_not_its_retention);
    tcase_add_test(cases, BL_74_the_owner_reclaims_at_once);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
