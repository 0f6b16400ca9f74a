// What is known of one claim: plain data.
//
// Byte views borrow from whatever the record was decoded from, or from the command that changed it.
// Times of type store_ms are deadlines; times of type wall_ms are for people. Absence is always a
// flag or a state, never a zero. SPEC sections 2 and 3.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/time.h"
#include "core/policy.h"

// Stored and sent; never renumber.
enum claim_state {
    CLAIM_RECEIVED = 1,
    CLAIM_PROCESSING = 2,
    CLAIM_RETRYING = 3,
    CLAIM_UNKNOWN = 4,
    CLAIM_SUCCEEDED = 5,
    CLAIM_REJECTED = 6,
    CLAIM_DEAD_LETTERED = 7,
    CLAIM_DISCARDED = 8,
};
#define CLAIM_STATES 8 // indexes of per-state arrays are state - 1

// How an attempt ended. Stored and sent; never renumber.
enum claim_end {
    CLAIM_END_NONE = 0, // it has not
    CLAIM_END_LAPSED = 1,
    CLAIM_END_FAILED = 2,
    CLAIM_END_RELEASED = 3,
    CLAIM_END_RECLAIMED = 4,
    CLAIM_END_EXPIRED = 5,
    CLAIM_END_COMPLETED = 6,
    CLAIM_END_REJECTED = 7,
};

// What a failure was. Stored and sent; never renumber.
enum fail_kind {
    FAIL_TRANSIENT = 1,
    FAIL_UNCLASSIFIED = 2,
    FAIL_POISON = 3,
    FAIL_OUTCOME_UNKNOWN = 4,
    FAIL_LAPSED = 5, // the server's own: the lease ran out
};

// The verb that a record remembers, to answer its repetition. Stored; never renumber.
enum claim_memory {
    CLAIM_MEMORY_NONE = 0,
    CLAIM_MEMORY_COMPLETE = 1,
    CLAIM_MEMORY_REJECT = 2,
    CLAIM_MEMORY_FAIL = 3,
    CLAIM_MEMORY_RELEASE = 4,
    CLAIM_MEMORY_CANCEL = 5, // belongs to no token
};

struct optional_store_ms {
    bool present;
    struct store_ms at;
};

struct optional_wall_ms {
    bool present;
    struct wall_ms at;
};

// A result, checkpoint or payload: empty differs from absent, and the bytes may live elsewhere.
struct claim_body {
    bool present;
    bool in_blob; // bytes are in the blob family; data is empty until somebody loads it
    bool expired; // the policy let the bytes go; size and digest remain
    uint32_t size_bytes;
    struct bytes data; // size_bytes long if present and neither in_blob nor expired
};

// One attempt: granted, and ended somehow.
struct claim_attempt {
    uint32_t number; // from 1
    struct bytes owner;
    struct wall_ms begun_at;
    struct wall_ms ended_at; // meaningful iff end is not CLAIM_END_NONE
    enum claim_end end;
    struct bytes error; // at most LIMIT_ATTEMPT_ERROR_BYTES_MAX
};

struct claim_error {
    bool present;
    enum fail_kind kind;
    struct bytes message; // empty for FAIL_LAPSED
    struct wall_ms at;
};

#define CLAIM_TOKEN_MEMORY_BYTES 8

struct claim_record {
    enum claim_state state;
    uint32_t reopen_count;
    uint32_t attempt_count; // granted so far; never goes back
    uint32_t retry_counts[RETRY_KINDS];
    struct wall_ms created_at;
    struct wall_ms updated_at; // of the last transition; Renew and Get are none

    // The running or last attempt. attempt_count == 0 means there was none.
    struct claim_attempt attempt;
    struct claim_attempt earlier[LIMIT_ATTEMPTS_KEPT - 1]; // oldest first
    uint32_t earlier_count;

    bool has_token; // false: every token is stale
    uint64_t token;
    struct bytes request_id;          // of the Begin that made the attempt; empty: none
    bool attempt_has_fingerprint;     // that Begin carried the fingerprint
    struct store_ms granted_at;       // meaningful iff state is PROCESSING
    struct store_ms lease_expires_at; // meaningful iff state is PROCESSING
    // What a lapse of this attempt will lead to, fixed at its grant; meaningful iff has_token.
    enum policy_unknown lapse_leads_to;
    int32_t lapse_retries_max;
    struct optional_ms lapse_dead_retention;
    bool made_by_lapse; // UNKNOWN or DEAD_LETTERED, and a lapse did it

    enum claim_memory memory;                        // the verb that ended the attempt...
    uint8_t memory_digest[CLAIM_TOKEN_MEMORY_BYTES]; // ...and its arguments

    struct store_ms next_attempt_at;     // meaningful iff state is RETRYING
    struct store_ms final_at;            // meaningful iff the state is final
    struct optional_store_ms expires_at; // final or dead-lettered: removed by time

    struct bytes fingerprint; // empty: none
    struct bytes payload_ref; // empty: none
    struct optional_wall_ms event_time;
    struct claim_error last_error;
    struct bytes reason; // empty: none
    struct claim_body result;
    struct digest result_digest; // meaningful iff result.present
    struct claim_body checkpoint;
    struct claim_body payload;
};

// SUCCEEDED, REJECTED or DISCARDED.
bool claim_state_is_final(enum claim_state state);

// The state's name as clients see it, e.g. "PROCESSING".
const char *claim_state_name(enum claim_state state);
