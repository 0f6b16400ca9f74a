// Complete, Reject, Fail, Renew and Release: every stored claim x every argument x every token x
// every clock relation, against the model.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/claim_cases.h"

static uint8_t large[LIMIT_RESULT_BYTES_DEFAULT + 1];

static void compare(const struct claim_case *claim, struct store_ms now,
                    const struct policy *policy, struct claim_command command, uint64_t random) {
    struct claim_context context = {.now = now,
                                    .wall_now = claim_cases_wall_set_back(now),
                                    .policy = policy,
                                    .token_next = 5000,
                                    .random = random};
    claim_cases_compare(claim, &command, &context);
}

// The last token, one that is older, and one that nobody has got yet.
static void compare_tokens(const struct claim_case *claim, struct store_ms now,
                           const struct policy *policy, struct claim_command command) {
    command.token = claim->token > 0 ? claim->token : 7;
    compare(claim, now, policy, command, 0);
    command.token--;
    compare(claim, now, policy, command, 0);
    command.token = UINT64_MAX;
    compare(claim, now, policy, command, 0);
}

static void finish(const struct claim_case *claim, struct store_ms now) {
    struct policy policy = policy_default;
    for (size_t i = 0; i < 4; i++) {
        struct claim_command command = {.verb = CLAIM_COMPLETE, .result = claim_cases_bodies[i]};
        compare_tokens(claim, now, &policy, command);
        command.verb = CLAIM_REJECT;
        for (size_t reason = 0; reason < 3; reason++) {
            command.reason = claim_cases_reasons[reason];
            compare_tokens(claim, now, &policy, command);
        }
    }
    policy.retention_ms = INT64_MAX;          // saturates
    for (uint32_t max = 3; max <= 4; max++) { // one less than the result, and just enough
        policy.result_bytes_max = max;
        struct claim_command command = {.verb = CLAIM_COMPLETE, .result = claim_cases_bodies[2]};
        compare_tokens(claim, now, &policy, command);
        command.verb = CLAIM_REJECT;
        compare_tokens(claim, now, &policy, command);
    }
}

// The limit as it is by default, which costs time.
static void finish_large(const struct claim_case *claim, struct store_ms now) {
    for (uint32_t more = 0; more < 2; more++) {
        uint32_t size = policy_default.result_bytes_max + more;
        struct claim_command command = {
            .verb = CLAIM_COMPLETE,
            .token = claim->token,
            .result = {.present = true, .size_bytes = size, .data = {large, size}}};
        compare(claim, now, &policy_default, command, 0);
        command.verb = CLAIM_REJECT;
        compare(claim, now, &policy_default, command, 0);
    }
}

static struct claim_command fail_of(unsigned number) {
    static const struct optional_ms delays[3] = {{false, 0}, {true, 0}, {true, 5000}};
    struct claim_command command = {.verb = CLAIM_FAIL};
    command.fail_kind = (enum fail_kind)(FAIL_TRANSIENT + number % 4);
    command.message = claim_cases_messages[number / 4 % 2];
    command.payload = claim_cases_bodies[number / 8 % 4];
    command.retry_after = delays[number / 32 % 3];
    if (number >= 96) command.message = claim_cases_messages[2]; // long, so not in the product
    return command;
}
#define FAILS (4u * 2 * 4 * 3 + 4)

