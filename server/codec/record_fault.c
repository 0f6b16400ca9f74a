#include "codec/record_fault.h"

#include "codec/record_codec.h"

static const char *earlier_fault(const struct claim_record *record) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < record->earlier_count; i++) {
        const struct claim_attempt *attempt = &record->earlier[i];
        if (attempt->number <= last) return "earlier attempts do not count upwards";
        if (attempt->end == CLAIM_END_NONE) return "an earlier attempt has not ended";
        if (attempt->end > CLAIM_END_REJECTED) return "an earlier attempt's end is unknown";
        if (attempt->owner.len > LIMIT_OWNER_BYTES_MAX) return "an earlier owner is too long";
        if (attempt->error.len > LIMIT_ATTEMPT_ERROR_BYTES_MAX) {
            return "an earlier error is too long";
        }
        last = attempt->number;
    }
    if (last > 0 && last >= record->attempt_count) return "an earlier attempt comes late";
    return NULL;
}

static const char *attempt_fault(const struct claim_record *record) {
    const struct claim_attempt *attempt = &record->attempt;
    if (record->earlier_count > LIMIT_ATTEMPTS_KEPT - 1) return "too many earlier attempts";
    if (record->attempt_count > 0) {
        if (attempt->number != record->attempt_count) return "an attempt's number is wrong";
        if (attempt->end > CLAIM_END_REJECTED) return "the attempt's end is unknown";
        if (attempt->owner.len > LIMIT_OWNER_BYTES_MAX) return "an owner is too long";
        if (attempt->error.len > LIMIT_ATTEMPT_ERROR_BYTES_MAX) return "an error is too long";
    }
    return earlier_fault(record);
}

static const char *token_fault(const struct claim_record *record) {
    enum claim_memory memory = record->memory;
    if (memory > CLAIM_MEMORY_CANCEL) return "the remembered verb is unknown";
    if (record->has_token) {
        if (record->attempt_count == 0) return "a token without an attempt";
        if (record->token == 0) return "the token is 0";
        if (record->token > LIMIT_TOKEN_MAX) return "the token is above the maximum";
        if (record->lapse_leads_to > POLICY_HOLD) return "what a lapse leads to is unknown";
        if (record->lapse_retries_max < POLICY_NO_LIMIT) return "the limit of lapses is below -1";
        if (record->lapse_dead_retention.present && record->lapse_dead_retention.ms < 0) {
            return "a retention is negative";
        }
        if (memory == CLAIM_MEMORY_CANCEL) return "a token beside a remembered Cancel";
    } else if (memory != CLAIM_MEMORY_NONE && memory != CLAIM_MEMORY_CANCEL) {
        return "a holder's remembered verb without a token";
    }
    if (record->request_id.len > LIMIT_REQUEST_ID_BYTES_MAX) return "a request_id is too long";
    if (record->attempt_has_fingerprint && record->fingerprint.len == 0) {
        return "an attempt's fingerprint is not in the record";
    }
    return NULL;
}

static const char *state_fault(const struct claim_record *record) {
    enum claim_state state = record->state;
    if (state < CLAIM_RECEIVED || state > CLAIM_DISCARDED) return "the state is unknown";
    if (state == CLAIM_PROCESSING) {
        if (!record->has_token) return "PROCESSING without a token";
        if (record->attempt.end != CLAIM_END_NONE) return "PROCESSING, and the attempt has ended";
        if (record->memory != CLAIM_MEMORY_NONE) return "PROCESSING, and a verb is remembered";
    }
    if (record->made_by_lapse && state != CLAIM_UNKNOWN && state != CLAIM_DEAD_LETTERED) {
        return "a lapse made another state than UNKNOWN or DEAD_LETTERED";
    }
    bool expires = claim_state_is_final(state) || state == CLAIM_DEAD_LETTERED;
    if (record->expires_at.present && !expires) {
        return "expires_at in a state that does not expire";
    }
    return NULL;
}

static const char *text_fault(const struct claim_record *record) {
    const struct claim_error *error = &record->last_error;
    if (record->fingerprint.len > LIMIT_FINGERPRINT_BYTES_MAX) return "a fingerprint is too long";
    if (record->payload_ref.len > LIMIT_PAYLOAD_REF_BYTES_MAX) return "a payload_ref is too long";
    if (record->reason.len > LIMIT_REASON_BYTES_MAX) return "a reason is too long";
    if (!error->present) return NULL;
    if (error->kind < FAIL_TRANSIENT || error->kind > FAIL_LAPSED) return "a failure is of no kind";
    if (error->message.len > LIMIT_ERROR_MESSAGE_BYTES_MAX) return "an error's message is too long";
    if (error->kind == FAIL_LAPSED && error->message.len > 0) return "a lapse with a message";
    return NULL;
}

static const char *body_fault(const struct claim_body *body, uint32_t bytes_max) {
    if (!body->present) return NULL;
    if (body->size_bytes > bytes_max) return "a body is too long";
    if (body->expired) return NULL;
    if (body->in_blob && !record_codec_body_is_external(body)) return "a small body is a blob";
    if (body->in_blob && body->data.len == 0) return NULL; // nobody has loaded it
    if (body->data.len != body->size_bytes) return "a body's size is not that of its bytes";
    return NULL;
}

const char *record_fault_of(const struct claim_record *record) {
    const char *fault = state_fault(record);
    if (fault == NULL) fault = attempt_fault(record);
    if (fault == NULL) fault = token_fault(record);
    if (fault == NULL) fault = text_fault(record);
    if (fault == NULL) fault = body_fault(&record->result, LIMIT_RESULT_BYTES_MAX);
    if (fault == NULL) fault = body_fault(&record->checkpoint, LIMIT_CHECKPOINT_BYTES_MAX);
    if (fault == NULL) fault = body_fault(&record->payload, LIMIT_PAYLOAD_BYTES_MAX);
    return fault;
}
