// Retention: what has expired goes by itself, in the background, with its bodies; nothing else
// does.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/scope.h"
#include "engine/engine_private.h"
#include "lib/engine_calls.h"

#define DAY_MS INT64_C(86400000)

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static uint64_t stored_count(void) {
    return fixture_scan_keys(&fixture, KEYSPACE_DONE) + fixture_scan_keys(&fixture, KEYSPACE_OPEN);
}

START_TEST(expired_records_go_with_their_bodies) {
    static char result[5000];
    memset(result, 'r', sizeof result - 1);
    fixture_succeed_many(&fixture, "k", 1000, result);
    fixture_advance(&fixture, 7 * DAY_MS - 1);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 1000);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 1000);
    fixture_advance(&fixture, 1);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 0);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 0);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
}
END_TEST

START_TEST(each_at_its_time_or_a_pause_later) {
    for (int i = 0; i < 10; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "k%d", i);
        fixture_succeed(&fixture, id, "x");
        fixture_advance(&fixture, DAY_MS / 2);
    }
    // Five days have gone by since the first.
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(stored_count(), 10 - i);
        fixture_advance(&fixture, i == 0 ? 2 * DAY_MS : DAY_MS / 2);
    }
    ck_assert_uint_eq(stored_count(), 0);
}
END_TEST

START_TEST(passes_keep_their_pause) {
    fixture.policy.retention_ms = 1000;
    fixture_advance(&fixture, LIMIT_RETENTION_PAUSE_MS); // since the pass at the start
    uint64_t passes = 0;
    for (int i = 0; i < 600; i++) { // two minutes of records that expire each second
        char id[32];
        (void)snprintf(id, sizeof id, "k%d", i);
        if (i % 5 == 0) fixture_succeed(&fixture, id, NULL);
        fake_clock_advance(&fixture.clock, 200);
        fixture_turn(&fixture);
        passes += fixture.engine->retention != NULL;
        fixture_settle(&fixture); // it is over
    }
    ck_assert_uint_ge(passes, 2);
    ck_assert_uint_le(passes, 3);
    fixture_advance(&fixture, LIMIT_RETENTION_PAUSE_MS);
    fixture_advance(&fixture, LIMIT_RETENTION_PAUSE_MS);
    ck_assert_uint_eq(stored_count(), 0);
}
END_TEST

START_TEST(what_expires_while_a_pass_runs_is_not_forgotten) {
    fixture.policy.retention_ms = 1000;
    fixture_succeed_many(&fixture, "k", 2 * LIMIT_PRUNE_CHUNK_RECORDS, "x");
    fixture_advance(&fixture, LIMIT_RETENTION_PAUSE_MS - 1000);
    fake_clock_advance(&fixture.clock, 1000);
    fixture_turn(&fixture); // the pass starts: its view is of now, or a little later
    ck_assert_ptr_nonnull(fixture.engine->retention);
    fixture_succeed_many(&fixture, "late", 10, "x");
    fixture_settle(&fixture);
    fixture_advance(&fixture, LIMIT_RETENTION_PAUSE_MS);
    ck_assert_uint_eq(stored_count(), 0);
}
END_TEST

START_TEST(expiry_goes_on_after_a_restart) {
    fixture_succeed(&fixture, "a", "x");
    fixture_advance(&fixture, 3 * DAY_MS);
    fixture_succeed(&fixture, "b", "x");
    fixture_advance(&fixture, 3 * DAY_MS);
    fixture_reopen(&fixture);
    ck_assert_uint_eq(stored_count(), 2);
    fake_clock_shift_wall(&fixture.clock, 100 * DAY_MS); // says nothing about it
    fixture_reopen(&fixture);
    ck_assert_uint_eq(stored_count(), 2);
    fixture_advance(&fixture, DAY_MS);
    ck_assert_uint_eq(stored_count(), 1);
    fixture_reopen(&fixture);
    fixture_advance(&fixture, 3 * DAY_MS);
    ck_assert_uint_eq(stored_count(), 0);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
}
END_TEST

