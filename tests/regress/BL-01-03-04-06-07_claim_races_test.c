// BL-01, 03, 04, 06, 07: races at the claim and at the end of a lease.
#include <check.h>
#include <stdlib.h>

#include "engine/engine_private.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static void start(struct fixture_call *call, const char *id, struct claim_command command) {
    fixture_start(&fixture, call, &(struct fixture_request){.id = id, .command = command});
}

// --- BL-01: the rescuer acts on a stale snapshot and undoes a completion -------------------------

// K is done with "r" by its first attempt, and no lapse was counted.
static void expect_done_unharmed(void) {
    struct fixture_answer seen = fixture_get(&fixture, "K");
    ck_assert_int_eq(fixture_state(&seen), CLAIM_SUCCEEDED);
    ck_assert(bytes_equal(seen.decision.record.result.data, bytes_of("r")));
    ck_assert_uint_eq(seen.decision.record.attempt_count, 1);
    ck_assert_int_eq(seen.decision.record.attempt.end, CLAIM_END_COMPLETED);
    ck_assert_uint_eq(seen.decision.record.retry_counts[RETRY_LAPSED], 0);
}

static void start_complete(struct fixture_call *call, uint64_t token) {
    start(call, "K",
          (struct claim_command){
              .verb = CLAIM_COMPLETE,
              .token = token,
              .result = {.present = true, .size_bytes = 1, .data = bytes_of("r")}});
}

// The sweep has its read under way, from a file, when Complete comes.
START_TEST(BL_01_complete_comes_between_the_sweeps_read_and_its_write) {
    static struct fixture_call complete;
    fixture.policy.on_lapse = POLICY_HOLD; // so that the sweep has something to write
    uint64_t token = fixture_claim(&fixture, "K", 1000);
    fixture_flush(&fixture);
    uint64_t missed = fixture_stats(&fixture).reads_missed;
    fake_clock_advance(&fixture.clock, 1000);
    fixture_turn(&fixture);
    ck_assert_uint_eq(fixture_stats(&fixture).reads_missed, missed + 1); // the sweep's
    start_complete(&complete, token);
    FIXTURE_EXPECT_ERR(*fixture_finish(&complete), ERR_OK);
    fixture_settle(&fixture);
    expect_done_unharmed();
}
END_TEST

// Complete is there first, at the same instant: the sweep must look again and find nothing to do.
START_TEST(BL_01_complete_comes_before_the_sweep) {
    static struct fixture_call complete;
    fixture.policy.on_lapse = POLICY_HOLD;
    uint64_t token = fixture_claim(&fixture, "K", 1000);
    fake_clock_advance(&fixture.clock, 1000);
    start_complete(&complete, token);
    FIXTURE_EXPECT_ERR(*fixture_finish(&complete), ERR_OK);
    fixture_settle(&fixture);
    expect_done_unharmed();
    ck_assert_uint_eq(fixture_stats(&fixture).lapses_counted, 0);
}
END_TEST

// With the default policy a lapse is no transition: there is no trace of a rescue at all.
START_TEST(BL_01_complete_after_the_lease_leaves_no_rescue_behind) {
    uint64_t token = fixture_claim(&fixture, "K", 1000);
    fixture_advance(&fixture, 1000);
    struct fixture_answer done = fixture_complete(&fixture, "K", token, "r");
    FIXTURE_EXPECT_ERR(done, ERR_OK);
    expect_done_unharmed();
    ck_assert(!done.decision.record.last_error.present);
    ck_assert_uint_eq(fixture_stats(&fixture).lapses_counted, 0);
}
END_TEST

