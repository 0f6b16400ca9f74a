// A few histories with every expected value written out: no model stands between them and
// docs/SEMANTICS.md. And the inputs that only a bug can make, which abort.
#include <check.h>
#include <signal.h>
#include <stdlib.h>

#include "core/claim.h"

#define WALL INT64_C(1700000000000)

static struct claim_record record;
static bool stored;
static struct claim_decision decision;
static struct policy policy;
static int64_t now_ms;
static int64_t now_rest_ms;
static uint64_t token_last;

static void set_up(void) {
    stored = false;
    now_ms = 1000;
    now_rest_ms = 0;
    token_last = 500;
    policy = policy_default;
}

static enum err run(struct claim_command command) {
    struct claim_context context = {.now = {now_ms},
                                    .now_rest_ms = now_rest_ms,
                                    .wall_now = {WALL + now_ms},
                                    .policy = &policy,
                                    .token_next = token_last + 1};
    enum err err = claim_decide(stored ? &record : NULL, &command, &context, &decision);
    if (decision.granted) token_last++;
    if (decision.change == CLAIM_WRITTEN) record = decision.record;
    if (decision.change != CLAIM_UNCHANGED) stored = decision.change == CLAIM_WRITTEN;
    return err;
}

static enum claim_outcome begin(void) {
    ck_assert_int_eq(run((struct claim_command){.verb = CLAIM_BEGIN, .owner = bytes_of("w")}),
                     ERR_OK);
    return decision.outcome;
}

static enum err complete(uint64_t token, const char *result) {
    struct bytes data = bytes_of(result);
    return run((struct claim_command){
        .verb = CLAIM_COMPLETE,
        .token = token,
        .result = {.present = true, .size_bytes = (uint32_t)data.len, .data = data}});
}

static enum err failure(enum fail_kind kind) {
    return run((struct claim_command){
        .verb = CLAIM_FAIL, .token = token_last, .fail_kind = kind, .message = bytes_of("no")});
}

START_TEST(test_a_duplicate_gets_the_result_until_it_expires) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_uint_eq(decision.record.token, 501);
    ck_assert_int_eq(decision.record.lease_expires_at.ms, 31000);
    ck_assert_uint_eq(decision.record.attempt_count, 1);
    ck_assert_int_eq(begin(), CLAIM_IN_FLIGHT);
    now_ms = 2000;
    ck_assert_int_eq(complete(501, "paid"), ERR_OK);
    ck_assert_int_eq(decision.record.state, CLAIM_SUCCEEDED);
    ck_assert_int_eq(decision.record.expires_at.at.ms, 2000 + 604800000);
    ck_assert_int_eq(complete(501, "paid"), ERR_OK);
    ck_assert(decision.replayed);
    ck_assert_int_eq(complete(501, "lost"), ERR_WRONG_STATE);
    ck_assert_int_eq(complete(500, "paid"), ERR_STALE_TOKEN);
    now_ms = 2000 + 604800000 - 1;
    ck_assert_int_eq(begin(), CLAIM_DUPLICATE);
    ck_assert(bytes_equal(decision.record.result.data, bytes_of("paid")));
    now_ms++;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_uint_eq(decision.record.attempt_count, 1);
    ck_assert(!decision.record.result.present);
}
END_TEST

START_TEST(test_a_crash_holds_the_lease_and_is_taken_over) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    now_ms = 30999;
    ck_assert_int_eq(begin(), CLAIM_IN_FLIGHT);
    now_ms = 31000;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert(decision.lapse_counted);
    ck_assert_uint_eq(decision.record.attempt_count, 2);
    ck_assert_uint_eq(decision.record.retry_counts[RETRY_LAPSED], 1);
    ck_assert_int_eq(decision.record.earlier[0].end, CLAIM_END_LAPSED);
    ck_assert_int_eq(decision.record.earlier[0].ended_at.ms, WALL + 31000);
    ck_assert_int_eq(decision.record.last_error.kind, FAIL_LAPSED);
    ck_assert_int_eq(complete(501, "late"), ERR_STALE_TOKEN);
    ck_assert_int_eq(complete(502, "good"), ERR_OK);
}
END_TEST

