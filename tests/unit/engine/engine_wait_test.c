// Begins that wait: parked off the latch, woken by what changes their key, in order, within bounds.
#include <check.h>
#include <stdlib.h>

#include "base/limits.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

// A Begin that waits, and is parked when this returns.
static void park(struct fixture_call *call, const char *id, int64_t wait_ms) {
    fixture_start(&fixture, call,
                  &(struct fixture_request){.id = id,
                                            .command = {.verb = CLAIM_BEGIN, .lease = {true, 5000}},
                                            .wait_ms = wait_ms});
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(call));
}

static void expect_done(const struct fixture_call *call, enum claim_outcome outcome) {
    ck_assert(call->done);
    fixture_expect_outcome(&call->answer, outcome);
}

// --- what wakes ---------------------------------------------------------------------------------

START_TEST(complete_answers_all_in_order) {
    struct fixture_call calls[5];
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    for (int i = 0; i < 5; i++) park(&calls[i], "k", 60000);
    fixture_complete(&fixture, "k", token, "done");
    fixture_settle(&fixture);
    for (int i = 0; i < 5; i++) {
        fixture_expect_result(&calls[i].answer, bytes_of("done"));
        if (i > 0) ck_assert_uint_gt(calls[i].done_order, calls[i - 1].done_order);
    }
}
END_TEST

START_TEST(reject_answers_all) {
    struct fixture_call call;
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    park(&call, "k", 60000);
    fixture_reject(&fixture, "k", token, "card stolen");
    fixture_settle(&fixture);
    expect_done(&call, CLAIM_DUPLICATE);
    ck_assert_int_eq(fixture_state(&call.answer), CLAIM_REJECTED);
}
END_TEST

START_TEST(release_serves_the_longest_waiting) {
    struct fixture_call calls[3];
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    for (int i = 0; i < 3; i++) park(&calls[i], "k", 60000);
    for (int i = 0; i < 3; i++) {
        fixture_release(&fixture, "k", token);
        fixture_settle(&fixture);
        expect_done(&calls[i], CLAIM_CLAIMED);
        for (int j = i + 1; j < 3; j++) ck_assert(fixture_is_parked(&calls[j]));
        token = calls[i].answer.decision.record.token;
    }
    ck_assert_uint_eq(calls[2].answer.decision.record.attempt_count, 4);
}
END_TEST

START_TEST(fail_makes_them_wait_for_the_delay) {
    struct fixture_call calls[2];
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    park(&calls[0], "k", 60000);
    park(&calls[1], "k", 60000);
    fixture_fail_after(&fixture, "k", token, 7000);
    fixture_advance(&fixture, 6999);
    ck_assert(fixture_is_parked(&calls[0]) && fixture_is_parked(&calls[1]));
    fixture_advance(&fixture, 1);
    expect_done(&calls[0], CLAIM_CLAIMED);
    ck_assert(fixture_is_parked(&calls[1]));
    fixture_complete(&fixture, "k", calls[0].answer.decision.record.token, NULL);
    fixture_settle(&fixture);
    expect_done(&calls[1], CLAIM_DUPLICATE);
}
END_TEST