// The variant: in the gap somebody else begins. The pass that removes what has expired has seen the
// old record; the new one, under t2, is none of its business.
START_TEST(BL_01_begin_comes_between_the_retention_scan_and_its_write) {
    static struct fixture_call begin;
    fixture.policy.retention_ms = 2 * LIMIT_RETENTION_PAUSE_MS;
    fixture_succeed(&fixture, "K", "old");
    fake_clock_advance(&fixture.clock, fixture.policy.retention_ms);
    fixture_turn(&fixture);
    ck_assert_ptr_nonnull(fixture.engine->retention);
    fixture_wait_for_job(&fixture); // it has seen K, and nobody has heard of it yet
    start(&begin, "K", (struct claim_command){.verb = CLAIM_BEGIN, .lease = {true, 5000}});
    fixture_expect_outcome(fixture_finish(&begin), CLAIM_CLAIMED);
    fixture_settle(&fixture);
    struct fixture_answer seen = fixture_get(&fixture, "K");
    ck_assert_int_eq(fixture_lease_left_ms(&seen), 5000);
    ck_assert_uint_eq(seen.decision.record.token, begin.answer.decision.record.token);
    struct fixture_answer done = fixture_complete(&fixture, "K", seen.decision.record.token, "new");
    FIXTURE_EXPECT_ERR(done, ERR_OK);
}
END_TEST

// --- BL-03: a live claim with no deadline field is treated as abandoned --------------------------

START_TEST(BL_03_a_claim_without_a_lease_has_the_default_one) {
    struct fixture_answer first = fixture_begin(&fixture, "K", (struct claim_command){0});
    fixture_expect_outcome(&first, CLAIM_CLAIMED);
    ck_assert_int_eq(fixture_lease_left_ms(&first), policy_default.default_lease_ms);
    struct claim_command second = {.owner = bytes_of("second")};
    struct fixture_answer answer = fixture_begin(&fixture, "K", second);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    fixture_advance(&fixture, policy_default.default_lease_ms - 1);
    answer = fixture_begin(&fixture, "K", second);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    fixture_advance(&fixture, 1);
    answer = fixture_begin(&fixture, "K", second);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

// --- BL-04: the second start silently overwrites the in-flight record ----------------------------

START_TEST(BL_04_the_second_begin_changes_nothing) {
    struct claim_command command = {.owner = bytes_of("A"), .fingerprint = bytes_of("F1")};
    struct fixture_answer first = fixture_begin(&fixture, "K", command);
    fixture_expect_outcome(&first, CLAIM_CLAIMED);
    uint64_t position = fixture_stats(&fixture).position;
    fixture_advance(&fixture, 10);
    command.owner = bytes_of("B");
    struct fixture_answer second = fixture_begin(&fixture, "K", command);
    fixture_expect_outcome(&second, CLAIM_IN_FLIGHT);
    ck_assert(bytes_equal(second.decision.record.attempt.owner, bytes_of("A")));
    ck_assert_uint_eq(second.decision.record.token, first.decision.record.token);
    ck_assert_int_eq(second.decision.record.lease_expires_at.ms,
                     first.decision.record.lease_expires_at.ms);
    ck_assert_uint_eq(fixture_stats(&fixture).position, position); // nothing was written
    struct fixture_answer done = fixture_complete(&fixture, "K", first.decision.record.token, "a");
    FIXTURE_EXPECT_ERR(done, ERR_OK);
}
END_TEST

// The same two, both under way at once, in one group.
START_TEST(BL_04_two_at_once) {
    static struct fixture_call calls[2];
    for (int i = 0; i < 2; i++) {
        start(&calls[i], "K",
              (struct claim_command){.verb = CLAIM_BEGIN,
                                     .owner = bytes_of(i == 0 ? "A" : "B"),
                                     .fingerprint = bytes_of("F1")});
    }
    fixture_expect_outcome(fixture_finish(&calls[0]), CLAIM_CLAIMED);
    fixture_expect_outcome(fixture_finish(&calls[1]), CLAIM_IN_FLIGHT);
}
END_TEST

// --- BL-06: a waiter runs the work again because it does not look again --------------------------

// Complete is in a group that the writer has not finished: nobody may act on it, and nobody is
// woken before it is on disk.
START_TEST(BL_06_a_waiter_reads_what_was_committed) {
    static struct fixture_call waiter;
    static struct fixture_call complete;
    static struct fixture_call others[8];
    static const char *const ids[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    uint64_t token = fixture_claim(&fixture, "K", 30000);
    fixture_start(
        &fixture, &waiter,
        &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 5000});
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(&waiter));
    start_complete(&complete, token);
    for (int i = 0; i < 8; i++) { // make the group one for the writer's thread
        start(&others[i], ids[i], (struct claim_command){.verb = CLAIM_REGISTER});
    }
    while (!complete.done) {
        ck_assert(fixture_is_parked(&waiter));
        fixture_turn(&fixture);
    }
    fixture_expect_result(fixture_finish(&waiter), bytes_of("r"));
    ck_assert_uint_eq(fixture_stats(&fixture).begins_by_outcome[CLAIM_CLAIMED], 1);
    ck_assert_uint_eq(fixture.engine->token_next, token + 1); // one token was ever issued
}
END_TEST

