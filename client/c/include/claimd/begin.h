/*
 * Begin: claims a message before its effect (SPEC section 4). Include <claimd.h>, not this.
 */
#ifndef CLAIMD_BEGIN_H
#define CLAIMD_BEGIN_H

#include <claimd/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The answer of a Begin: all are expected, none is an error. */
enum claimd_begin_outcome {
    CLAIMD_BEGIN_UNSPECIFIED = 0,     /* never returned */
    CLAIMD_BEGIN_CLAIMED = 1,         /* yours: do the effect, then complete with the token */
    CLAIMD_BEGIN_DUPLICATE = 2,       /* final: acknowledge; the stored result is here */
    CLAIMD_BEGIN_IN_FLIGHT = 3,       /* another attempt holds the lease: retry_after */
    CLAIMD_BEGIN_NOT_YET = 4,         /* it failed and is not due yet: retry_after */
    CLAIMD_BEGIN_OUTCOME_UNKNOWN = 5, /* waits for resolve */
    CLAIMD_BEGIN_DEAD_LETTERED = 6,   /* acknowledge the broker: the message is safe here */
    CLAIMD_BEGIN_OUT_OF_ORDER = 7     /* the ordering guard refused it */
};

/* "CLAIMED" and so on; "UNRECOGNIZED" for a value of a newer service. Static. */
CLAIMD_API const char *claimd_begin_outcome_name(enum claimd_begin_outcome outcome);

/* What to claim. Start from CLAIMD_BEGIN_REQUEST_INIT. */
struct claimd_begin_request {
    size_t struct_size;   /* set by CLAIMD_BEGIN_REQUEST_INIT */
    const char *consumer; /* the effect's name, 1 to 128 bytes; required */
    /* The producer's key, 1 to 1,024 bytes; required. For composite keys: claimd_key_join. */
    const char *message_id;
    /* How long to hold it, 100 to 86,400,000; CLAIMD_UNSET_MS: the policy's default (30 s). */
    int64_t lease_ms;
    /* Who holds it, for people, at most 256 bytes; NULL for nobody. Never a credential. */
    const char *owner;
    /* At most 64 bytes, random for each logical call and repeated on its retries only; NULL: the
     * library makes one of 128 random bits, used for this call and its repeats. Give your own if
     * you would repeat the call after an error: then a repeat brings the same token again, while
     * the lease runs and owner and fingerprint are equal. Never the message ID. */
    const char *request_id;
    /* A digest of the payload, at most 64 bytes; a different one than the first is an error
     * (FAILED_PRECONDITION, FINGERPRINT_MISMATCH). Absent or empty: not checked. */
    struct claimd_bytes fingerprint;
    /* When the event happened, milliseconds since 1970; information only. */
    int64_t event_time_ms;
    /* Where the message is (topic/partition/offset), at most 1,024 bytes; NULL for none. */
    const char *payload_ref;
    /* On IN_FLIGHT and NOT_YET wait up to this long, 0 to 60,000; CLAIMD_UNSET_MS: not at all. */
    int64_t wait_ms;
    /* How long the call may take; CLAIMD_UNSET_MS: the client's timeout and, on top, wait_ms. */
    int64_t timeout_ms;
    /* Part of a deliberate replay: counted apart. */
    bool replay;
    /* Take over at once what the same, non-empty owner holds (a restarted consumer). */
    bool reclaim;
    bool reserved[6];
};
#define CLAIMD_BEGIN_REQUEST_INIT                                                                  \
    {                                                                                              \
        sizeof(struct claimd_begin_request), NULL, NULL, CLAIMD_UNSET_MS, NULL, NULL,              \
            CLAIMD_BYTES_ABSENT, CLAIMD_UNSET_MS, NULL, CLAIMD_UNSET_MS, CLAIMD_UNSET_MS, false,   \
            false, {                                                                               \
            false                                                                                  \
        }                                                                                          \
    }

/* The last failure of a claim; part of a result, never freed by itself. NULL is fine and empty. */
typedef struct claimd_failure claimd_failure;
CLAIMD_API enum claimd_failure_kind claimd_failure_kind_of(const claimd_failure *failure);
CLAIMD_API const char *claimd_failure_message(const claimd_failure *failure); /* never NULL */
CLAIMD_API int64_t claimd_failure_time_ms(const claimd_failure *failure);     /* since 1970 */

/* About the attempt before, to reconcile with the outside world before the effect is repeated; part
 * of a result, never freed by itself. NULL is fine and empty; texts are never NULL. */
typedef struct claimd_takeover claimd_takeover;
CLAIMD_API const char *claimd_takeover_previous_owner(const claimd_takeover *takeover);
CLAIMD_API enum claimd_attempt_end claimd_takeover_previous_end(const claimd_takeover *takeover);
CLAIMD_API const claimd_failure *claimd_takeover_last_error(const claimd_takeover *takeover);
/* The last checkpoint that a renew stored; absent if none. */
CLAIMD_API struct claimd_bytes claimd_takeover_checkpoint(const claimd_takeover *takeover);