START_TEST(a_key_begun_anew_is_not_removed_by_its_past) {
    fixture_succeed(&fixture, "k", "old");
    fixture_advance(&fixture, 7 * DAY_MS - 1);
    fake_clock_advance(&fixture.clock, 1);
    // Expired, and not yet removed: the ID is free at this instant.
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    fixture_settle(&fixture);
    struct fixture_answer answer = fixture_complete(&fixture, "k", token, "new");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 1);
    fixture_advance(&fixture, 7 * DAY_MS - 1);
    answer = fixture_begin_for(&fixture, "k", 1000);
    fixture_expect_result(&answer, bytes_of("new"));
    fixture_advance(&fixture, 1);
    ck_assert_uint_eq(stored_count(), 0);
}
END_TEST

START_TEST(dead_letters_go_only_by_their_policy) {
    uint64_t token = fixture_claim(&fixture, "kept", 1000);
    fixture_fail(&fixture, "kept", token, FAIL_POISON);
    fixture.policy.dead_letter_retention = (struct optional_ms){true, 2 * DAY_MS};
    token = fixture_claim(&fixture, "failed", 1000);
    fixture_fail(&fixture, "failed", token, FAIL_POISON);
    fixture.policy.max_retries[RETRY_LAPSED] = 0;
    fixture_claim(&fixture, "lapsed", 1000);
    fixture_advance(&fixture, 1000);
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_DEAD_LETTERED - 1], 3);
    fixture_advance(&fixture, 2 * DAY_MS - 1000);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 2);
    fixture_advance(&fixture, 1000); // counted from the lapse
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 1);
    fixture_advance(&fixture, 400 * DAY_MS);
    struct fixture_answer answer = fixture_get(&fixture, "kept");
    ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED);
}
END_TEST

START_TEST(nothing_else_goes_by_time) {
    struct fixture_answer answer = fixture_do(
        &fixture, &(struct fixture_request){.id = "received", .command = {.verb = CLAIM_REGISTER}});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    fixture_claim(&fixture, "lapsed", 1000);
    uint64_t token = fixture_claim(&fixture, "retrying", 1000);
    fixture_fail_after(&fixture, "retrying", token, 1000);
    token = fixture_claim(&fixture, "unknown", 1000);
    fixture_fail(&fixture, "unknown", token, FAIL_OUTCOME_UNKNOWN);
    fixture_advance(&fixture, 1000 * DAY_MS);
    fixture_reopen(&fixture);
    fixture_advance(&fixture, 1000 * DAY_MS);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 4);
}
END_TEST

START_TEST(an_endless_retention_never_ends) {
    fixture.policy.retention_ms = INT64_MAX;
    fixture_succeed(&fixture, "k", "x");
    fixture_advance(&fixture, 36500 * DAY_MS);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", 1000);
    fixture_expect_result(&answer, bytes_of("x"));
}
END_TEST

START_TEST(rejected_and_cancelled_go_too) {
    uint64_t token = fixture_claim(&fixture, "rejected", 1000);
    fixture_reject(&fixture, "rejected", token, "no");
    struct fixture_answer answer = fixture_do(
        &fixture, &(struct fixture_request){.id = "cancelled", .command = {.verb = CLAIM_CANCEL}});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert_uint_eq(stored_count(), 2);
    fixture_advance(&fixture, 7 * DAY_MS);
    ck_assert_uint_eq(stored_count(), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/retention");
    TCase *cases = tcase_create("retention");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, expired_records_go_with_their_bodies);
    tcase_add_test(cases, each_at_its_time_or_a_pause_later);
    tcase_add_test(cases, passes_keep_their_pause);
    tcase_add_test(cases, what_expires_while_a_pass_runs_is_not_forgotten);
    tcase_add_test(cases, expiry_goes_on_after_a_restart);
    tcase_add_test(cases, a_key_begun_anew_is_not_removed_by_its_past);
    tcase_add_test(cases, dead_letters_go_only_by_their_policy);
    tcase_add_test(cases, nothing_else_goes_by_time);
    tcase_add_test(cases, an_endless_retention_never_ends);
    tcase_add_test(cases, rejected_and_cancelled_go_too);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