START_TEST(fail_for_good_answers_all) {
    struct fixture_call calls[2];
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    park(&calls[0], "k", 60000);
    fixture_fail(&fixture, "k", token, FAIL_POISON);
    fixture_settle(&fixture);
    expect_done(&calls[0], CLAIM_DEAD_LETTER);
    token = fixture_claim(&fixture, "k2", 30000);
    park(&calls[1], "k2", 60000);
    fixture_fail(&fixture, "k2", token, FAIL_OUTCOME_UNKNOWN);
    fixture_settle(&fixture);
    expect_done(&calls[1], CLAIM_OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(cancel_of_what_waits_to_retry_answers) {
    struct fixture_call call;
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    fixture_fail_after(&fixture, "k", token, 50000);
    park(&call, "k", 60000);
    struct fixture_answer answer = fixture_do(
        &fixture, &(struct fixture_request){
                      .id = "k", .command = {.verb = CLAIM_CANCEL, .reason = bytes_of("no")}});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    fixture_settle(&fixture);
    expect_done(&call, CLAIM_DUPLICATE);
}
END_TEST

START_TEST(other_keys_do_not_wake) {
    static struct fixture_call call; // answered when the fixture closes
    fixture_claim(&fixture, "k", 30000);
    park(&call, "k", 60000);
    fixture_succeed(&fixture, "other", "x");
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(&call));
    // The same ID of another consumer is another claim.
    struct fixture_answer answer = fixture_do(
        &fixture,
        &(struct fixture_request){.consumer = "mail", .id = "k", .command = {.verb = CLAIM_BEGIN}});
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(&call));
}
END_TEST

// --- time ---------------------------------------------------------------------------------------

START_TEST(lapse_serves_the_first) {
    static struct fixture_call calls[3]; // the last is answered when the fixture closes
    fixture_claim(&fixture, "k", 30000);
    for (int i = 0; i < 3; i++) park(&calls[i], "k", 60000);
    fixture_advance(&fixture, 29999);
    for (int i = 0; i < 3; i++) ck_assert(fixture_is_parked(&calls[i]));
    fixture_advance(&fixture, 1);
    expect_done(&calls[0], CLAIM_CLAIMED);
    ck_assert_uint_eq(calls[0].answer.decision.record.attempt_count, 2);
    ck_assert(fixture_is_parked(&calls[1]) && fixture_is_parked(&calls[2]));
    fixture_advance(&fixture, 5000); // the first one's lease
    expect_done(&calls[1], CLAIM_CLAIMED);
    ck_assert(fixture_is_parked(&calls[2]));
}
END_TEST

START_TEST(lapse_that_is_held_answers_all) {
    struct fixture_call calls[2];
    fixture.policy.on_lapse = POLICY_HOLD;
    fixture_claim(&fixture, "k", 30000);
    park(&calls[0], "k", 60000);
    park(&calls[1], "k", 60000);
    fixture_advance(&fixture, 30000);
    expect_done(&calls[0], CLAIM_OUTCOME_UNKNOWN);
    expect_done(&calls[1], CLAIM_OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(time_up_answers_with_the_state_of_then) {
    struct fixture_call call;
    fixture_claim(&fixture, "k", 30000);
    park(&call, "k", 10000);
    fixture_advance(&fixture, 9999);
    ck_assert(fixture_is_parked(&call));
    fixture_advance(&fixture, 1);
    expect_done(&call, CLAIM_IN_FLIGHT);
    ck_assert_int_eq(fixture_lease_left_ms(&call.answer), 20000);
}
END_TEST

START_TEST(time_up_at_the_instant_of_the_lapse_claims) {
    struct fixture_call call;
    fixture_claim(&fixture, "k", 10000);
    park(&call, "k", 10000);
    fixture_advance(&fixture, 10000);
    expect_done(&call, CLAIM_CLAIMED);
}
END_TEST

START_TEST(renewing_holder_keeps_them_waiting) {
    struct fixture_call call;
    uint64_t token = fixture_claim(&fixture, "k", 1000);
    park(&call, "k", 5000);
    for (int64_t now_ms = 0; now_ms < 4800; now_ms += 300) {
        fixture_advance(&fixture, 300);
        struct fixture_answer renewed = fixture_renew(&fixture, "k", token, 1000);
        FIXTURE_EXPECT_ERR(renewed, ERR_OK);
        fixture_settle(&fixture);
        ck_assert(fixture_is_parked(&call));
    }
    fixture_advance(&fixture, 200);
    expect_done(&call, CLAIM_IN_FLIGHT);
    ck_assert_int_eq(fixture_lease_left_ms(&call.answer), 800); // the newest lease
}
END_TEST

// The owner takes its own claim over, with a lease that ends before the one that they waited for.
START_TEST(reclaim_with_a_shorter_lease_is_noticed) {
    struct fixture_call call;
    struct claim_command holder = {.owner = bytes_of("w0"), .lease = {true, 50000}};
    struct fixture_answer answer = fixture_begin(&fixture, "k", holder);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    park(&call, "k", 60000);
    holder.reclaim = true;
    holder.lease.ms = 1000;
    answer = fixture_begin(&fixture, "k", holder);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(&call));
    fixture_advance(&fixture, 1000);
    expect_done(&call, CLAIM_CLAIMED);
}
END_TEST

START_TEST(without_wait_the_answer_comes_at_once) {
    fixture_claim(&fixture, "k", 30000);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", 1000);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
}
END_TEST

// --- going away ---------------------------------------------------------------------------------

START_TEST(cancelled_waiter_is_dropped) {
    struct fixture_call calls[2];
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    park(&calls[0], "k", 60000);
    park(&calls[1], "k", 60000);
    engine_cancel(fixture.engine, &calls[0].op);
    fixture_settle(&fixture);
    ck_assert(calls[0].done);
    FIXTURE_EXPECT_ERR(calls[0].answer, ERR_CANCELLED);
    fixture_release(&fixture, "k", token);
    fixture_settle(&fixture);
    expect_done(&calls[1], CLAIM_CLAIMED); // nobody who is gone came first
}
END_TEST

START_TEST(cancelled_before_its_turn_claims_nothing) {
    struct fixture_call call;
    fixture_start(&fixture, &call,
                  &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_BEGIN}});
    engine_cancel(fixture.engine, &call.op);
    fixture_finish(&call);
    FIXTURE_EXPECT_ERR(call.answer, ERR_CANCELLED);
    struct fixture_answer seen = fixture_get(&fixture, "k");
    FIXTURE_EXPECT_ERR(seen, ERR_NOT_FOUND);
}
END_TEST