START_TEST(test_work_that_kills_its_workers_is_buried) {
    policy.max_retries[RETRY_LAPSED] = 2;
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        ck_assert_int_eq(begin(), CLAIM_CLAIMED);
        ck_assert_uint_eq(decision.record.attempt_count, attempt);
        now_ms += 30000;
    }
    ck_assert_int_eq(begin(), CLAIM_DEAD_LETTER);
    ck_assert_uint_eq(decision.record.attempt_count, 3);
    ck_assert_uint_eq(decision.record.retry_counts[RETRY_LAPSED], 3);
    ck_assert(!decision.record.expires_at.present);
    // The last holder was only slow: its word still counts.
    ck_assert_int_eq(complete(503, "done after all"), ERR_OK);
    ck_assert_int_eq(decision.record.state, CLAIM_SUCCEEDED);
    ck_assert_uint_eq(decision.record.retry_counts[RETRY_LAPSED], 2);
}
END_TEST

START_TEST(test_delays_grow_over_all_kinds_and_the_limit_buries) {
    static const struct {
        enum fail_kind kind;
        int64_t delay_ms;
    } rows[] = {
        {FAIL_TRANSIENT, 1000},  {FAIL_UNCLASSIFIED, 2000},  {FAIL_TRANSIENT, 4000},
        {FAIL_TRANSIENT, 8000},  {FAIL_UNCLASSIFIED, 16000}, {FAIL_TRANSIENT, 32000},
        {FAIL_TRANSIENT, 64000}, {FAIL_TRANSIENT, 128000},   {FAIL_UNCLASSIFIED, 256000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(begin(), CLAIM_CLAIMED);
        ck_assert_int_eq(failure(rows[i].kind), ERR_OK);
        ck_assert_int_eq(decision.record.state, CLAIM_RETRYING);
        ck_assert_int_eq(decision.record.next_attempt_at.ms, now_ms + rows[i].delay_ms);
        now_ms += rows[i].delay_ms - 1;
        ck_assert_int_eq(begin(), CLAIM_NOT_YET);
        now_ms++;
    }
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(failure(FAIL_TRANSIENT), ERR_OK); // the seventh
    ck_assert_int_eq(decision.record.state, CLAIM_DEAD_LETTERED);
    ck_assert_int_eq(failure(FAIL_TRANSIENT), ERR_OK);
    ck_assert(decision.replayed);
    ck_assert_uint_eq(decision.record.retry_counts[RETRY_TRANSIENT], 7);
    ck_assert_int_eq(begin(), CLAIM_DEAD_LETTER);
}
END_TEST

START_TEST(test_poison_and_the_unknown) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(failure(FAIL_POISON), ERR_OK);
    ck_assert_int_eq(decision.record.state, CLAIM_DEAD_LETTERED);
    stored = false;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(failure(FAIL_OUTCOME_UNKNOWN), ERR_OK);
    ck_assert_int_eq(begin(), CLAIM_OUTCOME_UNKNOWN);
    struct claim_command resolve = {.verb = CLAIM_RESOLVE, .resolution = CLAIM_AS_RETRY};
    ck_assert_int_eq(run(resolve), ERR_OK);
    ck_assert_int_eq(decision.record.state, CLAIM_RECEIVED);
    ck_assert_int_eq(run(resolve), ERR_WRONG_STATE);
    ck_assert_int_eq(failure(FAIL_OUTCOME_UNKNOWN), ERR_STALE_TOKEN);
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_uint_eq(decision.record.attempt_count, 2);
}
END_TEST

// What the caller has to keep out is a bug where it gets in.
// Half a millisecond after 1000: what is granted now must not end before 31000.5.
START_TEST(test_no_deadline_is_shorter_than_it_says) {
    now_rest_ms = 1;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(decision.record.lease_expires_at.ms, 31001);
    struct claim_command renew = {
        .verb = CLAIM_RENEW, .token = 501, .lease = {.present = true, .ms = 40000}};
    ck_assert_int_eq(run(renew), ERR_OK);
    ck_assert_int_eq(decision.record.lease_expires_at.ms, 41001);
    ck_assert_int_eq(failure(FAIL_TRANSIENT), ERR_OK);
    ck_assert_int_eq(decision.record.next_attempt_at.ms, 2001);
    now_ms = 2000; // and half of one: still too early
    ck_assert_int_eq(begin(), CLAIM_NOT_YET);
    now_ms = 2001;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(complete(502, "paid"), ERR_OK);
    ck_assert_int_eq(decision.record.expires_at.at.ms, 2002 + 604800000);
}
END_TEST

