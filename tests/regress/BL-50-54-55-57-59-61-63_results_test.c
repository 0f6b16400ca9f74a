// BL-50, 54, 55, 57 (results and repeated calls), BL-59, 61, 63 (fingerprints).
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/prune.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static struct fixture_answer command_do(const char *id, struct claim_command command) {
    return fixture_do(&fixture, &(struct fixture_request){.id = id, .command = command});
}

static struct claim_body body_of(const void *data, size_t len) {
    return (struct claim_body){.present = true, .size_bytes = (uint32_t)len, .data = {data, len}};
}

// --- BL-50: an over-size result leaks the claim --------------------------------------------------

START_TEST(BL_50_an_over_size_result_leaves_the_claim_held) {
    static uint8_t large[LIMIT_RESULT_BYTES_DEFAULT + 1];
    static const char *const ids[] = {"then completes", "then fails", "then rejects"};
    for (size_t i = 0; i < 3; i++) {
        uint64_t token = fixture_claim(&fixture, ids[i], 30000);
        fixture_advance(&fixture, 100);
        struct fixture_answer answer =
            command_do(ids[i], (struct claim_command){.verb = CLAIM_COMPLETE,
                                                      .token = token,
                                                      .result = body_of(large, sizeof large)});
        FIXTURE_EXPECT_ERR(answer, ERR_INVALID_ARGUMENT);
        answer = fixture_get(&fixture, ids[i]);
        ck_assert_int_eq(fixture_lease_left_ms(&answer), 29900);
        ck_assert_uint_eq(answer.decision.record.token, token);
        if (i == 0) answer = fixture_complete(&fixture, ids[i], token, "small");
        if (i == 1) answer = fixture_fail(&fixture, ids[i], token, FAIL_TRANSIENT);
        if (i == 2) answer = fixture_reject(&fixture, ids[i], token, "too large");
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
        ck_assert(!answer.decision.replayed);
    }
    uint64_t token = fixture_claim(&fixture, "at the limit", 30000);
    struct fixture_answer answer =
        command_do("at the limit",
                   (struct claim_command){.verb = CLAIM_COMPLETE,
                                          .token = token,
                                          .result = body_of(large, LIMIT_RESULT_BYTES_DEFAULT)});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}
END_TEST

// --- BL-54: the retry of a successful finish is refused ------------------------------------------

START_TEST(BL_54_a_repeated_finish_is_answered_the_same) {
    uint64_t token = fixture_claim(&fixture, "K", 30000);
    struct fixture_answer first = fixture_complete(&fixture, "K", token, "r");
    FIXTURE_EXPECT_ERR(first, ERR_OK);
    uint64_t position = fixture_stats(&fixture).position;
    for (int restart = 0; restart < 2; restart++) {
        struct fixture_answer again = fixture_complete(&fixture, "K", token, "r");
        FIXTURE_EXPECT_ERR(again, ERR_OK);
        ck_assert(again.decision.replayed);
        ck_assert_int_eq(again.decision.record.expires_at.at.ms,
                         first.decision.record.expires_at.at.ms);
        ck_assert_uint_eq(fixture_stats(&fixture).position, position); // nothing was written
        struct fixture_answer refused[] = {
            fixture_complete(&fixture, "K", token, "other"),
            fixture_complete(&fixture, "K", token, NULL),
            fixture_complete(&fixture, "K", token, ""),
            fixture_fail(&fixture, "K", token, FAIL_TRANSIENT),
            fixture_reject(&fixture, "K", token, "r"),
            fixture_release(&fixture, "K", token),
        };
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
            FIXTURE_EXPECT_ERR(refused[i], ERR_WRONG_STATE);
        }
        struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
        fixture_expect_result(&answer, bytes_of("r"));
        fixture_reopen(&fixture);
        position = fixture_stats(&fixture).position;
    }
}
END_TEST

// --- BL-55: a retry cannot recover what the first call computed ----------------------------------

