// What a consumer's policy says, and the arithmetic that follows from it.
//
// Pure: no I/O, clock, allocation or logging. SPEC section 5.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// What a lapsed lease, or a failure of unknown outcome, leads to. Stored; never renumber.
enum policy_unknown {
    POLICY_RETRY = 0, // try again
    POLICY_HOLD = 1,  // UNKNOWN, until Resolve
};

// What retries are counted by. Indexes arrays that are stored; never renumber.
enum retry_kind {
    RETRY_TRANSIENT = 0,
    RETRY_UNCLASSIFIED = 1,
    RETRY_POISON = 2,
    RETRY_LAPSED = 3,
};
#define RETRY_KINDS 4

#define POLICY_NO_LIMIT (-1)

// A duration that may be absent.
struct optional_ms {
    bool present;
    int64_t ms;
};

struct policy {
    int64_t default_lease_ms;
    struct optional_ms max_hold; // longest that one attempt may hold, from its grant
    enum policy_unknown on_lapse;
    enum policy_unknown on_unknown;
    int64_t backoff_first_ms;
    int64_t backoff_max_ms;
    uint32_t backoff_jitter_percent;  // 0 to 100
    int32_t max_retries[RETRY_KINDS]; // by kind; POLICY_NO_LIMIT, or how many retries follow
    int64_t retention_ms;             // from becoming final
    int64_t redelivery_window_ms;     // the broker's longest redelivery; less than retention_ms
    struct optional_ms dead_letter_retention;
    uint32_t result_bytes_max;
    bool require_fingerprint;
};

// The defaults of SPEC section 5.
extern const struct policy policy_default;

// True if the count-th counted failure of a kind is one too many under a limit.
bool policy_is_exhausted(int32_t retries_max, uint32_t count);

// The delay after the failure_count-th failure (from 1): first, doubled each time, at most max,
// less a random part of up to jitter per cent. Saturates; never negative.
int64_t policy_backoff_ms(const struct policy *policy, uint32_t failure_count, uint64_t random);