// A count that starts again at 0 would let a lapse over the limit pass.
START_TEST(test_counts_stay_at_the_largest_number) {
    policy.max_retries[RETRY_LAPSED] = 10;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    record.retry_counts[RETRY_LAPSED] = UINT32_MAX;
    now_ms += 30000;
    ck_assert_int_eq(begin(), CLAIM_DEAD_LETTER);
    record.lapse_retries_max = POLICY_NO_LIMIT;
    record.attempt_count = UINT32_MAX;
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_uint_eq(decision.record.attempt_count, UINT32_MAX);
    ck_assert_uint_eq(decision.record.retry_counts[RETRY_LAPSED], UINT32_MAX);
}
END_TEST

// What a verb does not read makes no other call of it.
START_TEST(test_a_repeat_is_judged_by_its_own_arguments) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(complete(501, "paid"), ERR_OK);
    struct bytes paid = bytes_of("paid");
    struct claim_command again = {.verb = CLAIM_COMPLETE,
                                  .token = 501,
                                  .result = {.present = true, .size_bytes = 4, .data = paid},
                                  .reason = bytes_of("stray"),
                                  .message = bytes_of("stray"),
                                  .fail_kind = FAIL_POISON,
                                  .retry_after = {.present = true, .ms = 5}};
    ck_assert_int_eq(run(again), ERR_OK);
    ck_assert(decision.replayed);
}
END_TEST

START_TEST(test_an_unknown_verb_removes_nothing) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(complete(501, "paid"), ERR_OK);
    (void)run(
        (struct claim_command){.verb = (enum claim_verb)CLAIM_VERBS, .prune_before = {INT64_MAX}});
}
END_TEST

START_TEST(test_an_unknown_resolution_writes_nothing) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(failure(FAIL_OUTCOME_UNKNOWN), ERR_OK);
    (void)run(
        (struct claim_command){.verb = CLAIM_RESOLVE, .resolution = (enum claim_resolution)5});
}
END_TEST

START_TEST(test_a_client_cannot_report_a_lapse) {
    ck_assert_int_eq(begin(), CLAIM_CLAIMED);
    ck_assert_int_eq(failure(FAIL_LAPSED), ERR_OK); // never gets back
}
END_TEST

START_TEST(test_no_failure_has_no_delay) { (void)policy_backoff_ms(&policy_default, 0, 0); }
END_TEST

START_TEST(test_no_state_has_no_name) { (void)claim_state_name((enum claim_state)0); }
END_TEST

START_TEST(test_nor_has_one_beyond) { (void)claim_state_name((enum claim_state)9); }
END_TEST

int main(void) {
    Suite *suite = suite_create("claim_example");
    TCase *tcase = tcase_create("example");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_a_duplicate_gets_the_result_until_it_expires);
    tcase_add_test(tcase, test_a_crash_holds_the_lease_and_is_taken_over);
    tcase_add_test(tcase, test_work_that_kills_its_workers_is_buried);
    tcase_add_test(tcase, test_delays_grow_over_all_kinds_and_the_limit_buries);
    tcase_add_test(tcase, test_poison_and_the_unknown);
    tcase_add_test(tcase, test_no_deadline_is_shorter_than_it_says);
    tcase_add_test(tcase, test_counts_stay_at_the_largest_number);
    tcase_add_test(tcase, test_a_repeat_is_judged_by_its_own_arguments);
    tcase_add_test_raise_signal(tcase, test_an_unknown_verb_removes_nothing, SIGABRT);
    tcase_add_test_raise_signal(tcase, test_an_unknown_resolution_writes_nothing, SIGABRT);
    tcase_add_test_raise_signal(tcase, test_a_client_cannot_report_a_lapse, SIGABRT);
    tcase_add_test_raise_signal(tcase, test_no_failure_has_no_delay, SIGABRT);
    tcase_add_test_raise_signal(tcase, test_no_state_has_no_name, SIGABRT);
    tcase_add_test_raise_signal(tcase, test_nor_has_one_beyond, SIGABRT);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
