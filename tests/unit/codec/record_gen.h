// Random records that keep every invariant. For tests of the record codec.
//
// What is not meaningful in a generated record is zero, as it is in a decoded one, so that records
// can be compared field by field (record_difference.h).
#pragma once

#include <string.h>

#include "codec/record_codec.h"
#include "gen.h"

static inline struct claim_body gen_body(struct gen *gen, uint32_t max) {
    struct claim_body body = {.present = true};
    switch (gen_below(gen, 8)) {
    case 0: // empty is not absent
        return body;
    case 1:
        body.size_bytes = 1 + gen_below(gen, LIMIT_BODY_INLINE_BYTES_MAX);
        break;
    case 2:
        body.size_bytes = LIMIT_BODY_INLINE_BYTES_MAX;
        break;
    case 3:
        body.in_blob = true;
        body.size_bytes = LIMIT_BODY_INLINE_BYTES_MAX + 1;
        return body;
    case 4:
        body.in_blob = true;
        body.size_bytes = max;
        return body;
    case 5:
        body.expired = true;
        body.size_bytes = gen_below(gen, max + 1);
        return body;
    default:
        return (struct claim_body){.present = false};
    }
    body.data = gen_bytes(gen, body.size_bytes);
    return body;
}

static inline struct claim_attempt gen_attempt(struct gen *gen, uint32_t number) {
    return (struct claim_attempt){
        .number = number,
        .owner = gen_text(gen, LIMIT_OWNER_BYTES_MAX),
        .begun_at = {gen_time(gen)},
        .ended_at = {gen_time(gen)},
        .end = (enum claim_end)(CLAIM_END_LAPSED + gen_below(gen, CLAIM_END_REJECTED)),
        .error = gen_text(gen, LIMIT_ATTEMPT_ERROR_BYTES_MAX),
    };
}

static inline void gen_attempts(struct gen *gen, struct claim_record *out) {
    bool none = gen_one_in(gen, 6) && out->state != CLAIM_PROCESSING;
    out->attempt_count = none ? 0 : gen_count(gen, 1);
    if (out->attempt_count == 0) return;
    out->attempt = gen_attempt(gen, out->attempt_count);
    if (gen_one_in(gen, 3)) out->attempt.begun_at = out->created_at;
    if (gen_one_in(gen, 3)) out->attempt.ended_at = out->updated_at;
    if (out->state == CLAIM_PROCESSING || gen_one_in(gen, 6)) {
        out->attempt.end = CLAIM_END_NONE;
        out->attempt.ended_at.ms = 0;
    }
    uint32_t most = out->attempt_count - 1;
    if (most > LIMIT_ATTEMPTS_KEPT - 1) most = LIMIT_ATTEMPTS_KEPT - 1;
    out->earlier_count = gen_below(gen, most + 1);
    for (uint32_t i = 0; i < out->earlier_count; i++) {
        out->earlier[i] = gen_attempt(gen, out->attempt_count - out->earlier_count + i);
    }
}

static inline void gen_token(struct gen *gen, struct claim_record *out) {
    out->request_id = gen_text(gen, LIMIT_REQUEST_ID_BYTES_MAX);
    out->has_token =
        out->state == CLAIM_PROCESSING || (out->attempt_count > 0 && !gen_one_in(gen, 4));
    if (out->has_token) {
        out->token = gen_one_in(gen, 4) ? (uint64_t)LIMIT_TOKEN_MAX : 1 + gen_below(gen, 1000);
        out->lapse_leads_to = gen_one_in(gen, 2) ? POLICY_HOLD : POLICY_RETRY;
        out->lapse_retries_max = gen_one_in(gen, 2) ? 10 : (int32_t)gen_below(gen, 12) - 1;
        if (gen_one_in(gen, 3)) {
            out->lapse_dead_retention = (struct optional_ms){true, (int64_t)gen_below(gen, 1000)};
        }
    }
    if (out->state == CLAIM_PROCESSING || gen_one_in(gen, 3)) return;
    out->memory = CLAIM_MEMORY_CANCEL;
    if (out->has_token) {
        out->memory = (enum claim_memory)(CLAIM_MEMORY_COMPLETE + gen_below(gen, 4));
    }
    memcpy(out->memory_digest, gen_bytes(gen, sizeof out->memory_digest).data,
           sizeof out->memory_digest);
}

static inline void gen_deadlines(struct gen *gen, struct claim_record *out) {
    bool final = claim_state_is_final(out->state);
    if (out->state == CLAIM_PROCESSING) {
        out->granted_at.ms = gen_time(gen);
        out->lease_expires_at.ms = gen_time(gen);
    }
    if (out->state == CLAIM_RETRYING) out->next_attempt_at.ms = gen_time(gen);
    if (final) out->final_at.ms = gen_time(gen);
    if ((final || out->state == CLAIM_DEAD_LETTERED) && !gen_one_in(gen, 3)) {
        out->expires_at = (struct optional_store_ms){true, {gen_time(gen)}};
    }
    if (out->state == CLAIM_DEAD_LETTERED || out->state == CLAIM_UNKNOWN) {
        out->made_by_lapse = gen_one_in(gen, 2);
    }
}

static inline void gen_rest(struct gen *gen, struct claim_record *out) {
    out->fingerprint = gen_text(gen, LIMIT_FINGERPRINT_BYTES_MAX);
    out->attempt_has_fingerprint = out->fingerprint.len > 0 && gen_one_in(gen, 2);
    out->payload_ref = gen_text(gen, LIMIT_PAYLOAD_REF_BYTES_MAX);
    if (gen_one_in(gen, 2)) out->event_time = (struct optional_wall_ms){true, {gen_time(gen)}};
    if (gen_one_in(gen, 2)) {
        out->last_error =
            (struct claim_error){.present = true, .kind = FAIL_LAPSED, .at = {gen_time(gen)}};
        if (!gen_one_in(gen, 3)) {
            out->last_error.kind = (enum fail_kind)(FAIL_TRANSIENT + gen_below(gen, 4));
            out->last_error.message = gen_text(gen, LIMIT_ERROR_MESSAGE_BYTES_MAX);
        }
    }
    out->reason = gen_text(gen, LIMIT_REASON_BYTES_MAX);
    out->result = gen_body(gen, LIMIT_RESULT_BYTES_MAX);
    if (out->result.present) {
        memcpy(out->result_digest.data, gen_bytes(gen, DIGEST_BYTES).data, DIGEST_BYTES);
    }
    out->checkpoint = gen_body(gen, LIMIT_CHECKPOINT_BYTES_MAX);
    out->payload = gen_body(gen, LIMIT_PAYLOAD_BYTES_MAX);
}

// A record of any state that keeps the invariants of claim_record.h.
static inline void record_gen_next(struct gen *gen, struct claim_record *out) {
    memset(out, 0, sizeof *out);
    out->state = (enum claim_state)(CLAIM_RECEIVED + gen_below(gen, CLAIM_STATES));
    out->reopen_count = gen_count(gen, 0);
    for (unsigned kind = 0; kind < RETRY_KINDS; kind++) out->retry_counts[kind] = gen_count(gen, 0);
    out->created_at.ms = gen_time(gen);
    out->updated_at.ms = gen_one_in(gen, 2) ? gen_time(gen) : out->created_at.ms;
    gen_attempts(gen, out);
    gen_token(gen, out);
    gen_deadlines(gen, out);
    gen_rest(gen, out);
}