START_TEST(cancelled_while_its_record_is_read_does_not_park) {
    struct fixture_call call;
    fixture_claim(&fixture, "k", 30000);
    fixture_flush(&fixture);
    fixture_start(
        &fixture, &call,
        &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 60000});
    uint64_t missed = fixture_stats(&fixture).reads_missed;
    fixture_turn(&fixture);
    ck_assert_uint_eq(fixture_stats(&fixture).reads_missed, missed + 1); // at the readers
    engine_cancel(fixture.engine, &call.op);
    fixture_settle(&fixture);
    ck_assert(call.done);
}
END_TEST

START_TEST(others_that_are_cancelled_go_on) {
    struct fixture_call call;
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    fixture_start(
        &fixture, &call,
        &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_COMPLETE, .token = token}});
    engine_cancel(fixture.engine, &call.op);
    fixture_finish(&call);
    FIXTURE_EXPECT_ERR(call.answer, ERR_OK);
    ck_assert_int_eq(fixture_state(&call.answer), CLAIM_SUCCEEDED);
}
END_TEST

// --- bounds -------------------------------------------------------------------------------------

START_TEST(one_past_the_bound_is_answered_at_once) {
    static struct fixture_call calls[LIMIT_WAITERS_PER_KEY_MAX + 1];
    static const struct fixture_request request = {
        .id = "k", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 60000};
    uint64_t token = fixture_claim(&fixture, "k", 90000);
    for (size_t i = 0; i <= LIMIT_WAITERS_PER_KEY_MAX; i++) {
        fixture_start(&fixture, &calls[i], &request);
    }
    fixture_settle(&fixture);
    for (size_t i = 0; i < LIMIT_WAITERS_PER_KEY_MAX; i++) ck_assert(fixture_is_parked(&calls[i]));
    expect_done(&calls[LIMIT_WAITERS_PER_KEY_MAX], CLAIM_IN_FLIGHT);
    fixture_complete(&fixture, "k", token, NULL);
    fixture_settle(&fixture);
    for (size_t i = 0; i < LIMIT_WAITERS_PER_KEY_MAX; i++) {
        expect_done(&calls[i], CLAIM_DUPLICATE);
        if (i > 0) ck_assert_uint_gt(calls[i].done_order, calls[i - 1].done_order);
    }
}
END_TEST