START_TEST(BL_55_begin_again_is_the_same_attempt) {
    struct claim_command command = {
        .owner = bytes_of("w0"), .request_id = bytes_of("r1"), .lease = {true, 5000}};
    struct fixture_answer first = fixture_begin(&fixture, "K", command);
    fixture_advance(&fixture, 1000);
    for (int restart = 0; restart < 2; restart++) {
        struct fixture_answer again = fixture_begin(&fixture, "K", command);
        fixture_expect_outcome(&again, CLAIM_CLAIMED);
        ck_assert(again.decision.replayed);
        ck_assert_uint_eq(again.decision.record.token, first.decision.record.token);
        ck_assert_uint_eq(again.decision.record.attempt_count, 1);
        ck_assert_int_eq(fixture_lease_left_ms(&again), 4000); // as it is now
        fixture_crash(&fixture);
        fixture_advance(&fixture, first.now.ms + 1000 - fixture_now(&fixture).ms);
    }
    command.request_id = bytes_of("r2");
    struct fixture_answer other = fixture_begin(&fixture, "K", command);
    fixture_expect_outcome(&other, CLAIM_IN_FLIGHT);
    command.request_id = bytes_of("r1");
    command.owner = bytes_of("w1");
    other = fixture_begin(&fixture, "K", command);
    fixture_expect_outcome(&other, CLAIM_IN_FLIGHT);
    command.owner = bytes_of("w0");
    fixture_advance(&fixture, 4000); // the lease is over: an ordinary Begin
    other = fixture_begin(&fixture, "K", command);
    fixture_expect_outcome(&other, CLAIM_CLAIMED);
    ck_assert(!other.decision.replayed);
    ck_assert_uint_eq(other.decision.record.attempt_count, 2);
}
END_TEST

START_TEST(BL_55_fail_again_shows_the_same_next_attempt) {
    uint64_t token = fixture_claim(&fixture, "K", 30000);
    struct fixture_answer first = fixture_fail(&fixture, "K", token, FAIL_TRANSIENT);
    fixture_advance(&fixture, 400);
    struct fixture_answer again = fixture_fail(&fixture, "K", token, FAIL_TRANSIENT);
    FIXTURE_EXPECT_ERR(again, ERR_OK);
    ck_assert(again.decision.replayed);
    ck_assert_int_eq(again.decision.record.next_attempt_at.ms,
                     first.decision.record.next_attempt_at.ms);
    ck_assert_int_eq(fixture_delay_left_ms(&again), 600); // shown as of now
    ck_assert_uint_eq(again.decision.record.retry_counts[RETRY_TRANSIENT], 1);
}
END_TEST

START_TEST(BL_55_release_reject_and_renew_again) {
    uint64_t token = fixture_claim(&fixture, "released", 30000);
    struct fixture_answer answer = fixture_release(&fixture, "released", token);
    ck_assert(!answer.decision.replayed);
    answer = fixture_release(&fixture, "released", token);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert(answer.decision.replayed);

    token = fixture_claim(&fixture, "rejected", 30000);
    fixture_reject(&fixture, "rejected", token, "no");
    answer = fixture_reject(&fixture, "rejected", token, "no");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert(answer.decision.replayed);

    token = fixture_claim(&fixture, "renewed", 1000);
    for (int i = 0; i < 3; i++) { // acts each time
        fixture_advance(&fixture, 500);
        answer = fixture_renew(&fixture, "renewed", token, 1000);
        ck_assert_int_eq(fixture_lease_left_ms(&answer), 1000);
        ck_assert(!answer.decision.replayed);
    }
}
END_TEST

// --- BL-57: the stored result comes back with other bytes ----------------------------------------

