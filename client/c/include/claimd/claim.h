/*
 * One record, as claimd_get brings it (SPEC section 6). Include <claimd.h>, not this.
 *
 * Everything here is part of a result and lives as long as it. Texts are never NULL; a time or
 * duration that does not apply is CLAIMD_UNSET_MS. Times are milliseconds since 1970.
 */
#ifndef CLAIMD_CLAIM_H
#define CLAIMD_CLAIM_H

#include <claimd/begin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct claimd_claim claimd_claim;

CLAIMD_API const char *claimd_claim_consumer(const claimd_claim *claim);
CLAIMD_API const char *claimd_claim_message_id(const claimd_claim *claim);
CLAIMD_API enum claimd_state claimd_claim_state(const claimd_claim *claim);
/* Attempts granted so far. */
CLAIMD_API uint32_t claimd_claim_attempt(const claimd_claim *claim);
/* PROCESSING, but the lease has expired. */
CLAIMD_API bool claimd_claim_lapsed(const claimd_claim *claim);
/* Failures of a kind counted since the claim was made, redriven or reopened; 0 for other kinds. */
CLAIMD_API uint32_t claimd_claim_retries(const claimd_claim *claim, enum claimd_failure_kind kind);
/* Who holds it, or held it last. */
CLAIMD_API const char *claimd_claim_owner(const claimd_claim *claim);
/* PROCESSING: what was left of the lease when the service answered, and when it ends. */
CLAIMD_API int64_t claimd_claim_lease_remaining_ms(const claimd_claim *claim);
CLAIMD_API int64_t claimd_claim_lease_expire_time_ms(const claimd_claim *claim);
/* The last failure; NULL if there was none. */
CLAIMD_API const claimd_failure *claimd_claim_last_error(const claimd_claim *claim);
/* RETRYING: from when it can be claimed. */
CLAIMD_API int64_t claimd_claim_next_attempt_time_ms(const claimd_claim *claim);
/* When it was made, last changed, became final, and will be removed by time. */
CLAIMD_API int64_t claimd_claim_create_time_ms(const claimd_claim *claim);
CLAIMD_API int64_t claimd_claim_update_time_ms(const claimd_claim *claim);
CLAIMD_API int64_t claimd_claim_complete_time_ms(const claimd_claim *claim);
CLAIMD_API int64_t claimd_claim_expire_time_ms(const claimd_claim *claim);
/* When the event happened, as the client said. */
CLAIMD_API int64_t claimd_claim_event_time_ms(const claimd_claim *claim);
/* Absent if none was given. */
CLAIMD_API struct claimd_bytes claimd_claim_fingerprint(const claimd_claim *claim);
CLAIMD_API const char *claimd_claim_payload_ref(const claimd_claim *claim);
/* Why it was rejected, cancelled, resolved or discarded. */
CLAIMD_API const char *claimd_claim_reason(const claimd_claim *claim);
CLAIMD_API uint32_t claimd_claim_reopen_count(const claimd_claim *claim);
/* The key for a vendor's idempotency header, as Begin gave it. */
CLAIMD_API const char *claimd_claim_effect_key(const claimd_claim *claim);

/* The last attempts, oldest first, at most 8. */
typedef struct claimd_attempt claimd_attempt;
CLAIMD_API size_t claimd_claim_attempts_count(const claimd_claim *claim);
/* NULL from claimd_claim_attempts_count(claim) on. */
CLAIMD_API const claimd_attempt *claimd_claim_attempts_at(const claimd_claim *claim, size_t index);
/* Which, from 1. */
CLAIMD_API uint32_t claimd_attempt_number(const claimd_attempt *attempt);
CLAIMD_API const char *claimd_attempt_owner(const claimd_attempt *attempt);
CLAIMD_API int64_t claimd_attempt_begin_time_ms(const claimd_attempt *attempt);
/* CLAIMD_UNSET_MS while it runs. */
CLAIMD_API int64_t claimd_attempt_end_time_ms(const claimd_attempt *attempt);
CLAIMD_API enum claimd_attempt_end claimd_attempt_end_of(const claimd_attempt *attempt);
/* Its failure, cut to 256 bytes. */
CLAIMD_API const char *claimd_attempt_error(const claimd_attempt *attempt);

/* The bodies: whether there is one and its size always; the bytes only if they were asked for. */
enum claimd_body {
    CLAIMD_BODY_RESULT = 1,     /* what duplicates are answered with */
    CLAIMD_BODY_CHECKPOINT = 2, /* how far the work was */
    CLAIMD_BODY_PAYLOAD = 3     /* a dead letter's message */
};
/* There is, or was, such a body. */
CLAIMD_API bool claimd_claim_body_exists(const claimd_claim *claim, enum claimd_body body);
CLAIMD_API uint32_t claimd_claim_body_size(const claimd_claim *claim, enum claimd_body body);
/* The policy has let the body go. */
CLAIMD_API bool claimd_claim_body_expired(const claimd_claim *claim, enum claimd_body body);
/* SHA-256 of a result, which outlives the body; absent for the others. */
CLAIMD_API struct claimd_bytes claimd_claim_body_sha256(const claimd_claim *claim,
                                                        enum claimd_body body);
CLAIMD_API struct claimd_bytes claimd_claim_body(const claimd_claim *claim, enum claimd_body body);

#ifdef __cplusplus
}
#endif

#endif
