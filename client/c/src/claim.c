#include <claimd/v1/operations.pb-c.h>

#include "wire.h"

// A claim and its attempts are the messages themselves, under an opaque name.
static const Claimd__V1__Claim *message_of(const claimd_claim *claim) {
    return (const Claimd__V1__Claim *)claim;
}

static const Claimd__V1__Attempt *attempt_of(const claimd_attempt *attempt) {
    return (const Claimd__V1__Attempt *)attempt;
}

const char *claimd_claim_consumer(const claimd_claim *claim) {
    return claimd__wire_string(message_of(claim)->consumer);
}

const char *claimd_claim_message_id(const claimd_claim *claim) {
    return claimd__wire_string(message_of(claim)->message_id);
}

enum claimd_state claimd_claim_state(const claimd_claim *claim) {
    return (enum claimd_state)message_of(claim)->state;
}

uint32_t claimd_claim_attempt(const claimd_claim *claim) { return message_of(claim)->attempt; }

bool claimd_claim_lapsed(const claimd_claim *claim) { return message_of(claim)->lapsed != 0; }

uint32_t claimd_claim_retries(const claimd_claim *claim, enum claimd_failure_kind kind) {
    const Claimd__V1__RetryCounts *retries = message_of(claim)->retries;
    if (retries == NULL) return 0;
    switch (kind) {
    case CLAIMD_FAILURE_TRANSIENT:
        return retries->transient;
    case CLAIMD_FAILURE_UNCLASSIFIED:
        return retries->unclassified;
    case CLAIMD_FAILURE_POISON:
        return retries->poison;
    case CLAIMD_FAILURE_LAPSED:
        return retries->lapsed;
    case CLAIMD_FAILURE_UNSPECIFIED:
    case CLAIMD_FAILURE_OUTCOME_UNKNOWN:
        break;
    }
    return 0;
}

const char *claimd_claim_owner(const claimd_claim *claim) {
    return claimd__wire_string(message_of(claim)->owner);
}

int64_t claimd_claim_lease_remaining_ms(const claimd_claim *claim) {
    return claimd__wire_lease_remaining_ms(message_of(claim)->lease);
}

int64_t claimd_claim_lease_expire_time_ms(const claimd_claim *claim) {
    return claimd__wire_lease_expire_time_ms(message_of(claim)->lease);
}

const claimd_failure *claimd_claim_last_error(const claimd_claim *claim) {
    return (const claimd_failure *)message_of(claim)->last_error;
}

int64_t claimd_claim_next_attempt_time_ms(const claimd_claim *claim) {
    return claimd__wire_time_ms(message_of(claim)->next_attempt_time);
}

int64_t claimd_claim_create_time_ms(const claimd_claim *claim) {
    return claimd__wire_time_ms(message_of(claim)->create_time);
}

int64_t claimd_claim_update_time_ms(const claimd_claim *claim) {
    return claimd__wire_time_ms(message_of(claim)->update_time);
}

int64_t claimd_claim_complete_time_ms(const claimd_claim *claim) {
    return claimd__wire_time_ms(message_of(claim)->complete_time);
}

int64_t claimd_claim_expire_time_ms(const claimd_claim *claim) {
    return claimd__wire_time_ms(message_of(claim)->expire_time);
}

int64_t claimd_claim_event_time_ms(const claimd_claim *claim) {
    return claimd__wire_time_ms(message_of(claim)->event_time);
}

struct claimd_bytes claimd_claim_fingerprint(const claimd_claim *claim) {
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    ProtobufCBinaryData fingerprint = message_of(claim)->fingerprint;
    return fingerprint.len > 0 ? claimd__wire_body(fingerprint) : absent;
}

const char *claimd_claim_payload_ref(const claimd_claim *claim) {
    return claimd__wire_string(message_of(claim)->payload_ref);
}

const char *claimd_claim_reason(const claimd_claim *claim) {
    return claimd__wire_string(message_of(claim)->reason);
}

