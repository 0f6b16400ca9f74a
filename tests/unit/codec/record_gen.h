// Random records that keep every invariant, and their comparison. For tests of the record codec.
//
// What is not meaningful in a generated record is zero, as it is in a decoded one, so that records
// can be compared field by field.
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "codec/record_codec.h"

#define RECORD_GEN_POOL_BYTES (LIMIT_CHECKPOINT_BYTES_MAX + LIMIT_REASON_BYTES_MAX)

struct record_gen {
    struct rand rand;
    uint8_t pool[RECORD_GEN_POOL_BYTES]; // what all views of generated records borrow from
};

// Seeded from CLAIMD_TEST_SEED if that is set, from the kernel otherwise; prints the seed.
static inline void record_gen_init(struct record_gen *gen, const char *test) {
    const char *text = getenv("CLAIMD_TEST_SEED");
    struct rand kernel = rand_from_kernel();
    uint64_t seed = rand_u64(&kernel);
    if (text != NULL) ck_assert_int_eq(sscanf(text, "%" SCNu64, &seed), 1);
    printf("%s: CLAIMD_TEST_SEED=%" PRIu64 "\n", test, seed);
    fflush(stdout);
    gen->rand = rand_from_seed(seed);
    for (size_t i = 0; i < sizeof gen->pool; i++) gen->pool[i] = (uint8_t)rand_u64(&gen->rand);
}

static inline uint32_t gen_below(struct record_gen *gen, uint32_t bound) {
    return (uint32_t)(rand_u64(&gen->rand) % bound);
}

static inline bool gen_one_in(struct record_gen *gen, uint32_t n) { return gen_below(gen, n) == 0; }

static inline struct bytes gen_bytes(struct record_gen *gen, size_t len) {
    uint32_t room = (uint32_t)(sizeof gen->pool - len) + 1;
    return (struct bytes){len == 0 ? NULL : gen->pool + gen_below(gen, room), len};
}

// Absent, at the bound, or short.
static inline struct bytes gen_text(struct record_gen *gen, uint32_t max) {
    switch (gen_below(gen, 8)) {
    case 0:
        return gen_bytes(gen, max);
    case 1:
    case 2:
    case 3:
        return gen_bytes(gen, 0);
    default:
        return gen_bytes(gen, 1 + gen_below(gen, max < 24 ? max : 24));
    }
}

static inline int64_t gen_time(struct record_gen *gen) {
    switch (gen_below(gen, 8)) {
    case 0:
        return INT64_MAX;
    case 1:
        return INT64_MIN;
    case 2:
        return 0;
    case 3:
        return -1;
    default:
        return INT64_C(1764500000000) + gen_below(gen, 4);
    }
}

static inline uint32_t gen_count(struct record_gen *gen, uint32_t least) {
    switch (gen_below(gen, 6)) {
    case 0:
        return UINT32_MAX;
    case 1:
    case 2:
    case 3:
        return least;
    default:
        return least + gen_below(gen, 12);
    }
}

static inline struct claim_body gen_body(struct record_gen *gen, uint32_t max) {
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

static inline struct claim_attempt gen_attempt(struct record_gen *gen, uint32_t number) {
    return (struct claim_attempt){
        .number = number,
        .owner = gen_text(gen, LIMIT_OWNER_BYTES_MAX),
        .begun_at = {gen_time(gen)},
        .ended_at = {gen_time(gen)},
        .end = (enum claim_end)(CLAIM_END_LAPSED + gen_below(gen, CLAIM_END_REJECTED)),
        .error = gen_text(gen, LIMIT_ATTEMPT_ERROR_BYTES_MAX),
    };
}

static inline void gen_attempts(struct record_gen *gen, struct claim_record *out) {
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

static inline void gen_token(struct record_gen *gen, struct claim_record *out) {
    out->request_id = gen_text(gen, LIMIT_REQUEST_ID_BYTES_MAX);
    out->has_token = out->state == CLAIM_PROCESSING ||
                     (out->attempt_count > 0 && !gen_one_in(gen, 4));
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

static inline void gen_deadlines(struct record_gen *gen, struct claim_record *out) {
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

static inline void gen_rest(struct record_gen *gen, struct claim_record *out) {
    out->fingerprint = gen_text(gen, LIMIT_FINGERPRINT_BYTES_MAX);
    out->attempt_has_fingerprint = out->fingerprint.len > 0 && gen_one_in(gen, 2);
    out->payload_ref = gen_text(gen, LIMIT_PAYLOAD_REF_BYTES_MAX);
    if (gen_one_in(gen, 2)) out->event_time = (struct optional_wall_ms){true, {gen_time(gen)}};
    if (gen_one_in(gen, 2)) {
        out->last_error = (struct claim_error){
            .present = true, .kind = FAIL_LAPSED, .at = {gen_time(gen)}};
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
static inline void record_gen_next(struct record_gen *gen, struct claim_record *out) {
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

static inline bool gen_same_body(const struct claim_body *a, const struct claim_body *b) {
    return a->present == b->present && a->in_blob == b->in_blob && a->expired == b->expired &&
           a->size_bytes == b->size_bytes && bytes_equal(a->data, b->data);
}

static inline bool gen_same_attempt(const struct claim_attempt *a, const struct claim_attempt *b) {
    return a->number == b->number && bytes_equal(a->owner, b->owner) &&
           a->begun_at.ms == b->begun_at.ms && a->ended_at.ms == b->ended_at.ms &&
           a->end == b->end && bytes_equal(a->error, b->error);
}

// The first field in which two records differ; NULL if there is none.
static inline const char *record_gen_difference(const struct claim_record *a,
                                                const struct claim_record *b) {
#define SAME(condition)                                                                            \
    if (!(condition)) return #condition
#define SAME_FIELD(field) SAME(a->field == b->field)
#define SAME_BYTES(field) SAME(bytes_equal(a->field, b->field))
#define SAME_BODY(field) SAME(gen_same_body(&a->field, &b->field))
    SAME_FIELD(state);
    SAME_FIELD(reopen_count);
    SAME_FIELD(attempt_count);
    SAME(memcmp(a->retry_counts, b->retry_counts, sizeof a->retry_counts) == 0);
    SAME_FIELD(created_at.ms);
    SAME_FIELD(updated_at.ms);
    SAME(gen_same_attempt(&a->attempt, &b->attempt));
    SAME_FIELD(earlier_count);
    for (uint32_t i = 0; i < a->earlier_count; i++) {
        SAME(gen_same_attempt(&a->earlier[i], &b->earlier[i]));
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