/* What Begin answered. */
typedef struct claimd_begin_result claimd_begin_result;

/* Claims a message, or says why not. Of any number of concurrent calls exactly one is CLAIMED.
 * Effect: durable before it returns. On CLAIMD_OK the caller owns *out_result and frees it.
 * Repeats: with the same request_id, so that an answer that got lost is given again.
 * Errors: INVALID_ARGUMENT; FAILED_PRECONDITION with FINGERPRINT_MISMATCH; RESOURCE_EXHAUSTED;
 * UNAVAILABLE; DEADLINE_EXCEEDED. With maybe_happened set the claim may be held until its lease
 * ends: repeat with the same request_id. */
CLAIMD_API enum claimd_status claimd_begin(claimd_client *client,
                                           const struct claimd_begin_request *request,
                                           claimd_begin_result **out_result,
                                           struct claimd_error *error);

/* Frees a result; NULL is fine. */
CLAIMD_API void claimd_begin_result_free(claimd_begin_result *result);

CLAIMD_API enum claimd_begin_outcome claimd_begin_result_outcome(const claimd_begin_result *result);
/* CLAIMED: the fencing token, never 0, rising over the whole store; else 0. */
CLAIMD_API uint64_t claimd_begin_result_token(const claimd_begin_result *result);
/* CLAIMED: which attempt this is, from 1; else how many were granted. */
CLAIMD_API uint32_t claimd_begin_result_attempt(const claimd_begin_result *result);
/* The state that the outcome was read from; after a grant PROCESSING. */
CLAIMD_API enum claimd_state claimd_begin_result_state(const claimd_begin_result *result);

/* CLAIMED, IN_FLIGHT: when the lease ends, on claimd_clock_ms(); CLAIMD_UNSET_MS otherwise. Counted
 * from before the request was sent, so never later than the service has it: stop the effect by
 * then, or renew before. */
CLAIMD_API int64_t claimd_begin_result_lease_deadline_ms(const claimd_begin_result *result);
/* The lease that was left when the service answered, as a duration. */
CLAIMD_API int64_t claimd_begin_result_lease_remaining_ms(const claimd_begin_result *result);
/* When the lease ends as wall time, since 1970; for people, never to decide by. */
CLAIMD_API int64_t claimd_begin_result_lease_expire_time_ms(const claimd_begin_result *result);

/* CLAIMED: 32 hex digits for a vendor's own idempotency header, the same for every attempt. */
CLAIMD_API const char *claimd_begin_result_effect_key(const claimd_begin_result *result);
/* CLAIMED with attempt > 1: about the attempt before; else NULL. */
CLAIMD_API const claimd_takeover *claimd_begin_result_takeover(const claimd_begin_result *result);
/* The request_id that was sent, the library's or the caller's. */
CLAIMD_API const char *claimd_begin_result_request_id(const claimd_begin_result *result);

/* IN_FLIGHT: who holds it; else "". */
CLAIMD_API const char *claimd_begin_result_owner(const claimd_begin_result *result);
/* IN_FLIGHT, NOT_YET: when to come back, as a duration, rounded up. */
CLAIMD_API int64_t claimd_begin_result_retry_after_ms(const claimd_begin_result *result);
/* NOT_YET: from when it can be claimed, since 1970. */
CLAIMD_API int64_t claimd_begin_result_next_attempt_time_ms(const claimd_begin_result *result);
/* NOT_YET, OUTCOME_UNKNOWN, DEAD_LETTERED: the last failure; NULL if there is none. */
CLAIMD_API const claimd_failure *claimd_begin_result_last_error(const claimd_begin_result *result);
/* OUTCOME_UNKNOWN: the last checkpoint; absent if there is none. */
CLAIMD_API struct claimd_bytes claimd_begin_result_checkpoint(const claimd_begin_result *result);

/* DUPLICATE: when it became final, and until when duplicates are recognised, since 1970. */
CLAIMD_API int64_t claimd_begin_result_complete_time_ms(const claimd_begin_result *result);
CLAIMD_API int64_t claimd_begin_result_expire_time_ms(const claimd_begin_result *result);
/* DUPLICATE: the stored result, byte for byte; absent if there is none, or for one of the next two:
 * the policy has let it go, or it did not fit the reply (claimd_get brings it). */
CLAIMD_API struct claimd_bytes claimd_begin_result_stored_result(const claimd_begin_result *result);
CLAIMD_API bool claimd_begin_result_stored_result_expired(const claimd_begin_result *result);
CLAIMD_API bool claimd_begin_result_stored_result_omitted(const claimd_begin_result *result);
/* DUPLICATE of REJECTED or DISCARDED: the reason given; else "". */
CLAIMD_API const char *claimd_begin_result_reason(const claimd_begin_result *result);

#ifdef __cplusplus
}
#endif

#endif
