// The defaults, the limits on retries, and the delays between them.
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rand.h"
#include "core/policy.h"

START_TEST(test_defaults) {
    const struct policy *policy = &policy_default;
    ck_assert_int_eq(policy->default_lease_ms, 30000);
    ck_assert(!policy->max_hold.present);
    ck_assert_int_eq(policy->on_lapse, POLICY_RETRY);
    ck_assert_int_eq(policy->on_unknown, POLICY_HOLD);
    ck_assert_int_eq(policy->backoff_first_ms, 1000);
    ck_assert_int_eq(policy->backoff_max_ms, 300000);
    ck_assert_uint_eq(policy->backoff_jitter_percent, 0);
    ck_assert_int_eq(policy->max_retries[RETRY_TRANSIENT], 6);
    ck_assert_int_eq(policy->max_retries[RETRY_UNCLASSIFIED], 3);
    ck_assert_int_eq(policy->max_retries[RETRY_POISON], 0);
    ck_assert_int_eq(policy->max_retries[RETRY_LAPSED], 10);
    ck_assert_int_eq(policy->retention_ms, INT64_C(604800000));
    ck_assert_int_eq(policy->redelivery_window_ms, INT64_C(259200000));
    ck_assert(!policy->dead_letter_retention.present);
    ck_assert_uint_eq(policy->result_bytes_max, 65536);
    ck_assert(!policy->require_fingerprint);
}
END_TEST

START_TEST(test_exhausted) {
    static const struct {
        int32_t max;
        uint32_t count;
        bool exhausted;
    } rows[] = {
        {0, 0, false},
        {0, 1, true},
        {1, 1, false},
        {1, 2, true},
        {6, 6, false},
        {6, 7, true},
        {0, UINT32_MAX, true},
        {-1, 0, false},
        {-1, 1, false},
        {-1, UINT32_MAX, false},
        {INT32_MAX, INT32_MAX, false},
        {INT32_MAX, UINT32_C(0x80000000), true},
        {INT32_MAX, UINT32_MAX, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert(policy_is_exhausted(rows[i].max, rows[i].count) == rows[i].exhausted);
    }
}
END_TEST

START_TEST(test_default_delays) {
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300};
    for (uint32_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        ck_assert_int_eq(policy_backoff_ms(&policy_default, i + 1, 99), seconds[i] * 1000);
    }
    ck_assert_int_eq(policy_backoff_ms(&policy_default, UINT32_MAX, 99), 300000);
}
END_TEST

static int64_t doubled(int64_t first, int64_t max, uint32_t failures) {
    __int128 delay = first;
    for (uint32_t i = 1; i < failures && delay < max; i++) delay *= 2;
    return delay > max ? max : (int64_t)delay;
}

static const int64_t firsts[] = {1, 3, 100, 1000, 999983, INT64_MAX / 2 + 1, INT64_MAX};
static const int64_t maxima[] = {1, 2, 1000, 300000, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
static const uint32_t counts[] = {
    1, 2, 3, 10, 31, 32, 33, 62, 63, 64, 65, 1000, 65536, 1u << 31, UINT32_MAX - 1, UINT32_MAX};

START_TEST(test_delays_double_and_saturate) {
    struct policy policy = policy_default;
    uint64_t checked = 0;
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++) {
        for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++) {
            policy.backoff_first_ms = firsts[f];
            policy.backoff_max_ms = maxima[m];
            int64_t last = 0;
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                int64_t delay = policy_backoff_ms(&policy, counts[c], UINT64_MAX);
                ck_assert_int_eq(delay, doubled(firsts[f], maxima[m], counts[c]));
                ck_assert_int_ge(delay, last);
                last = delay;
                checked++;
            }
            ck_assert_int_eq(last, maxima[m]);
        }
    }
    printf("policy: %" PRIu64 " delays checked\n", checked);
    ck_assert_uint_gt(checked, 700);
}
END_TEST

START_TEST(test_no_first_delay_is_no_delay) {
    struct policy policy = policy_default;
    policy.backoff_first_ms = 0;
    ck_assert_int_eq(policy_backoff_ms(&policy, 1, 1), 0);
    ck_assert_int_eq(policy_backoff_ms(&policy, 1000, 1), 0);
}
END_TEST

START_TEST(test_jitter_stays_in_its_bounds_and_reaches_them) {
    static const uint32_t percents[] = {0, 1, 33, 50, 99, 100};
    struct rand rand = rand_from_seed(20);
    struct policy policy = policy_default;
    policy.backoff_max_ms = INT64_MAX;
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++) {
        for (size_t p = 0; p < sizeof percents / sizeof percents[0]; p++) {
            policy.backoff_first_ms = firsts[f];
            policy.backoff_jitter_percent = percents[p];
            int64_t spread = (int64_t)((__int128)firsts[f] * percents[p] / 100);
            for (int i = 0; i < 1000; i++) {
                uint64_t random = i == 0 ? UINT64_MAX : rand_u64(&rand);
                int64_t delay = policy_backoff_ms(&policy, 1, random);
                if (delay > firsts[f] || delay < firsts[f] - spread) ck_abort_msg("out of bounds");
            }
            ck_assert_int_eq(policy_backoff_ms(&policy, 1, 0), firsts[f]);
            ck_assert_int_eq(policy_backoff_ms(&policy, 1, (uint64_t)spread), firsts[f] - spread);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("policy");
    TCase *tcase = tcase_create("policy");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_defaults);
    tcase_add_test(tcase, test_exhausted);
    tcase_add_test(tcase, test_default_delays);
    tcase_add_test(tcase, test_delays_double_and_saturate);
    tcase_add_test(tcase, test_no_first_delay_is_no_delay);
    tcase_add_test(tcase, test_jitter_stays_in_its_bounds_and_reaches_them);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
