// BL-17, 22 (clocks and units), BL-23, 25, 27, 28, 30 (renewal): how long a claim is held.
#include <check.h>
#include <stdlib.h>

#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

// --- BL-17: seconds compared with milliseconds ---------------------------------------------------

START_TEST(BL_17_leases_and_retentions_are_exact_to_the_millisecond) {
    static const int64_t leases[] = {100, 999, 1000, 1001, 1500, 2000, 59999, 60000, 86400000};
    static const int64_t retentions[] = {1, 999, 1000, 1001, 2000, 604800000};
    for (size_t i = 0; i < sizeof leases / sizeof leases[0]; i++) {
        for (size_t j = 0; j < sizeof retentions / sizeof retentions[0]; j++) {
            fixture.policy.retention_ms = retentions[j];
            fixture_claim(&fixture, "K", leases[i]);
            fixture_advance(&fixture, leases[i] - 1);
            struct fixture_answer answer = fixture_begin_for(&fixture, "K", 100);
            fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
            fixture_advance(&fixture, 1);
            uint64_t token = fixture_claim(&fixture, "K", 1000);
            answer = fixture_complete(&fixture, "K", token, "r");
            FIXTURE_EXPECT_ERR(answer, ERR_OK);
            fixture_advance(&fixture, retentions[j] - 1);
            answer = fixture_begin_for(&fixture, "K", 100);
            fixture_expect_result(&answer, bytes_of("r"));
            fixture_advance(&fixture, 1);
            token = fixture_claim(&fixture, "K", 1000); // a new claim
            answer = fixture_complete(&fixture, "K", token, NULL);
            ck_assert_uint_eq(answer.decision.record.attempt_count, 1);
            fixture_advance(&fixture, retentions[j]);
        }
    }
}
END_TEST

// --- BL-22: retry-after larger than the lease because elapsed went negative ----------------------

START_TEST(BL_22_the_wait_is_within_the_lease_whatever_the_wall_clock_does) {
    static const int64_t shifts[] = {-30000, 30000, -86400000, INT64_C(-1600000000000),
                                     INT64_C(2000000000000)};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        fixture_claim(&fixture, "K", 10000);
        fixture_advance(&fixture, 1000);
        fixture_close(&fixture);
        fake_clock_shift_wall(&fixture.clock, shifts[i]); // another clock than the one that granted
        fixture_open(&fixture);
        struct fixture_answer answer = fixture_begin_for(&fixture, "K", 10000);
        fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
        ck_assert_int_eq(fixture_lease_left_ms(&answer), 9000);
        fixture_advance(&fixture, 9000);
        uint64_t token = fixture_claim(&fixture, "K", 10000);
        answer = fixture_release(&fixture, "K", token);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
}
END_TEST

// --- BL-23: a heartbeat in flight revives after release ------------------------------------------

START_TEST(BL_23_a_heartbeat_after_the_end_changes_nothing) {
    uint64_t token = fixture_claim(&fixture, "done", 5000);
    fixture_complete(&fixture, "done", token, "r");
    struct fixture_answer held = fixture_renew(&fixture, "done", token, 5000);
    FIXTURE_EXPECT_ERR(held, ERR_WRONG_STATE);
    ck_assert_int_eq(fixture_state(&held), CLAIM_SUCCEEDED);
    struct fixture_answer answer = fixture_begin_for(&fixture, "done", 1000);
    fixture_expect_result(&answer, bytes_of("r"));

    token = fixture_claim(&fixture, "released", 5000);
    fixture_release(&fixture, "released", token);
    held = fixture_renew(&fixture, "released", token, 5000);
    FIXTURE_EXPECT_ERR(held, ERR_WRONG_STATE);
    ck_assert_int_eq(fixture_state(&held), CLAIM_RECEIVED);
    fixture_claim(&fixture, "released", 5000);
    held = fixture_renew(&fixture, "released", token, 5000);
    FIXTURE_EXPECT_ERR(held, ERR_STALE_TOKEN);
}
END_TEST

// --- BL-25: extending succeeds after the lock was lost -------------------------------------------

START_TEST(BL_25_a_lapsed_lease_is_renewed_only_while_nobody_came) {
    uint64_t t1 = fixture_claim(&fixture, "K", 1000);
    fixture_advance(&fixture, 1500);
    struct fixture_answer renewed = fixture_renew(&fixture, "K", t1, 1000);
    FIXTURE_EXPECT_ERR(renewed, ERR_OK);
    ck_assert(renewed.decision.renewed_lapsed); // the reply says so
    ck_assert_int_eq(fixture_lease_left_ms(&renewed), 1000);
    renewed = fixture_renew(&fixture, "K", t1, 1000);
    ck_assert(!renewed.decision.renewed_lapsed);
}
END_TEST

