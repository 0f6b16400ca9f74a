// The decision about one claim: every rule of SPEC sections 3, 4 and 6 (Get, Prune) lives here.
//
// Pure: no I/O, clock, allocation or logging. Byte views in a decision borrow from the record and
// the command that it was made from. Thread-safe, having no state.
#pragma once

#include "base/error.h"
#include "core/claim_record.h"

enum claim_verb {
    CLAIM_BEGIN,
    CLAIM_COMPLETE,
    CLAIM_REJECT,
    CLAIM_FAIL,
    CLAIM_RENEW,
    CLAIM_RELEASE,
    CLAIM_REGISTER,
    CLAIM_CANCEL,
    CLAIM_RESOLVE,
    CLAIM_GET,
    CLAIM_SETTLE, // the sweep: write what time has brought about, if anything
    CLAIM_PRUNE,
};
#define CLAIM_VERBS 12

// Sent; never renumber. CLAIM_OUTCOME_NONE for verbs other than Begin.
enum claim_outcome {
    CLAIM_OUTCOME_NONE = 0,
    CLAIM_CLAIMED = 1,
    CLAIM_DUPLICATE = 2,
    CLAIM_IN_FLIGHT = 3,
    CLAIM_NOT_YET = 4,
    CLAIM_OUTCOME_UNKNOWN = 5,
    CLAIM_DEAD_LETTER = 6,
    CLAIM_OUT_OF_ORDER = 7,
};
#define CLAIM_OUTCOMES 8

// Sent; never renumber.
enum claim_resolution {
    CLAIM_AS_SUCCEEDED = 1,
    CLAIM_AS_REJECTED = 2,
    CLAIM_AS_RETRY = 3,
    CLAIM_AS_DEAD_LETTER = 4,
};

// Arguments within the bounds of limits.h (the caller has validated them); each verb reads its own.
struct claim_command {
    enum claim_verb verb;
    uint64_t token;                         // Complete, Reject, Fail, Renew, Release; never 0
    struct optional_ms lease;               // Begin, Renew
    struct bytes owner;                     // Begin
    struct bytes request_id;                // Begin
    struct bytes fingerprint;               // Begin
    struct bytes payload_ref;               // Begin, Register
    struct optional_wall_ms event_time;     // Begin, Register
    bool reclaim;                           // Begin
    struct claim_body result;               // Complete, Reject, Resolve
    struct claim_body payload;              // Fail
    struct claim_body checkpoint;           // Renew
    struct bytes reason;                    // Reject, Cancel, Resolve
    enum fail_kind fail_kind;               // Fail
    struct bytes message;                   // Fail; cut here to LIMIT_ERROR_MESSAGE_BYTES_MAX
    struct optional_ms retry_after;         // Fail
    enum claim_resolution resolution;       // Resolve
    struct wall_ms prune_before;            // Prune
    struct optional_ms prune_final_age_min; // Prune: younger in store time are kept
};

// All that a decision may depend on besides the record and the command.
struct claim_context {
    struct store_ms now; // rounded down: what a deadline is compared with
    // 1 if time has gone on since `now`, else 0: new deadlines count from the next millisecond, so
    // that no lease is shorter than it says, counted from before the request was sent.
    int64_t now_rest_ms;
    struct wall_ms wall_now;
    const struct policy *policy;
    uint64_t token_next; // granted to the new attempt, if there is one
    uint64_t random;     // for jitter
};

enum claim_change {
    CLAIM_UNCHANGED, // nothing to write
    CLAIM_WRITTEN,   // the record is to be stored as in `record`
    CLAIM_REMOVED,   // the stored record is to be removed
};

struct claim_decision {
    enum claim_outcome outcome;
    enum claim_change change;
    bool granted;        // token_next was used
    bool replayed;       // the same was accepted before
    bool created;        // Register made the record
    bool renewed_lapsed; // Renew came after the lease had run out
    bool lapse_counted;  // a lapse became part of the stored counts
    bool exists;         // there is a record now (after the change, transitions by time applied)
    struct claim_record record; // meaningful iff exists
};

// Decides. record is the stored one as read, or NULL if there is none. Returns ERR_OK with the
// decision; or ERR_NOT_FOUND, ERR_STALE_TOKEN, ERR_WRONG_STATE, ERR_FINGERPRINT_MISMATCH,
// ERR_MAX_HOLD, ERR_INVALID_ARGUMENT (result over the policy's limit, or a fingerprint required),
// ERR_TOKENS_EXHAUSTED; then nothing is to be written, and the decision still shows the record.
MUST_CHECK enum err claim_decide(const struct claim_record *record,
                                 const struct claim_command *command,
                                 const struct claim_context *context,
                                 struct claim_decision *decision);

// Applies what time alone has brought about by `now` (SPEC section 3: it happens at its deadline,
// written or not). False if nothing is left: the record has expired. *record is changed in place.
bool claim_settle(struct claim_record *record, struct store_ms now, struct wall_ms wall_now);

// When a CLAIM_SETTLE of this record will next have something to write; absent if never.
struct optional_store_ms claim_settle_due(const struct claim_record *record);

// The deadline of this record's lease or delay: it runs before then. Absent if it has neither.
struct optional_store_ms claim_runs_until(const struct claim_record *record);

// A store deadline as wall time, computed at the moment of asking.
struct wall_ms claim_wall_of(struct store_ms deadline, struct store_ms now,
                             struct wall_ms wall_now);