uint32_t claimd_claim_reopen_count(const claimd_claim *claim) {
    return message_of(claim)->reopen_count;
}

const char *claimd_claim_effect_key(const claimd_claim *claim) {
    return claimd__wire_string(message_of(claim)->effect_key);
}

size_t claimd_claim_attempts_count(const claimd_claim *claim) {
    return message_of(claim)->n_attempts;
}

const claimd_attempt *claimd_claim_attempts_at(const claimd_claim *claim, size_t index) {
    const Claimd__V1__Claim *message = message_of(claim);
    return index < message->n_attempts ? (const claimd_attempt *)message->attempts[index] : NULL;
}

uint32_t claimd_attempt_number(const claimd_attempt *attempt) {
    return attempt_of(attempt)->attempt;
}

const char *claimd_attempt_owner(const claimd_attempt *attempt) {
    return claimd__wire_string(attempt_of(attempt)->owner);
}

int64_t claimd_attempt_begin_time_ms(const claimd_attempt *attempt) {
    return claimd__wire_time_ms(attempt_of(attempt)->begin_time);
}

int64_t claimd_attempt_end_time_ms(const claimd_attempt *attempt) {
    return claimd__wire_time_ms(attempt_of(attempt)->end_time);
}

enum claimd_attempt_end claimd_attempt_end_of(const claimd_attempt *attempt) {
    return (enum claimd_attempt_end)attempt_of(attempt)->end;
}

const char *claimd_attempt_error(const claimd_attempt *attempt) {
    return claimd__wire_string(attempt_of(attempt)->error);
}

static const Claimd__V1__BodyInfo *body_info(const claimd_claim *claim, enum claimd_body body) {
    switch (body) {
    case CLAIMD_BODY_RESULT:
        return message_of(claim)->result_info;
    case CLAIMD_BODY_CHECKPOINT:
        return message_of(claim)->checkpoint_info;
    case CLAIMD_BODY_PAYLOAD:
        return message_of(claim)->payload_info;
    }
    return NULL;
}

bool claimd_claim_body_exists(const claimd_claim *claim, enum claimd_body body) {
    return body_info(claim, body) != NULL;
}

uint32_t claimd_claim_body_size(const claimd_claim *claim, enum claimd_body body) {
    const Claimd__V1__BodyInfo *info = body_info(claim, body);
    return info != NULL ? info->size_bytes : 0;
}

bool claimd_claim_body_expired(const claimd_claim *claim, enum claimd_body body) {
    const Claimd__V1__BodyInfo *info = body_info(claim, body);
    return info != NULL && info->expired != 0;
}

struct claimd_bytes claimd_claim_body_sha256(const claimd_claim *claim, enum claimd_body body) {
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    const Claimd__V1__BodyInfo *info = body_info(claim, body);
    return info != NULL && info->sha256.len > 0 ? claimd__wire_body(info->sha256) : absent;
}

struct claimd_bytes claimd_claim_body(const claimd_claim *claim, enum claimd_body body) {
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    const Claimd__V1__Claim *message = message_of(claim);
    switch (body) {
    case CLAIMD_BODY_RESULT:
        if (message->optional_result_case != CLAIMD__V1__CLAIM__OPTIONAL_RESULT_RESULT) break;
        return claimd__wire_body(message->result);
    case CLAIMD_BODY_CHECKPOINT:
        if (message->optional_checkpoint_case !=
            CLAIMD__V1__CLAIM__OPTIONAL_CHECKPOINT_CHECKPOINT) {
            break;
        }
        return claimd__wire_body(message->checkpoint);
    case CLAIMD_BODY_PAYLOAD:
        if (message->optional_payload_case != CLAIMD__V1__CLAIM__OPTIONAL_PAYLOAD_PAYLOAD) break;
        return claimd__wire_body(message->payload);
    }
    return absent;
}
