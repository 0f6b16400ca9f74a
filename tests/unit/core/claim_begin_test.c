// Begin: every stored claim x every argument x every clock relation, against the model.
#include <check.h>
#include <stdlib.h>

#include "lib/claim_cases.h"

// Policies in force when the command is decided; the cases bring those of their own grants.
static struct policy policies[24];
static size_t policy_count;

static void make_policies(void) {
    static const int32_t limits[3] = {0, 1, POLICY_NO_LIMIT};
    for (size_t i = 0; i < 24; i++) {
        struct policy policy = policy_default;
        policy.default_lease_ms = 20000;
        policy.on_lapse = i % 2 == 0 ? POLICY_RETRY : POLICY_HOLD;
        policy.max_hold = (struct optional_ms){i / 2 % 2 == 1, 3000};
        policy.dead_letter_retention = (struct optional_ms){i / 4 % 2 == 1, 40000};
        policy.max_retries[RETRY_LAPSED] = limits[i / 8];
        policy.backoff_jitter_percent = i % 3 == 0 ? 100 : 0;
        policies[i] = policy;
    }
    policy_count = 24;
}

// Who asks, with what, and whether it wants its own back.
static struct claim_command begin_of(unsigned number) {
    struct claim_command command = {.verb = CLAIM_BEGIN};
    command.owner = claim_cases_owners[number % 3];
    command.request_id = claim_cases_requests[number / 3 % 3];
    command.fingerprint = claim_cases_fingerprints[number / 9 % 3];
    command.reclaim = number / 27 % 2 == 1;
    if (number / 54 % 2 == 1) {
        command.lease = (struct optional_ms){true, 100};
        command.payload_ref = claim_cases_payload_refs[1];
        command.event_time = (struct optional_wall_ms){true, {4711}};
    }
    return command;
}
#define BEGINS (3u * 3 * 3 * 2 * 2)

static void compare_under(const struct claim_case *claim, struct store_ms now,
                          const struct policy *policy, uint64_t token_next) {
    struct claim_context context = {.now = now,
                                    .wall_now = claim_cases_wall_set_back(now),
                                    .policy = policy,
                                    .token_next = token_next};
    for (unsigned i = 0; i < BEGINS; i++) {
        struct claim_command command = begin_of(i);
        claim_cases_compare(claim, &command, &context);
    }
}

static void visit(const struct claim_case *claim, void *arg) {
    (void)arg;
    struct store_ms times[CLAIM_CASES_TIMES_MAX];
    size_t count = claim_cases_times(claim, times);
    struct policy strict = policies[23];
    strict.require_fingerprint = true;
    for (size_t i = 0; i < count; i++) {
        compare_under(claim, times[i], &policies[0], 5000);
        compare_under(claim, times[i], &policies[15], 5000);
        compare_under(claim, times[i], &strict, 5000);
        if (!claim->plain) continue;
        compare_under(claim, times[i], &policies[0], (uint64_t)LIMIT_TOKEN_MAX);
        compare_under(claim, times[i], &policies[0], (uint64_t)LIMIT_TOKEN_MAX + 1);
        for (size_t p = 0; p < policy_count; p++) {
            compare_under(claim, times[i], &policies[p], 5000);
        }
    }
}

START_TEST(test_begin_enumerated) {
    make_policies();
    claim_cases_each(visit, NULL);
    struct claim_cases_count count = claim_cases_finish("Begin");
    ck_assert_uint_eq(count.differed, 0);
    ck_assert_uint_gt(count.compared, 1000000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claim_begin");
    TCase *tcase = tcase_create("enumerated");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_begin_enumerated);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