START_TEST(BL_57_bytes_come_back_as_they_were) {
    static uint8_t random[1024 * 1024];
    static const struct {
        const char *id;
        const void *data;
        size_t len;
    } results[] = {
        {"empty", "", 0},
        {"nul", "\0", 1},
        {"not UTF-8", "\xFF\xFE\x80\xC3", 4},
        {"JSON", "{ \"b\" :1,\n\t\"a\":  [1.0,1e0, 01] , \"b\": 2 }", 40},
        {"random", random, sizeof random},
    };
    const size_t count = sizeof results / sizeof results[0];
    fixture.policy.result_bytes_max = LIMIT_RESULT_BYTES_MAX;
    for (size_t i = 0; i < sizeof random; i++) random[i] = (uint8_t)(i * i * 2654435761u >> 15);
    for (size_t i = 0; i < count; i++) {
        uint64_t token = fixture_claim(&fixture, results[i].id, 30000);
        struct fixture_answer answer =
            command_do(results[i].id,
                       (struct claim_command){.verb = CLAIM_COMPLETE,
                                              .token = token,
                                              .result = body_of(results[i].data, results[i].len)});
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
    fixture_succeed(&fixture, "none", NULL);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < count; i++) {
            struct fixture_answer answer = fixture_begin_for(&fixture, results[i].id, 1000);
            fixture_expect_result(&answer, (struct bytes){results[i].data, results[i].len});
        }
        struct fixture_answer none = fixture_begin_for(&fixture, "none", 1000);
        fixture_expect_outcome(&none, CLAIM_DUPLICATE);
        ck_assert(!none.decision.record.result.present); // empty is not absent
        if (round == 0) fixture_flush(&fixture);
        if (round == 1) fixture_reopen(&fixture);
        if (round == 2) fixture_crash(&fixture);
    }
}
END_TEST

// --- BL-59: the fast path skips the payload check ------------------------------------------------

static struct fixture_answer begin_with(const char *id, const char *fingerprint) {
    return fixture_begin(&fixture, id,
                         (struct claim_command){.fingerprint = bytes_of(fingerprint)});
}

static void expect_mismatch(const struct fixture_answer *answer) {
    FIXTURE_EXPECT_ERR(*answer, ERR_FINGERPRINT_MISMATCH);
    ck_assert_int_eq(answer->decision.outcome, CLAIM_OUTCOME_NONE);
}

// In every state, from memory, from files and from the readers.
START_TEST(BL_59_every_state_is_checked) {
    static const char *const ids[] = {"held",     "done",    "rejected", "released",
                                      "retrying", "unknown", "dead",     "lapsed"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct fixture_answer answer = begin_with(ids[i], "A");
        fixture_expect_outcome(&answer, CLAIM_CLAIMED);
        uint64_t token = answer.decision.record.token;
        if (i == 1) fixture_complete(&fixture, ids[i], token, "secret");
        if (i == 2) fixture_reject(&fixture, ids[i], token, "no");
        if (i == 3) fixture_release(&fixture, ids[i], token);
        if (i == 4) fixture_fail(&fixture, ids[i], token, FAIL_TRANSIENT);
        if (i == 5) fixture_fail(&fixture, ids[i], token, FAIL_OUTCOME_UNKNOWN);
        if (i == 6) fixture_fail(&fixture, ids[i], token, FAIL_POISON);
    }
    fixture_advance(&fixture, policy_default.default_lease_ms);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
            struct fixture_answer answer = begin_with(ids[i], "B");
            expect_mismatch(&answer);
        }
        fixture_reopen(&fixture); // now the records are cold
    }
    ck_assert_uint_eq(fixture_stats(&fixture).begins_refused, 0); // since this start
}
END_TEST

