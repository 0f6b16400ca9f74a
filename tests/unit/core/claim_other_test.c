// Register, Cancel, Resolve, Get, Settle and Prune: every stored claim x every argument x every
// clock relation, against the model.
#include <check.h>
#include <stdlib.h>

#include "lib/claim_cases.h"

static void compare(const struct claim_case *claim, struct store_ms now,
                    const struct policy *policy, struct claim_command command) {
    struct claim_context context = {.now = now,
                                    .wall_now = claim_cases_wall_set_back(now),
                                    .policy = policy,
                                    .token_next = 5000};
    claim_cases_compare(claim, &command, &context);
}

static void register_and_cancel(const struct claim_case *claim, struct store_ms now) {
    for (unsigned i = 0; i < 4; i++) {
        compare(claim, now, &policy_default,
                (struct claim_command){.verb = CLAIM_REGISTER,
                                       .payload_ref = claim_cases_payload_refs[i % 2],
                                       .event_time = {.present = i / 2 == 1, .at = {0}}});
    }
    for (size_t i = 0; i < 3; i++) {
        compare(claim, now, &policy_default,
                (struct claim_command){.verb = CLAIM_CANCEL, .reason = claim_cases_reasons[i]});
    }
}

static void resolve(const struct claim_case *claim, struct store_ms now) {
    for (unsigned i = 0; i < 4 * 4 * 3 * 2; i++) {
        struct policy policy = policy_default;
        policy.dead_letter_retention = (struct optional_ms){i / 48 == 1, 40000};
        struct claim_command command = {.verb = CLAIM_RESOLVE};
        command.resolution = (enum claim_resolution)(CLAIM_AS_SUCCEEDED + i % 4);
        command.reason = claim_cases_reasons[i / 16 % 3];
        bool final =
            command.resolution == CLAIM_AS_SUCCEEDED || command.resolution == CLAIM_AS_REJECTED;
        if (final) command.result = claim_cases_bodies[i / 4 % 4];
        compare(claim, now, &policy, command);
    }
    struct policy policy = policy_default;
    for (uint32_t max = 3; max <= 4; max++) { // one less than the result, and just enough
        policy.result_bytes_max = max;
        compare(claim, now, &policy,
                (struct claim_command){.verb = CLAIM_RESOLVE,
                                       .resolution = CLAIM_AS_SUCCEEDED,
                                       .result = claim_cases_bodies[2]});
    }
}

static void prune(const struct claim_case *claim, struct store_ms now) {
    struct claim_record view;
    bool here = claim_model_look(&claim->model, now, claim_cases_wall_set_back(now), &view);
    int64_t updated = here ? view.updated_at.ms : claim->model.known.updated_at.ms;
    int64_t age = now.ms - claim->model.known.final_at.ms;
    for (int64_t before = updated - 1; before <= updated + 1; before++) {
        struct claim_command command = {.verb = CLAIM_PRUNE, .prune_before = {before}};
        compare(claim, now, &policy_default, command);
        for (int64_t least = age - 1; least <= age + 1; least++) {
            command.prune_final_age_min = (struct optional_ms){true, least};
            compare(claim, now, &policy_default, command);
        }
    }
    compare(claim, now, &policy_default,
            (struct claim_command){.verb = CLAIM_PRUNE, .prune_before = {INT64_MAX}});
}

static void visit(const struct claim_case *claim, void *arg) {
    (void)arg;
    struct store_ms times[CLAIM_CASES_TIMES_MAX];
    size_t count = claim_cases_times(claim, times);
    for (size_t i = 0; i < count; i++) {
        register_and_cancel(claim, times[i]);
        resolve(claim, times[i]);
        prune(claim, times[i]);
        compare(claim, times[i], &policy_default, (struct claim_command){.verb = CLAIM_GET});
        compare(claim, times[i], &policy_default, (struct claim_command){.verb = CLAIM_SETTLE});
    }
}

START_TEST(test_other_verbs_enumerated) {
    claim_cases_each(visit, NULL);
    struct claim_cases_count count =
        claim_cases_finish("Register, Cancel, Resolve, Get, Settle, Prune");
    ck_assert_uint_eq(count.differed, 0);
    ck_assert_uint_gt(count.compared, 500000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claim_other");
    TCase *tcase = tcase_create("enumerated");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_other_verbs_enumerated);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