static void failures(const struct claim_case *claim, struct store_ms now) {
    static const int32_t limits[3] = {0, 1, POLICY_NO_LIMIT};
    static const uint64_t randoms[4] = {0, 1, UINT64_C(0x123456789ABCDEF), UINT64_MAX};
    struct claim_command command;
    for (unsigned i = 0; i < FAILS; i++) {
        command = fail_of(i);
        if (i % 5 == 0) compare_tokens(claim, now, &policy_default, command);
        command.token = claim->token > 0 ? claim->token : 7;
        compare(claim, now, &policy_default, command, 0);
        if (!claim->plain) continue;
        for (unsigned p = 0; p < 2 * 2 * 2 * 3; p++) {
            struct policy policy = policy_default;
            policy.on_unknown = p % 2 == 0 ? POLICY_RETRY : POLICY_HOLD;
            policy.dead_letter_retention = (struct optional_ms){p / 2 % 2 == 1, 40000};
            policy.backoff_jitter_percent = p / 4 % 2 == 1 ? 100 : 0;
            for (size_t k = 0; k < RETRY_LAPSED; k++) policy.max_retries[k] = limits[p / 8];
            compare(claim, now, &policy, command, randoms[i % 4]);
        }
    }
    // A repetition is equal in all of its delay.
    command = (struct claim_command){.verb = CLAIM_FAIL,
                                     .token = claim->token > 0 ? claim->token : 7,
                                     .fail_kind = FAIL_TRANSIENT,
                                     .message = claim_cases_messages[2],
                                     .retry_after = {true, 5000}};
    compare(claim, now, &policy_default, command, 0);
    for (unsigned bit = 0; bit < 27; bit++) {
        command.retry_after.ms = 5000 ^ (INT64_C(1) << bit);
        if (command.retry_after.ms > LIMIT_RETRY_AFTER_MS_MAX || !claim->plain) break;
        compare(claim, now, &policy_default, command, 0);
    }
    // Counts that stand at the end of their range, and a delay that does.
    struct policy endless = policy_default;
    endless.backoff_max_ms = INT64_MAX;
    for (size_t k = 0; k < RETRY_KINDS; k++) endless.max_retries[k] = POLICY_NO_LIMIT;
    for (unsigned i = 0; i < 4; i++) {
        command = fail_of(i);
        command.token = claim->token;
        if (command.token == 0) continue;
        compare(claim, now, &endless, command, 0);
        endless.backoff_jitter_percent = 50;
        compare(claim, now, &endless, command, UINT64_MAX / 3);
        endless.backoff_jitter_percent = 0;
    }
}

static void renew(const struct claim_case *claim, struct store_ms now) {
    static const struct optional_ms leases[4] = {
        {false, 0}, {true, 100}, {true, CLAIM_CASES_LEASE_MS}, {true, LIMIT_LEASE_MS_MAX}};
    static const struct optional_ms holds[4] = {
        {false, 0}, {true, CLAIM_CASES_HOLD_MS}, {true, 3000}, {true, INT64_MAX}};
    for (size_t hold = 0; hold < 4; hold++) {
        struct policy policy = policy_default;
        policy.max_hold = holds[hold];
        for (size_t i = 0; i < 16; i++) {
            compare_tokens(claim, now, &policy,
                           (struct claim_command){.verb = CLAIM_RENEW,
                                                  .lease = leases[i % 4],
                                                  .checkpoint = claim_cases_bodies[i / 4]});
        }
    }
}

static void visit(const struct claim_case *claim, void *arg) {
    (void)arg;
    struct store_ms times[CLAIM_CASES_TIMES_MAX];
    size_t count = claim_cases_times(claim, times);
    if (claim->plain && claim->token > 0) finish_large(claim, times[0]);
    for (size_t i = 0; i < count; i++) {
        finish(claim, times[i]);
        failures(claim, times[i]);
        renew(claim, times[i]);
        compare_tokens(claim, times[i], &policy_default,
                       (struct claim_command){.verb = CLAIM_RELEASE});
    }
}

START_TEST(test_token_verbs_enumerated) {
    memset(large, 'x', sizeof large);
    claim_cases_each(visit, NULL);
    struct claim_cases_count count = claim_cases_finish("Complete, Reject, Fail, Renew, Release");
    ck_assert_uint_eq(count.differed, 0);
    ck_assert_uint_gt(count.compared, 2000000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claim_token");
    TCase *tcase = tcase_create("enumerated");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_token_verbs_enumerated);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