START_TEST(BL_59_a_woken_waiter_is_checked) {
    static struct fixture_call waiter;
    uint64_t token = fixture_claim(&fixture, "K", 30000); // without a fingerprint
    fixture_start(
        &fixture, &waiter,
        &(struct fixture_request){.id = "K",
                                  .command = {.verb = CLAIM_BEGIN, .fingerprint = bytes_of("B")},
                                  .wait_ms = 60000});
    fixture_settle(&fixture);
    ck_assert(fixture_is_parked(&waiter));
    // Released, claimed by one with a fingerprint, and completed, all before the waiter looks
    // again.
    static struct fixture_call release;
    static struct fixture_call begin;
    fixture_start(
        &fixture, &release,
        &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_RELEASE, .token = token}});
    fixture_start(&fixture, &begin,
                  &(struct fixture_request){
                      .id = "K", .command = {.verb = CLAIM_BEGIN, .fingerprint = bytes_of("A")}});
    fixture_expect_outcome(fixture_finish(&begin), CLAIM_CLAIMED); // it was in line first
    fixture_settle(&fixture);
    ck_assert(waiter.done);
    expect_mismatch(&waiter.answer);
}
END_TEST

// --- BL-61: a mismatching lookup poisons the cache -----------------------------------------------

START_TEST(BL_61_a_mismatch_changes_nothing) {
    struct fixture_answer first = begin_with("K", "A");
    struct fixture_answer done = fixture_complete(&fixture, "K", first.decision.record.token, "r");
    fixture_advance(&fixture, 5);
    uint64_t position = fixture_stats(&fixture).position;
    struct fixture_answer second = begin_with("K", "B");
    expect_mismatch(&second);
    struct fixture_answer third = begin_with("K", "A");
    fixture_expect_result(&third, bytes_of("r"));
    ck_assert(bytes_equal(third.decision.record.fingerprint, bytes_of("A")));
    ck_assert_int_eq(third.decision.record.expires_at.at.ms, done.decision.record.expires_at.at.ms);
    ck_assert_uint_eq(fixture_stats(&fixture).position, position);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_by_outcome[CLAIM_DUPLICATE], 1);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_refused, 1);
}
END_TEST

// --- BL-63: no fingerprint: the wrong result is silently replayed --------------------------------

START_TEST(BL_63_absent_on_either_side_is_not_checked) {
    fixture_succeed(&fixture, "K", "r");
    struct fixture_answer answer = begin_with("K", "B");
    fixture_expect_result(&answer, bytes_of("r"));
    ck_assert_uint_eq(answer.decision.record.fingerprint.len, 0); // only a granted Begin stores one
    answer = begin_with("K2", "A");
    fixture_complete(&fixture, "K2", answer.decision.record.token, "r2");
    answer = begin_with("K2", "");
    fixture_expect_result(&answer, bytes_of("r2"));
}
END_TEST

START_TEST(BL_63_unless_the_policy_requires_one) {
    fixture_succeed(&fixture, "K", "r");
    fixture.policy.require_fingerprint = true;
    struct fixture_answer answer = begin_with("K", "");
    FIXTURE_EXPECT_ERR(answer, ERR_INVALID_ARGUMENT);
    answer = begin_with("new", "");
    FIXTURE_EXPECT_ERR(answer, ERR_INVALID_ARGUMENT);
    answer = begin_with("new", "A");
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/results");
    TCase *cases = tcase_create("results");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_50_an_over_size_result_leaves_the_claim_held);
    tcase_add_test(cases, BL_54_a_repeated_finish_is_answered_the_same);
    tcase_add_test(cases, BL_55_begin_again_is_the_same_attempt);
    tcase_add_test(cases, BL_55_fail_again_shows_the_same_next_attempt);
    tcase_add_test(cases, BL_55_release_reject_and_renew_again);
    tcase_add_test(cases, BL_57_bytes_come_back_as_they_were);
    tcase_add_test(cases, BL_59_every_state_is_checked);
    tcase_add_test(cases, BL_59_a_woken_waiter_is_checked);
    tcase_add_test(cases, BL_61_a_mismatch_changes_nothing);
    tcase_add_test(cases, BL_63_absent_on_either_side_is_not_checked);
    tcase_add_test(cases, BL_63_unless_the_policy_requires_one);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
