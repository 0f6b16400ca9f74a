// What time brings about: claim_settle, claim_settle_due, claim_runs_until and claim_wall_of, for
// every stored claim.
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/claim_cases.h"

static uint64_t checked;

static struct claim_decision decide(const struct claim_record *record, enum claim_verb verb,
                                    struct store_ms now) {
    struct claim_command command = {.verb = verb};
    struct claim_context context = {.now = now,
                                    .wall_now = claim_cases_wall_set_back(now),
                                    .policy = &policy_default,
                                    .token_next = 5000};
    struct claim_decision decision;
    ck_assert_int_eq(claim_decide(record, &command, &context, &decision), ERR_OK);
    checked++;
    return decision;
}

// The sweep has something to write from the due time on, and not before.
static void check_due(const struct claim_case *claim, struct store_ms now) {
    struct optional_store_ms due = claim_settle_due(&claim->record);
    struct claim_decision decision = decide(&claim->record, CLAIM_SETTLE, now);
    bool writes = decision.change != CLAIM_UNCHANGED;
    ck_assert_msg(writes == (due.present && now.ms >= due.at.ms), "%s, at %" PRId64, claim->name,
                  now.ms);
    if (decision.change != CLAIM_WRITTEN) return;
    // Once written nothing is left to write, until the next deadline.
    struct optional_store_ms next = claim_settle_due(&decision.record);
    ck_assert(!next.present || now.ms < next.at.ms);
    if (next.present) {
        struct claim_decision before =
            decide(&decision.record, CLAIM_SETTLE, (struct store_ms){next.at.ms - 1});
        struct claim_decision after = decide(&decision.record, CLAIM_SETTLE, next.at);
        ck_assert_int_eq(before.change, CLAIM_UNCHANGED);
        ck_assert_int_eq(after.change, CLAIM_REMOVED);
    }
}

// A lease or a delay runs exactly as long as Begin says so.
static void check_runs(const struct claim_case *claim, struct store_ms now) {
    struct optional_store_ms until = claim_runs_until(&claim->record);
    struct claim_decision decision = decide(&claim->record, CLAIM_BEGIN, now);
    bool may_run = claim->record.state == CLAIM_PROCESSING || claim->record.state == CLAIM_RETRYING;
    ck_assert_msg(until.present == may_run, "%s", claim->name);
    bool runs = decision.outcome == CLAIM_IN_FLIGHT || decision.outcome == CLAIM_NOT_YET;
    ck_assert_msg(runs == (until.present && now.ms < until.at.ms), "%s, at %" PRId64, claim->name,
                  now.ms);
}

static void check_settle(const struct claim_case *claim, struct store_ms now) {
    struct wall_ms wall_now = claim_cases_wall_set_back(now);
    struct claim_record expected, settled = claim->record;
    bool expected_left = claim_model_look(&claim->model, now, wall_now, &expected);
    bool left = claim_settle(&settled, now, wall_now);
    ck_assert_msg(left == expected_left, "%s, at %" PRId64, claim->name, now.ms);
    if (!left) return;
    const char *field = claim_model_record_difference(&expected, &settled, 0);
    ck_assert_msg(field == NULL, "%s, at %" PRId64 ": %s", claim->name, now.ms, field);
    struct claim_record again = settled;
    ck_assert(claim_settle(&again, now, (struct wall_ms){0}));
    ck_assert_ptr_null(claim_model_record_difference(&settled, &again, 0));
}

static void visit(const struct claim_case *claim, void *arg) {
    (void)arg;
    if (!claim->stored) return;
    struct store_ms times[CLAIM_CASES_TIMES_MAX];
    size_t count = claim_cases_times(claim, times);
    for (size_t i = 0; i < count; i++) {
        check_due(claim, times[i]);
        check_runs(claim, times[i]);
        check_settle(claim, times[i]);
    }
}

START_TEST(test_every_case) {
    claim_cases_each(visit, NULL);
    ck_assert_uint_eq(claim_cases_finish("histories").differed, 0);
    printf("time: %" PRIu64 " decisions checked\n", checked);
    ck_assert_uint_gt(checked, 5000);
}
END_TEST

START_TEST(test_wall_of_is_exact_and_saturates) {
    static const struct {
        int64_t deadline, now, wall_now, expected;
    } rows[] = {
        {1500, 1000, 1700000000000, 1700000000500},
        {1000, 1500, 1700000000000, 1699999999500},
        {1000, 1000, -7, -7},
        {INT64_MAX, 0, 1, INT64_MAX},
        {INT64_MAX, INT64_MAX, 9, 9},
        {0, INT64_MAX, -10, INT64_MIN},
        {INT64_MAX, -1, 5, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct wall_ms wall =
            claim_wall_of((struct store_ms){rows[i].deadline}, (struct store_ms){rows[i].now},
                          (struct wall_ms){rows[i].wall_now});
        ck_assert_int_eq(wall.ms, rows[i].expected);
    }
}
END_TEST

START_TEST(test_states_have_names_and_an_end) {
    static const struct {
        enum claim_state state;
        const char *name;
        bool final;
    } rows[CLAIM_STATES] = {
        {CLAIM_RECEIVED, "RECEIVED", false},           {CLAIM_PROCESSING, "PROCESSING", false},
        {CLAIM_RETRYING, "RETRYING", false},           {CLAIM_UNKNOWN, "UNKNOWN", false},
        {CLAIM_SUCCEEDED, "SUCCEEDED", true},          {CLAIM_REJECTED, "REJECTED", true},
        {CLAIM_DEAD_LETTERED, "DEAD_LETTERED", false}, {CLAIM_DISCARDED, "DISCARDED", true},
    };
    for (size_t i = 0; i < CLAIM_STATES; i++) {
        ck_assert_str_eq(claim_state_name(rows[i].state), rows[i].name);
        ck_assert(claim_state_is_final(rows[i].state) == rows[i].final);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claim_time");
    TCase *tcase = tcase_create("time");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_every_case);
    tcase_add_test(tcase, test_wall_of_is_exact_and_saturates);
    tcase_add_test(tcase, test_states_have_names_and_an_end);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
