// BL-41, 43, 44, 46, 48, 49: how long a result is remembered.
#include <check.h>
#include <stdlib.h>

#include "engine/prune.h"
#include "lib/engine_calls.h"
#include "unit/rpc/rpc_testing.h"

static struct engine_fixture fixture;

static void setup(void) {
    testing_setup();
    fixture_init(&fixture);
}

static void teardown(void) {
    fixture_deinit(&fixture);
    testing_teardown();
}

static struct prune_progress last;

static void prune_heard(struct prune_request *request, const struct prune_progress *progress) {
    last = *progress;
    if (!progress->done) prune_continue(request);
}

static bool is_pruned(void *arg) {
    (void)arg;
    return last.done;
}

// Removes what became final before this instant; returns how many that were.
static uint64_t prune_before(int64_t before_ms) {
    struct prune_request request = {.before = {before_ms}, .force = true, .progress = prune_heard};
    last.done = false;
    ck_assert_int_eq(prune_start(fixture.engine, &request), ERR_OK);
    fixture_turn_until(&fixture, is_pruned, NULL);
    ck_assert_int_eq(last.err, ERR_OK);
    return last.removed_count;
}

static int64_t wall_now_ms(void) { return fake_clock_wall_ms(&fixture.clock); }

// --- BL-41: prune and read disagree at the exact deadline ----------------------------------------

// What each asks at one instant, in each of the six orders.
enum question { ASK_GET, ASK_BEGIN, ASK_SWEEP };

static void ask(enum question question, const char *id, bool alive, bool *claimed) {
    struct fixture_answer answer;
    switch (question) {
    case ASK_GET:
        answer = fixture_get(&fixture, id);
        if (*claimed)
            ck_assert_int_eq(fixture_state(&answer), CLAIM_PROCESSING);
        else if (alive)
            ck_assert_int_eq(fixture_state(&answer), CLAIM_SUCCEEDED);
        else
            FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
        return;
    case ASK_BEGIN:
        answer = fixture_begin_for(&fixture, id, 30000);
        fixture_expect_outcome(&answer, alive ? CLAIM_DUPLICATE : CLAIM_CLAIMED);
        *claimed = !alive;
        return;
    case ASK_SWEEP:
        break;
    }
    answer = fixture_do(&fixture,
                        &(struct fixture_request){.id = id, .command = {.verb = CLAIM_SETTLE}});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    bool removed = answer.decision.change == CLAIM_REMOVED;
    ck_assert(removed == (!alive && !*claimed));
}

START_TEST(BL_41_all_agree_at_the_instant) {
    static const enum question orders[6][3] = {
        {ASK_GET, ASK_BEGIN, ASK_SWEEP}, {ASK_GET, ASK_SWEEP, ASK_BEGIN},
        {ASK_BEGIN, ASK_GET, ASK_SWEEP}, {ASK_BEGIN, ASK_SWEEP, ASK_GET},
        {ASK_SWEEP, ASK_GET, ASK_BEGIN}, {ASK_SWEEP, ASK_BEGIN, ASK_GET},
    };
    fixture.policy.retention_ms = 1000;
    for (int64_t age_ms = 999; age_ms <= 1001; age_ms++) {
        for (size_t order = 0; order < 6; order++) {
            char id[48];
            bool claimed = false;
            (void)snprintf(id, sizeof id, "K%lld-%zu", (long long)age_ms, order);
            fixture_succeed(&fixture, id, "r");
            // Within the pause of the background pass: nobody has removed it before it is asked
            // for.
            fixture_advance(&fixture, age_ms);
            for (int i = 0; i < 3; i++) ask(orders[order][i], id, age_ms < 1000, &claimed);
        }
    }
}
END_TEST

START_TEST(BL_41_prune_keeps_what_is_at_its_edge) {
    fixture_succeed(&fixture, "K", "r");
    int64_t final_ms = wall_now_ms();
    fixture_advance(&fixture, 5);
    ck_assert_uint_eq(prune_before(final_ms), 0); // before, not at
    ck_assert_uint_eq(prune_before(final_ms + 1), 1);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

// --- BL-43: expired entries stay in the index ----------------------------------------------------

START_TEST(BL_43_nothing_is_left_behind) {
    enum { RECORDS = 100000 };
    const char *sanitize = getenv("CLAIMD_SANITIZE");
    unsigned records = sanitize != NULL && sanitize[0] != '\0' ? RECORDS / 10 : RECORDS;
    fixture_succeed_many(&fixture, "K", records, NULL);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), records);
    fixture_advance(&fixture, 1);
    ck_assert_uint_eq(prune_before(wall_now_ms()), records);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 0);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_OPEN), 0);

    // Half of them anew: what is there stays, whatever was known of their predecessors.
    int64_t before_ms = wall_now_ms();
    fixture_succeed_many(&fixture, "K", records / 2, NULL);
    ck_assert_uint_eq(prune_before(before_ms), 0);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), records / 2);
    fixture_advance(&fixture, fixture.policy.retention_ms);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 0);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_DONE), 0);
}
END_TEST

// --- BL-44: a store that drops by time still answers until compaction ----------------------------

START_TEST(BL_44_expiry_needs_no_compaction_and_compaction_changes_nothing) {
    fixture.policy.retention_ms = 1000;
    fixture_succeed(&fixture, "K", "r");
    fixture.policy.retention_ms = 100000;
    fixture_succeed(&fixture, "live", "kept");
    fake_clock_advance(&fixture.clock, 2000); // and no turn: nothing can have been removed
    struct fixture_answer answer = fixture_get(&fixture, "K");
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
    answer = fixture_begin_for(&fixture, "K", 30000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 1);
    for (int i = 0; i < 3; i++) {
        fixture_flush(&fixture);
        answer = fixture_begin_for(&fixture, "live", 1000);
        fixture_expect_result(&answer, bytes_of("kept"));
        answer = fixture_begin_for(&fixture, "K", 1000);
        fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
        fixture_reopen(&fixture);
    }
}
END_TEST

