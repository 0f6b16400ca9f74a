// Where two records differ, field by field. For tests of the record codec.
#pragma once

#include <string.h>

#include "core/claim_record.h"

static inline bool same_body(const struct claim_body *a, const struct claim_body *b) {
    return a->present == b->present && a->in_blob == b->in_blob && a->expired == b->expired &&
           a->size_bytes == b->size_bytes && bytes_equal(a->data, b->data);
}

static inline bool same_attempt(const struct claim_attempt *a, const struct claim_attempt *b) {
    return a->number == b->number && bytes_equal(a->owner, b->owner) &&
           a->begun_at.ms == b->begun_at.ms && a->ended_at.ms == b->ended_at.ms &&
           a->end == b->end && bytes_equal(a->error, b->error);
}

// The first field in which two records differ; NULL if there is none.
static inline const char *record_difference(const struct claim_record *a,
                                            const struct claim_record *b) {
#define SAME(condition)                                                                            \
    if (!(condition)) return #condition
#define SAME_FIELD(field) SAME(a->field == b->field)
#define SAME_BYTES(field) SAME(bytes_equal(a->field, b->field))
#define SAME_BODY(field) SAME(same_body(&a->field, &b->field))
    SAME_FIELD(state);
    SAME_FIELD(reopen_count);
    SAME_FIELD(attempt_count);
    SAME(memcmp(a->retry_counts, b->retry_counts, sizeof a->retry_counts) == 0);
    SAME_FIELD(created_at.ms);
    SAME_FIELD(updated_at.ms);
    SAME(same_attempt(&a->attempt, &b->attempt));
    SAME_FIELD(earlier_count);
    for (uint32_t i = 0; i < a->earlier_count; i++) {
        SAME(same_attempt(&a->earlier[i], &b->earlier[i]));
    }
    SAME_FIELD(has_token);
    SAME_FIELD(token);
    SAME_BYTES(request_id);
    SAME_FIELD(attempt_has_fingerprint);
    SAME_FIELD(granted_at.ms);
    SAME_FIELD(lease_expires_at.ms);
    SAME_FIELD(lapse_leads_to);
    SAME_FIELD(lapse_retries_max);
    SAME_FIELD(lapse_dead_retention.present);
    SAME_FIELD(lapse_dead_retention.ms);
    SAME_FIELD(made_by_lapse);
    SAME_FIELD(memory);
    SAME(memcmp(a->memory_digest, b->memory_digest, sizeof a->memory_digest) == 0);
    SAME_FIELD(next_attempt_at.ms);
    SAME_FIELD(final_at.ms);
    SAME_FIELD(expires_at.present);
    SAME_FIELD(expires_at.at.ms);
    SAME_BYTES(fingerprint);
    SAME_BYTES(payload_ref);
    SAME_FIELD(event_time.present);
    SAME_FIELD(event_time.at.ms);
    SAME_FIELD(last_error.present);
    SAME_FIELD(last_error.kind);
    SAME_BYTES(last_error.message);
    SAME_FIELD(last_error.at.ms);
    SAME_BYTES(reason);
    SAME_BODY(result);
    SAME(memcmp(&a->result_digest, &b->result_digest, sizeof a->result_digest) == 0);
    SAME_BODY(checkpoint);
    SAME_BODY(payload);
#undef SAME
#undef SAME_FIELD
#undef SAME_BYTES
#undef SAME_BODY
    return NULL;
}
