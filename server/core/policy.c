#include "core/policy.h"

#include "base/check.h"
#include "base/limits.h"

const struct policy policy_default = {
    .default_lease_ms = 30 * 1000,
    .max_hold = {.present = false},
    .on_lapse = POLICY_RETRY,
    .on_unknown = POLICY_HOLD,
    .backoff_first_ms = 1000,
    .backoff_max_ms = 5 * 60 * 1000,
    .backoff_jitter_percent = 0,
    .max_retries =
        {[RETRY_TRANSIENT] = 6, [RETRY_UNCLASSIFIED] = 3, [RETRY_POISON] = 0, [RETRY_LAPSED] = 10},
    .retention_ms = INT64_C(7) * 24 * 3600 * 1000,
    .redelivery_window_ms = INT64_C(3) * 24 * 3600 * 1000,
    .dead_letter_retention = {.present = false},
    .result_bytes_max = LIMIT_RESULT_BYTES_DEFAULT,
    .require_fingerprint = false,
};

bool policy_is_exhausted(int32_t retries_max, uint32_t count) {
    return retries_max != POLICY_NO_LIMIT && count > (uint32_t)retries_max;
}

int64_t policy_backoff_ms(const struct policy *policy, uint32_t failure_count, uint64_t random) {
    CHECK(failure_count >= 1);
    int64_t delay_ms = policy->backoff_first_ms;
    if (delay_ms == 0) return 0; // doubling it for ever would not help
    for (uint32_t i = 1; i < failure_count && delay_ms < policy->backoff_max_ms; i++) {
        // Stops at the maximum before doubling could overflow.
        if (delay_ms > policy->backoff_max_ms / 2) {
            delay_ms = policy->backoff_max_ms;
        } else {
            delay_ms *= 2;
        }
    }
    if (delay_ms > policy->backoff_max_ms) delay_ms = policy->backoff_max_ms;
    int64_t spread_ms = delay_ms / 100 * (int64_t)policy->backoff_jitter_percent +
                        delay_ms % 100 * (int64_t)policy->backoff_jitter_percent / 100;
    uint64_t cut_ms = spread_ms == 0 ? 0 : random % ((uint64_t)spread_ms + 1);
    return delay_ms - (int64_t)cut_ms;
}
