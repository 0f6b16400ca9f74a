// The comparing half of claim_model.h: every field that docs/SEMANTICS.md speaks of, no other.
#include "lib/claim_model.h"

#define DIFFER(condition, name)                                                                    \
    do {                                                                                           \
        if (!(condition)) return name;                                                             \
    } while (0)

static bool optional_equal(struct optional_ms a, struct optional_ms b) {
    return a.present == b.present && (!a.present || a.ms == b.ms);
}

static bool is_final(enum claim_state state) {
    return state == CLAIM_SUCCEEDED || state == CLAIM_REJECTED || state == CLAIM_DISCARDED;
}

static bool body_equal(const struct claim_body *a, const struct claim_body *b) {
    if (a->present != b->present) return false;
    if (!a->present) return true;
    return a->expired == b->expired && a->in_blob == b->in_blob && a->size_bytes == b->size_bytes &&
           bytes_equal(a->data, b->data);
}

static const char *attempt_difference(const struct claim_attempt *a,
                                      const struct claim_attempt *b) {
    DIFFER(a->number == b->number, "attempt.number");
    DIFFER(bytes_equal(a->owner, b->owner), "attempt.owner");
    DIFFER(a->begun_at.ms == b->begun_at.ms, "attempt.begun_at");
    DIFFER(a->end == b->end, "attempt.end");
    if (a->end != CLAIM_END_NONE) DIFFER(a->ended_at.ms == b->ended_at.ms, "attempt.ended_at");
    DIFFER(bytes_equal(a->error, b->error), "attempt.error");
    return NULL;
}

static const char *attempts_difference(const struct claim_record *a, const struct claim_record *b) {
    DIFFER(a->attempt_count == b->attempt_count, "attempt_count");
    DIFFER(a->earlier_count == b->earlier_count, "earlier_count");
    for (uint32_t i = 0; i < a->earlier_count; i++) {
        const char *name = attempt_difference(&a->earlier[i], &b->earlier[i]);
        if (name != NULL) return name;
    }
    return a->attempt_count == 0 ? NULL : attempt_difference(&a->attempt, &b->attempt);
}

static const char *holding_difference(const struct claim_record *a, const struct claim_record *b) {
    DIFFER(bytes_equal(a->request_id, b->request_id), "request_id");
    DIFFER(a->attempt_has_fingerprint == b->attempt_has_fingerprint, "attempt_has_fingerprint");
    DIFFER(a->granted_at.ms == b->granted_at.ms, "granted_at");
    DIFFER(a->lease_expires_at.ms == b->lease_expires_at.ms, "lease_expires_at");
    DIFFER(a->lapse_leads_to == b->lapse_leads_to, "lapse_leads_to");
    DIFFER(a->lapse_retries_max == b->lapse_retries_max, "lapse_retries_max");
    DIFFER(optional_equal(a->lapse_dead_retention, b->lapse_dead_retention),
           "lapse_dead_retention");
    return NULL;
}

static const char *token_difference(const struct claim_record *a, const struct claim_record *b) {
    DIFFER(a->has_token == b->has_token, "has_token");
    if (a->has_token) {
        DIFFER(a->token == b->token, "token");
        DIFFER(a->memory == b->memory, "memory");
        // Whether a lapse did it decides only what the token may still do.
        bool open = a->memory == CLAIM_MEMORY_NONE &&
                    (a->state == CLAIM_UNKNOWN || a->state == CLAIM_DEAD_LETTERED);
        if (open) DIFFER(a->made_by_lapse == b->made_by_lapse, "made_by_lapse");
    }
    DIFFER((a->memory == CLAIM_MEMORY_CANCEL) == (b->memory == CLAIM_MEMORY_CANCEL), "memory");
    return NULL;
}

static const char *deadlines_difference(const struct claim_record *a, const struct claim_record *b,
                                        int64_t jitter_ms) {
    if (a->state == CLAIM_RETRYING) {
        DIFFER(b->next_attempt_at.ms <= a->next_attempt_at.ms, "next_attempt_at (late)");
        DIFFER(b->next_attempt_at.ms >= a->next_attempt_at.ms - jitter_ms,
               "next_attempt_at (early)");
    }
    if (is_final(a->state)) DIFFER(a->final_at.ms == b->final_at.ms, "final_at");
    DIFFER(a->expires_at.present == b->expires_at.present, "expires_at.present");
    if (a->expires_at.present) DIFFER(a->expires_at.at.ms == b->expires_at.at.ms, "expires_at");
    return NULL;
}