// --- BL-46: does a blocked duplicate extend the window? ------------------------------------------

START_TEST(BL_46_the_window_is_fixed) {
    fixture.policy.retention_ms = 120000;
    fixture_succeed(&fixture, "K", "r");
    fixture_advance(&fixture, 60000);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_result(&answer, bytes_of("r"));
    int64_t expires_ms = answer.decision.record.expires_at.at.ms;
    fixture_advance(&fixture, 59000);
    answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_result(&answer, bytes_of("r"));
    ck_assert_int_eq(answer.decision.record.expires_at.at.ms, expires_ms);
    fixture_advance(&fixture, 2000);
    answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

// --- BL-48: dedup forgets once the message is gone -----------------------------------------------

START_TEST(BL_48_remembered_for_the_whole_window) {
    fixture_succeed(&fixture, "with", "r");
    fixture_succeed(&fixture, "without",
                    NULL); // there is no result to keep: it is done all the same
    for (int day = 1; day <= 6; day++) {
        fixture_advance(&fixture, 86400000);
        fixture_flush(&fixture);
        if (day % 2) fixture_reopen(&fixture);
        struct fixture_answer answer = fixture_begin_for(&fixture, "with", 1000);
        fixture_expect_result(&answer, bytes_of("r"));
        answer = fixture_begin_for(&fixture, "without", 1000);
        fixture_expect_outcome(&answer, CLAIM_DUPLICATE);
        ck_assert(!answer.decision.record.result.present);
    }
}
END_TEST

// --- BL-49: a huge duration overflows to never or to the past ------------------------------------

START_TEST(BL_49_leases_out_of_bounds_are_refused) {
    static const int64_t seconds[] = {
        -1, 0, 86401, INT64_C(1) << 31, INT64_C(1) << 53, INT64_C(1) << 62, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        Google__Protobuf__Duration duration = testing_duration(seconds[i], 0);
        TESTING_REQUEST(BeginRequest, begin_request, begin);
        begin.lease = &duration;
        testing_refuse(rpc_decode_begin, &begin, "lease", "100 ms to 24 h");
        TESTING_TOKEN_REQUEST(RenewRequest, renew_request, renew);
        renew.lease = &duration;
        testing_refuse(rpc_decode_renew, &renew, "lease", "100 ms to 24 h");
        if (seconds[i] == 0) continue; // a delay of nothing is one
        TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
        fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT;
        fail.retry_after = &duration;
        testing_refuse(rpc_decode_fail, &fail, "retry_after", "0 to 24 h");
    }
}
END_TEST

// The policy's own durations come from an operator: they end at the end of time instead of
// wrapping.
START_TEST(BL_49_a_policys_durations_saturate) {
    static const int64_t huge[] = {INT64_C(1) << 31, INT64_C(1) << 53, INT64_C(1) << 62, INT64_MAX};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "K%zu", i);
        fixture.policy = policy_default;
        fixture.policy.retention_ms = huge[i];
        fixture.policy.default_lease_ms = huge[i];
        fixture.policy.backoff_first_ms = huge[i];
        fixture.policy.backoff_max_ms = huge[i];
        fixture.policy.max_hold = (struct optional_ms){true, huge[i]};
        fixture.policy.dead_letter_retention = (struct optional_ms){true, huge[i]};
        struct fixture_answer answer = fixture_begin(&fixture, id, (struct claim_command){0});
        ck_assert_int_gt(fixture_lease_left_ms(&answer), 0);
        uint64_t token = answer.decision.record.token;
        answer = fixture_fail(&fixture, id, token, FAIL_TRANSIENT);
        ck_assert_int_gt(fixture_delay_left_ms(&answer), 0);
        answer = fixture_begin(&fixture, id, (struct claim_command){0});
        fixture_expect_outcome(&answer, CLAIM_NOT_YET);
        (void)snprintf(id, sizeof id, "done%zu", i);
        fixture_succeed(&fixture, id, "r");
        fixture_advance(&fixture, 1000);
        answer = fixture_begin_for(&fixture, id, 1000);
        fixture_expect_result(&answer, bytes_of("r"));
        (void)snprintf(id, sizeof id, "dead%zu", i);
        token = fixture_claim(&fixture, id, 1000);
        answer = fixture_fail(&fixture, id, token, FAIL_POISON);
        ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED);
        fixture_advance(&fixture, 1000);
        answer = fixture_get(&fixture, id);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
    fixture_reopen(&fixture);
    fixture_expect_counts_true(&fixture);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/retention");
    TCase *cases = tcase_create("retention");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_41_all_agree_at_the_instant);
    tcase_add_test(cases, BL_41_prune_keeps_what_is_at_its_edge);
    tcase_add_test(cases, BL_43_nothing_is_left_behind);
    tcase_add_test(cases, BL_44_expiry_needs_no_compaction_and_compaction_changes_nothing);
    tcase_add_test(cases, BL_46_the_window_is_fixed);
    tcase_add_test(cases, BL_48_remembered_for_the_whole_window);
    tcase_add_test(cases, BL_49_leases_out_of_bounds_are_refused);
    tcase_add_test(cases, BL_49_a_policys_durations_saturate);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