START_TEST(BL_25_never_after_somebody_came_and_went) {
    uint64_t t1 = fixture_claim(&fixture, "K", 1000);
    fixture_advance(&fixture, 1500);
    uint64_t t2 = fixture_claim(&fixture, "K", 1000);
    struct fixture_answer answer = fixture_fail(&fixture, "K", t2, FAIL_TRANSIENT);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_renew(&fixture, "K", t1, 1000);
    FIXTURE_EXPECT_ERR(answer, ERR_STALE_TOKEN);
    ck_assert_int_eq(fixture_state(&answer), CLAIM_RETRYING);
}
END_TEST

// --- BL-27: endless renewal keeps dead work alive ------------------------------------------------

START_TEST(BL_27_renewal_ends_at_max_hold) {
    fixture.policy.max_hold = (struct optional_ms){true, 10000};
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
    uint64_t token = answer.decision.record.token;
    int64_t limit_ms = answer.now.ms + 10000;
    int refused = 0;
    for (int64_t t = 500; t <= 30000; t += 500) {
        fixture_advance(&fixture, 500);
        answer = fixture_renew(&fixture, "K", token, 1000);
        if (t >= 10000) {
            FIXTURE_EXPECT_ERR(answer, ERR_MAX_HOLD);
            refused++;
        } else {
            FIXTURE_EXPECT_ERR(answer, ERR_OK);
        }
        ck_assert_int_le(answer.decision.record.lease_expires_at.ms, limit_ms);
    }
    ck_assert_int_gt(refused, 0);
    answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

START_TEST(BL_27_the_first_lease_is_cut_as_well) {
    fixture.policy.max_hold = (struct optional_ms){true, 10000};
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 86400000);
    ck_assert_int_eq(fixture_lease_left_ms(&answer), 10000);
}
END_TEST

// --- BL-28: a waiter does not notice that the holder is alive ------------------------------------

START_TEST(BL_28_a_waiter_sees_the_holder_renewing) {
    static struct fixture_call waiter;
    uint64_t token = fixture_claim(&fixture, "K", 1000);
    fixture_start(
        &fixture, &waiter,
        &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 5000});
    for (int64_t t = 0; t < 4800; t += 300) {
        struct fixture_answer renewed = fixture_renew(&fixture, "K", token, 1000);
        FIXTURE_EXPECT_ERR(renewed, ERR_OK);
        fixture_advance(&fixture, 300);
        ck_assert(!waiter.done);
    }
    fixture_renew(&fixture, "K", token, 1000);
    fixture_advance(&fixture, 199);
    ck_assert(!waiter.done);
    fixture_advance(&fixture, 1);
    ck_assert(waiter.done); // at 5,000, not when the first lease was over
    fixture_expect_outcome(&waiter.answer, CLAIM_IN_FLIGHT);
    ck_assert_int_eq(fixture_lease_left_ms(&waiter.answer), 800);
}
END_TEST

// --- BL-30: rescue by time alone ran a nightly job twice -----------------------------------------

START_TEST(BL_30_a_long_job_that_renews_is_left_alone) {
    uint64_t token = fixture_claim(&fixture, "K", 360000);
    for (int minute = 1; minute <= 47; minute++) {
        fixture_advance(&fixture, 60000);
        struct fixture_answer rival = fixture_begin_for(&fixture, "K", 360000);
        fixture_expect_outcome(&rival, CLAIM_IN_FLIGHT);
        if (minute % 2 != 0) continue;
        struct fixture_answer renewed = fixture_renew(&fixture, "K", token, 360000);
        FIXTURE_EXPECT_ERR(renewed, ERR_OK);
    }
    struct fixture_answer done = fixture_complete(&fixture, "K", token, "r");
    FIXTURE_EXPECT_ERR(done, ERR_OK);
    ck_assert_uint_eq(done.decision.record.attempt_count, 1);
    ck_assert_uint_eq(done.decision.record.token, token);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_by_outcome[CLAIM_CLAIMED], 1);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_by_outcome[CLAIM_IN_FLIGHT], 47);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/leases");
    TCase *cases = tcase_create("leases");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_17_leases_and_retentions_are_exact_to_the_millisecond);
    tcase_add_test(cases, BL_22_the_wait_is_within_the_lease_whatever_the_wall_clock_does);
    tcase_add_test(cases, BL_23_a_heartbeat_after_the_end_changes_nothing);
    tcase_add_test(cases, BL_25_a_lapsed_lease_is_renewed_only_while_nobody_came);
    tcase_add_test(cases, BL_25_never_after_somebody_came_and_went);
    tcase_add_test(cases, BL_27_renewal_ends_at_max_hold);
    tcase_add_test(cases, BL_27_the_first_lease_is_cut_as_well);
    tcase_add_test(cases, BL_28_a_waiter_sees_the_holder_renewing);
    tcase_add_test(cases, BL_30_a_long_job_that_renews_is_left_alone);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