static const char *content_difference(const struct claim_record *a, const struct claim_record *b) {
    DIFFER(bytes_equal(a->fingerprint, b->fingerprint), "fingerprint");
    DIFFER(bytes_equal(a->payload_ref, b->payload_ref), "payload_ref");
    DIFFER(a->event_time.present == b->event_time.present, "event_time.present");
    if (a->event_time.present) DIFFER(a->event_time.at.ms == b->event_time.at.ms, "event_time");
    DIFFER(a->last_error.present == b->last_error.present, "last_error.present");
    if (a->last_error.present) {
        DIFFER(a->last_error.kind == b->last_error.kind, "last_error.kind");
        DIFFER(bytes_equal(a->last_error.message, b->last_error.message), "last_error.message");
        DIFFER(a->last_error.at.ms == b->last_error.at.ms, "last_error.at");
    }
    DIFFER(bytes_equal(a->reason, b->reason), "reason");
    DIFFER(body_equal(&a->result, &b->result), "result");
    if (a->result.present) {
        struct bytes digest_a = {a->result_digest.data, DIGEST_BYTES};
        struct bytes digest_b = {b->result_digest.data, DIGEST_BYTES};
        DIFFER(bytes_equal(digest_a, digest_b), "result_digest");
    }
    DIFFER(body_equal(&a->checkpoint, &b->checkpoint), "checkpoint");
    DIFFER(body_equal(&a->payload, &b->payload), "payload");
    return NULL;
}

const char *claim_model_record_difference(const struct claim_record *expected,
                                          const struct claim_record *actual, int64_t jitter_ms) {
    const struct claim_record *a = expected, *b = actual;
    DIFFER(a->state == b->state, "state");
    DIFFER(a->reopen_count == b->reopen_count, "reopen_count");
    DIFFER(a->retry_counts[RETRY_TRANSIENT] == b->retry_counts[RETRY_TRANSIENT], "TRANSIENT");
    DIFFER(a->retry_counts[RETRY_UNCLASSIFIED] == b->retry_counts[RETRY_UNCLASSIFIED],
           "UNCLASSIFIED");
    DIFFER(a->retry_counts[RETRY_POISON] == b->retry_counts[RETRY_POISON], "POISON");
    DIFFER(a->retry_counts[RETRY_LAPSED] == b->retry_counts[RETRY_LAPSED], "LAPSED");
    DIFFER(a->created_at.ms == b->created_at.ms, "created_at");
    DIFFER(a->updated_at.ms == b->updated_at.ms, "updated_at");
    const char *name = attempts_difference(a, b);
    if (name == NULL) name = token_difference(a, b);
    if (name == NULL && a->state == CLAIM_PROCESSING) name = holding_difference(a, b);
    if (name == NULL) name = deadlines_difference(a, b, jitter_ms);
    return name != NULL ? name : content_difference(a, b);
}

const char *claim_model_difference(const struct model_answer *expected, enum err err,
                                   const struct claim_decision *decision) {
    DIFFER(expected->err == err, "error");
    DIFFER(expected->outcome == decision->outcome, "outcome");
    DIFFER(expected->change == decision->change ||
               (expected->change_is_free && decision->change == CLAIM_UNCHANGED),
           "change");
    DIFFER(expected->granted == decision->granted, "granted");
    DIFFER(expected->replayed == decision->replayed, "replayed");
    DIFFER(expected->created == decision->created, "created");
    DIFFER(expected->renewed_lapsed == decision->renewed_lapsed, "renewed_lapsed");
    DIFFER(expected->lapse_counted == decision->lapse_counted, "lapse_counted");
    DIFFER(expected->exists == decision->exists, "exists");
    if (!expected->exists) return NULL;
    return claim_model_record_difference(&expected->record, &decision->record, expected->jitter_ms);
}