START_TEST(parked_calls_hold_no_latch) {
    static struct fixture_call call; // answered when the fixture closes
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    park(&call, "k", 60000);
    struct fixture_answer answer = fixture_get(&fixture, "k");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_begin_for(&fixture, "k", 1000);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    answer = fixture_renew(&fixture, "k", token, 30000);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert(fixture_is_parked(&call));
}
END_TEST

START_TEST(draining_answers_the_parked) {
    struct fixture_call calls[2];
    fixture_claim(&fixture, "k", 30000);
    park(&calls[0], "k", 60000);
    park(&calls[1], "k", 60000);
    engine_drain(fixture.engine);
    fixture_settle(&fixture);
    expect_done(&calls[0], CLAIM_IN_FLIGHT);
    expect_done(&calls[1], CLAIM_IN_FLIGHT);
    fixture_become_idle(&fixture);
}
END_TEST

START_TEST(mismatching_fingerprint_is_told_when_woken) {
    struct fixture_call call;
    struct claim_command holder = {.lease = {true, 30000}};
    struct fixture_answer answer = fixture_begin(&fixture, "k", holder);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    uint64_t token = answer.decision.record.token;
    fixture_start(
        &fixture, &call,
        &(struct fixture_request){.id = "k",
                                  .command = {.verb = CLAIM_BEGIN, .fingerprint = bytes_of("B")},
                                  .wait_ms = 60000});
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(&call));
    // Another attempt brings a fingerprint; the claim has had none so far.
    fixture_release(&fixture, "k", token);
    fixture_settle(&fixture);
    expect_done(&call, CLAIM_CLAIMED); // the parked one is served first, and its own is stored
    answer = fixture_begin(&fixture, "k", (struct claim_command){.fingerprint = bytes_of("A")});
    FIXTURE_EXPECT_ERR(answer, ERR_FINGERPRINT_MISMATCH);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/wait");
    TCase *cases = tcase_create("wait");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, complete_answers_all_in_order);
    tcase_add_test(cases, reject_answers_all);
    tcase_add_test(cases, release_serves_the_longest_waiting);
    tcase_add_test(cases, fail_makes_them_wait_for_the_delay);
    tcase_add_test(cases, fail_for_good_answers_all);
    tcase_add_test(cases, cancel_of_what_waits_to_retry_answers);
    tcase_add_test(cases, other_keys_do_not_wake);
    tcase_add_test(cases, lapse_serves_the_first);
    tcase_add_test(cases, lapse_that_is_held_answers_all);
    tcase_add_test(cases, time_up_answers_with_the_state_of_then);
    tcase_add_test(cases, time_up_at_the_instant_of_the_lapse_claims);
    tcase_add_test(cases, renewing_holder_keeps_them_waiting);
    tcase_add_test(cases, reclaim_with_a_shorter_lease_is_noticed);
    tcase_add_test(cases, without_wait_the_answer_comes_at_once);
    tcase_add_test(cases, cancelled_waiter_is_dropped);
    tcase_add_test(cases, cancelled_before_its_turn_claims_nothing);
    tcase_add_test(cases, cancelled_while_its_record_is_read_does_not_park);
    tcase_add_test(cases, others_that_are_cancelled_go_on);
    tcase_add_test(cases, one_past_the_bound_is_answered_at_once);
    tcase_add_test(cases, parked_calls_hold_no_latch);
    tcase_add_test(cases, draining_answers_the_parked);
    tcase_add_test(cases, mismatching_fingerprint_is_told_when_woken);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