// --- BL-07: two recoverers list the same expired lease -------------------------------------------

// Three look at the lapse at once: one of them writes it, and it is counted once.
START_TEST(BL_07_one_lapse_is_one_transition) {
    static struct fixture_call sweeps[3];
    fixture.policy.on_lapse = POLICY_HOLD;
    fixture_claim(&fixture, "K", 1000);
    fake_clock_advance(&fixture.clock, 1000);
    for (int i = 0; i < 3; i++)
        start(&sweeps[i], "K", (struct claim_command){.verb = CLAIM_SETTLE});
    fixture_settle(&fixture);
    int written = 0;
    for (int i = 0; i < 3; i++) written += sweeps[i].answer.decision.change == CLAIM_WRITTEN;
    ck_assert_int_le(written, 1); // the engine's own may have been first
    struct fixture_answer seen = fixture_get(&fixture, "K");
    ck_assert_int_eq(fixture_state(&seen), CLAIM_UNKNOWN);
    ck_assert_uint_eq(seen.decision.record.attempt_count, 1);
    ck_assert_uint_eq(seen.decision.record.retry_counts[RETRY_LAPSED], 1);
    ck_assert_uint_eq(fixture_stats(&fixture).lapses_counted, 1);
}
END_TEST

START_TEST(BL_07_attempts_stay_until_the_next_begin) {
    static struct fixture_call sweeps[3];
    fixture.policy.max_retries[RETRY_LAPSED] = 2; // three attempts
    fixture_claim(&fixture, "K", 1000);
    fake_clock_advance(&fixture.clock, 1000);
    for (int i = 0; i < 3; i++)
        start(&sweeps[i], "K", (struct claim_command){.verb = CLAIM_SETTLE});
    fixture_settle(&fixture);
    struct fixture_answer seen = fixture_get(&fixture, "K");
    ck_assert_uint_eq(seen.decision.record.attempt_count, 1);
    ck_assert_uint_eq(fixture_stats(&fixture).lapses_counted, 0);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 2);
    ck_assert_uint_eq(fixture_stats(&fixture).lapses_counted, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/claim_races");
    TCase *cases = tcase_create("claim_races");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_01_complete_comes_between_the_sweeps_read_and_its_write);
    tcase_add_test(cases, BL_01_complete_comes_before_the_sweep);
    tcase_add_test(cases, BL_01_complete_after_the_lease_leaves_no_rescue_behind);
    tcase_add_test(cases, BL_01_begin_comes_between_the_retention_scan_and_its_write);
    tcase_add_test(cases, BL_03_a_claim_without_a_lease_has_the_default_one);
    tcase_add_test(cases, BL_04_the_second_begin_changes_nothing);
    tcase_add_test(cases, BL_04_two_at_once);
    tcase_add_test(cases, BL_06_a_waiter_reads_what_was_committed);
    tcase_add_test(cases, BL_07_one_lapse_is_one_transition);
    tcase_add_test(cases, BL_07_attempts_stay_until_the_next_begin);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
