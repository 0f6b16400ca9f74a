// The five promises to a consumer that is delivered to at least once, one by one.
#include <check.h>
#include <stdlib.h>

#include "engine/prune.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;
static int applied; // the effect: how often it was done

static void setup(void) {
    fixture_init(&fixture);
    applied = 0;
}

static void teardown(void) { fixture_deinit(&fixture); }

// A consumer handles a delivery: the effect only if the claim is its own.
static enum claim_outcome deliver(const char *id) {
    struct fixture_answer answer = fixture_begin_for(&fixture, id, 30000);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    if (answer.decision.outcome == CLAIM_CLAIMED) {
        applied++;
        struct fixture_answer done =
            fixture_complete(&fixture, id, answer.decision.record.token, "charged 10");
        FIXTURE_EXPECT_ERR(done, ERR_OK);
    }
    return answer.decision.outcome;
}

START_TEST(duplicate_delivery_applies_once) {
    ck_assert_int_eq(deliver("pi_1:captured"), CLAIM_CLAIMED);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(deliver("pi_1:captured"), CLAIM_DUPLICATE);
        struct fixture_answer answer = fixture_begin_for(&fixture, "pi_1:captured", 30000);
        fixture_expect_result(&answer, bytes_of("charged 10"));
    }
    ck_assert_int_eq(applied, 1);
}
END_TEST

START_TEST(six_concurrent_duplicates_apply_once) {
    struct fixture_call calls[6];
    struct fixture_call *winner = NULL;
    for (int i = 0; i < 6; i++) {
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){
                          .id = "pi_2", .command = {.verb = CLAIM_BEGIN}, .wait_ms = 60000});
    }
    fixture_settle(&fixture);
    for (int i = 0; i < 6; i++) {
        if (!calls[i].done) {
            ck_assert(fixture_is_parked(&calls[i]));
            continue;
        }
        ck_assert_ptr_null(winner);
        winner = &calls[i];
    }
    ck_assert_ptr_nonnull(winner);
    fixture_expect_outcome(&winner->answer, CLAIM_CLAIMED);
    applied++;
    fixture_complete(&fixture, "pi_2", winner->answer.decision.record.token, "once");
    for (int i = 0; i < 6; i++) {
        const struct fixture_answer *answer = fixture_finish(&calls[i]);
        if (&calls[i] == winner) continue;
        if (answer->decision.outcome == CLAIM_CLAIMED) applied++;
        fixture_expect_result(answer, bytes_of("once"));
    }
    ck_assert_int_eq(applied, 1);
}
END_TEST

START_TEST(failing_handler_is_retried) {
    uint64_t token = fixture_claim(&fixture, "pi_3", 30000);
    struct fixture_answer failed = fixture_fail(&fixture, "pi_3", token, FAIL_TRANSIENT);
    FIXTURE_EXPECT_ERR(failed, ERR_OK);
    ck_assert_int_eq(fixture_delay_left_ms(&failed), 1000); // the first delay of the policy
    ck_assert_int_eq(deliver("pi_3"), CLAIM_NOT_YET);
    fixture_advance(&fixture, 999);
    ck_assert_int_eq(deliver("pi_3"), CLAIM_NOT_YET);
    fixture_advance(&fixture, 1);
    ck_assert_int_eq(deliver("pi_3"), CLAIM_CLAIMED);
    struct fixture_answer seen = fixture_get(&fixture, "pi_3");
    ck_assert_uint_eq(seen.decision.record.attempt_count, 2);
    ck_assert_int_eq(fixture_state(&seen), CLAIM_SUCCEEDED);
    ck_assert_int_eq(applied, 1);
}
END_TEST

START_TEST(crash_holds_the_lease_until_it_lapses) {
    uint64_t first = fixture_claim(&fixture, "pi_4", 30000);
    fixture_advance(&fixture, 29999); // the holder is gone, and nobody knows
    ck_assert_int_eq(deliver("pi_4"), CLAIM_IN_FLIGHT);
    fixture_advance(&fixture, 1);
    struct fixture_answer second = fixture_begin_for(&fixture, "pi_4", 30000);
    fixture_expect_outcome(&second, CLAIM_CLAIMED);
    ck_assert_uint_eq(second.decision.record.attempt_count, 2);
    ck_assert_uint_gt(second.decision.record.token, first);
    ck_assert_uint_eq(second.decision.record.earlier_count, 1);
    ck_assert_int_eq(second.decision.record.earlier[0].end, CLAIM_END_LAPSED);
    struct fixture_answer late = fixture_complete(&fixture, "pi_4", first, "late");
    FIXTURE_EXPECT_ERR(late, ERR_STALE_TOKEN);
}
END_TEST

static bool prune_is_over;

static void prune_progress(struct prune_request *request, const struct prune_progress *progress) {
    if (progress->done) {
        ck_assert_int_eq(progress->err, ERR_OK);
        ck_assert_uint_eq(progress->removed_count, 1);
        prune_is_over = true;
    } else {
        prune_continue(request);
    }
}

static bool is_pruned(void *arg) {
    (void)arg;
    return prune_is_over;
}

START_TEST(after_prune_the_same_id_applies_again) {
    ck_assert_int_eq(deliver("pi_5"), CLAIM_CLAIMED);
    fixture_advance(&fixture, 1);
    ck_assert_int_eq(deliver("pi_5"), CLAIM_DUPLICATE);
    struct prune_request request = {.consumer = bytes_of(FIXTURE_CONSUMER),
                                    .before = {fake_clock_wall_ms(&fixture.clock)},
                                    .force = true,
                                    .progress = prune_progress};
    ck_assert_int_eq(prune_start(fixture.engine, &request), ERR_OK);
    fixture_turn_until(&fixture, is_pruned, NULL);
    struct fixture_answer seen = fixture_get(&fixture, "pi_5");
    FIXTURE_EXPECT_ERR(seen, ERR_NOT_FOUND);
    ck_assert_int_eq(deliver("pi_5"), CLAIM_CLAIMED);
    ck_assert_int_eq(applied, 2);
    ck_assert_int_eq(deliver("pi_5"), CLAIM_DUPLICATE);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/scenarios");
    TCase *cases = tcase_create("scenarios");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, duplicate_delivery_applies_once);
    tcase_add_test(cases, six_concurrent_duplicates_apply_once);
    tcase_add_test(cases, failing_handler_is_retried);
    tcase_add_test(cases, crash_holds_the_lease_until_it_lapses);
    tcase_add_test(cases, after_prune_the_same_id_applies_again);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
