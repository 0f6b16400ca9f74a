// One function says which parts a record has (record_flags): the encoder writes those, and the
// decoder reads what the stored flags say and then asks the same function whether they are right.
// So every record has exactly one stored form.
#include "codec/record_v1.h"

#include <string.h>

#include "base/check.h"
#include "codec/crc32c.h"
#include "codec/record_codec.h"
#include "codec/record_fault.h"

// Where the parts of the head are.
#define HEAD_VERSION_AT 0
#define HEAD_STATE_AT (HEAD_VERSION_AT + 1)
#define HEAD_END_AT (HEAD_STATE_AT + 1)
#define HEAD_MEMORY_AT (HEAD_END_AT + 1)
#define HEAD_FLAGS_AT (HEAD_MEMORY_AT + 1)
#define HEAD_CRC_AT (HEAD_FLAGS_AT + 4)
#define HEAD_BYTES (HEAD_CRC_AT + 4)

// Flags: a part is there, or a fact holds. Bit 31 is reserved and zero.
#define FLAG_UPDATED_AT (UINT32_C(1) << 0)                   // it differs from created_at
#define FLAG_REOPEN_COUNT (UINT32_C(1) << 1)                 // it is not 0
#define FLAG_ATTEMPT_COUNT (UINT32_C(1) << 2)                // it is not 1
#define FLAG_RETRY_COUNT(kind) (UINT32_C(1) << (3 + (kind))) // it is not 0; bits 3 to 6
#define FLAG_BEGUN_AT (UINT32_C(1) << 7) // the attempt's; it differs from created_at
#define FLAG_ENDED_AT (UINT32_C(1) << 8) // the attempt's; it differs from updated_at
#define FLAG_OWNER (UINT32_C(1) << 9)
#define FLAG_ATTEMPT_ERROR (UINT32_C(1) << 10)
#define FLAG_EARLIER (UINT32_C(1) << 11)
#define FLAG_TOKEN (UINT32_C(1) << 12)
#define FLAG_LAPSE_HOLD (UINT32_C(1) << 13)    // a fact
#define FLAG_LAPSE_RETRIES (UINT32_C(1) << 14) // they are not LAPSE_RETRIES_USUAL
#define FLAG_LAPSE_RETENTION (UINT32_C(1) << 15)
#define FLAG_REQUEST_ID (UINT32_C(1) << 16)
#define FLAG_ATTEMPT_FINGERPRINT (UINT32_C(1) << 17) // a fact
#define FLAG_MADE_BY_LAPSE (UINT32_C(1) << 18)       // a fact
#define FLAG_EXPIRES_AT (UINT32_C(1) << 19)
#define FLAG_FINGERPRINT (UINT32_C(1) << 20)
#define FLAG_PAYLOAD_REF (UINT32_C(1) << 21)
#define FLAG_EVENT_TIME (UINT32_C(1) << 22)
#define FLAG_LAST_ERROR (UINT32_C(1) << 23)
#define FLAG_REASON (UINT32_C(1) << 24)
#define FLAG_RESULT_SHIFT 25     // two bits: enum body_form
#define FLAG_CHECKPOINT_SHIFT 27 // two bits
#define FLAG_PAYLOAD_SHIFT 29    // two bits

#define LAPSE_RETRIES_USUAL 10 // stored by being left out; never change

enum body_form {
    BODY_ABSENT = 0,
    BODY_INLINE = 1,
    BODY_IN_BLOB = 2,
    BODY_EXPIRED = 3,
};
#define BODY_FORM_MASK 3u

_Static_assert(HEAD_BYTES == 12, "stored");
_Static_assert(CLAIM_RECEIVED == 1 && CLAIM_PROCESSING == 2 && CLAIM_RETRYING == 3, "stored");
_Static_assert(CLAIM_UNKNOWN == 4 && CLAIM_SUCCEEDED == 5 && CLAIM_REJECTED == 6, "stored");
_Static_assert(CLAIM_DEAD_LETTERED == 7 && CLAIM_DISCARDED == 8 && CLAIM_STATES == 8, "stored");
_Static_assert(CLAIM_END_NONE == 0 && CLAIM_END_LAPSED == 1 && CLAIM_END_FAILED == 2, "stored");
_Static_assert(CLAIM_END_RELEASED == 3 && CLAIM_END_RECLAIMED == 4, "stored");
_Static_assert(CLAIM_END_EXPIRED == 5 && CLAIM_END_COMPLETED == 6, "stored");
_Static_assert(CLAIM_END_REJECTED == 7, "stored");
_Static_assert(FAIL_TRANSIENT == 1 && FAIL_UNCLASSIFIED == 2 && FAIL_POISON == 3, "stored");
_Static_assert(FAIL_OUTCOME_UNKNOWN == 4 && FAIL_LAPSED == 5, "stored");
_Static_assert(CLAIM_MEMORY_NONE == 0 && CLAIM_MEMORY_COMPLETE == 1, "stored");
_Static_assert(CLAIM_MEMORY_REJECT == 2 && CLAIM_MEMORY_FAIL == 3, "stored");
_Static_assert(CLAIM_MEMORY_RELEASE == 4 && CLAIM_MEMORY_CANCEL == 5, "stored");
_Static_assert(POLICY_RETRY == 0 && POLICY_HOLD == 1, "stored");
_Static_assert(RETRY_TRANSIENT == 0 && RETRY_UNCLASSIFIED == 1, "stored");
_Static_assert(RETRY_POISON == 2 && RETRY_LAPSED == 3 && RETRY_KINDS == 4, "stored");
_Static_assert(LIMIT_REASON_BYTES_MAX <= UINT16_MAX, "lengths of texts are stored in two bytes");
_Static_assert(LIMIT_ERROR_MESSAGE_BYTES_MAX <= UINT16_MAX, "the same");
_Static_assert(LIMIT_PAYLOAD_REF_BYTES_MAX <= UINT16_MAX, "the same");
_Static_assert(LIMIT_BODY_INLINE_BYTES_MAX <= UINT16_MAX, "the same for inline bodies");
_Static_assert(LIMIT_ATTEMPTS_KEPT - 1 <= UINT8_MAX, "earlier attempts are counted in one byte");

// --- which parts there are ----------------------------------------------------------------------

static uint32_t flag_if(bool condition, uint32_t flag) { return condition ? flag : 0; }

static uint32_t body_flags(const struct claim_body *body, unsigned shift) {
    if (!body->present) return 0;
    enum body_form form = body->expired                         ? BODY_EXPIRED
                          : record_codec_body_is_external(body) ? BODY_IN_BLOB
                                                                : BODY_INLINE;
    return (uint32_t)form << shift;
}

static uint32_t attempt_flags(const struct claim_record *record) {
    const struct claim_attempt *attempt = &record->attempt;
    if (record->attempt_count == 0) return 0;
    bool ended = attempt->end != CLAIM_END_NONE;
    return flag_if(attempt->begun_at.ms != record->created_at.ms, FLAG_BEGUN_AT) |
           flag_if(ended && attempt->ended_at.ms != record->updated_at.ms, FLAG_ENDED_AT) |
           flag_if(attempt->owner.len > 0, FLAG_OWNER) |
           flag_if(attempt->error.len > 0, FLAG_ATTEMPT_ERROR);
}

static uint32_t token_flags(const struct claim_record *record) {
    if (!record->has_token) return 0;
    return FLAG_TOKEN | flag_if(record->lapse_leads_to == POLICY_HOLD, FLAG_LAPSE_HOLD) |
           flag_if(record->lapse_retries_max != LAPSE_RETRIES_USUAL, FLAG_LAPSE_RETRIES) |
           flag_if(record->lapse_dead_retention.present, FLAG_LAPSE_RETENTION);
}

static uint32_t record_flags(const struct claim_record *record) {
    uint32_t flags = attempt_flags(record) | token_flags(record);
    for (unsigned kind = 0; kind < RETRY_KINDS; kind++) {
        flags |= flag_if(record->retry_counts[kind] != 0, FLAG_RETRY_COUNT(kind));
    }
    flags |= flag_if(record->updated_at.ms != record->created_at.ms, FLAG_UPDATED_AT);
    flags |= flag_if(record->reopen_count != 0, FLAG_REOPEN_COUNT);
    flags |= flag_if(record->attempt_count != 1, FLAG_ATTEMPT_COUNT);
    flags |= flag_if(record->earlier_count > 0, FLAG_EARLIER);
    flags |= flag_if(record->request_id.len > 0, FLAG_REQUEST_ID);
    flags |= flag_if(record->attempt_has_fingerprint, FLAG_ATTEMPT_FINGERPRINT);
    flags |= flag_if(record->made_by_lapse, FLAG_MADE_BY_LAPSE);
    flags |= flag_if(record->expires_at.present, FLAG_EXPIRES_AT);
    flags |= flag_if(record->fingerprint.len > 0, FLAG_FINGERPRINT);
    flags |= flag_if(record->payload_ref.len > 0, FLAG_PAYLOAD_REF);
    flags |= flag_if(record->event_time.present, FLAG_EVENT_TIME);
    flags |= flag_if(record->last_error.present, FLAG_LAST_ERROR);
    flags |= flag_if(record->reason.len > 0, FLAG_REASON);
    flags |= body_flags(&record->result, FLAG_RESULT_SHIFT);
    flags |= body_flags(&record->checkpoint, FLAG_CHECKPOINT_SHIFT);
    flags |= body_flags(&record->payload, FLAG_PAYLOAD_SHIFT);
    return flags;
}

static bool flag_has(uint32_t flags, uint32_t flag) { return (flags & flag) != 0; }

static enum body_form body_form_of(uint32_t flags, unsigned shift) {
    return (enum body_form)((flags >> shift) & BODY_FORM_MASK);
}

// --- writing ------------------------------------------------------------------------------------

static void put_text(struct buf *out, struct bytes text) {
    buf_put_u16(out, (uint16_t)text.len);
    buf_put(out, text.data, text.len);
}

static void put_head(const struct claim_record *record, uint32_t flags, struct buf *out) {
    bool has_attempt = record->attempt_count > 0;
    buf_put_u8(out, RECORD_V1);
    buf_put_u8(out, (uint8_t)record->state);
    buf_put_u8(out, (uint8_t)(has_attempt ? record->attempt.end : CLAIM_END_NONE));
    buf_put_u8(out, (uint8_t)record->memory);
    buf_put_u32(out, flags);
    buf_put_u32(out, 0); // the checksum, when all is written
}

static void put_counts(const struct claim_record *record, uint32_t flags, struct buf *out) {
    buf_put_i64(out, record->created_at.ms);
    if (flag_has(flags, FLAG_UPDATED_AT)) buf_put_i64(out, record->updated_at.ms);
    if (flag_has(flags, FLAG_REOPEN_COUNT)) buf_put_u32(out, record->reopen_count);
    if (flag_has(flags, FLAG_ATTEMPT_COUNT)) buf_put_u32(out, record->attempt_count);
    for (unsigned kind = 0; kind < RETRY_KINDS; kind++) {
        if (record->retry_counts[kind] != 0) buf_put_u32(out, record->retry_counts[kind]);
    }
}

static void put_attempts(const struct claim_record *record, uint32_t flags, struct buf *out) {
    const struct claim_attempt *attempt = &record->attempt;
    if (flag_has(flags, FLAG_BEGUN_AT)) buf_put_i64(out, attempt->begun_at.ms);
    if (flag_has(flags, FLAG_ENDED_AT)) buf_put_i64(out, attempt->ended_at.ms);
    if (flag_has(flags, FLAG_OWNER)) put_text(out, attempt->owner);
    if (flag_has(flags, FLAG_ATTEMPT_ERROR)) put_text(out, attempt->error);
    if (!flag_has(flags, FLAG_EARLIER)) return;
    buf_put_u8(out, (uint8_t)record->earlier_count);
    for (uint32_t i = 0; i < record->earlier_count; i++) {
        const struct claim_attempt *earlier = &record->earlier[i];
        buf_put_u32(out, earlier->number);
        buf_put_u8(out, (uint8_t)earlier->end);
        buf_put_i64(out, earlier->begun_at.ms);
        buf_put_i64(out, earlier->ended_at.ms);
        put_text(out, earlier->owner);
        put_text(out, earlier->error);
    }
}

static void put_token(const struct claim_record *record, uint32_t flags, struct buf *out) {
    if (flag_has(flags, FLAG_TOKEN)) buf_put_u64(out, record->token);
    if (flag_has(flags, FLAG_LAPSE_RETRIES)) buf_put_u32(out, (uint32_t)record->lapse_retries_max);
    if (flag_has(flags, FLAG_LAPSE_RETENTION)) buf_put_i64(out, record->lapse_dead_retention.ms);
    if (flag_has(flags, FLAG_REQUEST_ID)) put_text(out, record->request_id);
    if (record->memory != CLAIM_MEMORY_NONE) {
        buf_put(out, record->memory_digest, sizeof record->memory_digest);
    }
}

static void put_deadlines(const struct claim_record *record, uint32_t flags, struct buf *out) {
    if (record->state == CLAIM_PROCESSING) {
        buf_put_i64(out, record->granted_at.ms);
        buf_put_i64(out, record->lease_expires_at.ms);
    }
    if (record->state == CLAIM_RETRYING) buf_put_i64(out, record->next_attempt_at.ms);
    if (claim_state_is_final(record->state)) buf_put_i64(out, record->final_at.ms);
    if (flag_has(flags, FLAG_EXPIRES_AT)) buf_put_i64(out, record->expires_at.at.ms);
}

static void put_texts(const struct claim_record *record, uint32_t flags, struct buf *out) {
    if (flag_has(flags, FLAG_FINGERPRINT)) put_text(out, record->fingerprint);
    if (flag_has(flags, FLAG_PAYLOAD_REF)) put_text(out, record->payload_ref);
    if (flag_has(flags, FLAG_EVENT_TIME)) buf_put_i64(out, record->event_time.at.ms);
    if (flag_has(flags, FLAG_LAST_ERROR)) {
        buf_put_u8(out, (uint8_t)record->last_error.kind);
        buf_put_i64(out, record->last_error.at.ms);
        put_text(out, record->last_error.message);
    }
    if (flag_has(flags, FLAG_REASON)) put_text(out, record->reason);
}

static void put_body(const struct claim_body *body, uint32_t flags, unsigned shift,
                     struct buf *out) {
    enum body_form form = body_form_of(flags, shift);
    if (form == BODY_INLINE) {
        put_text(out, body->data);
    } else if (form != BODY_ABSENT) {
        buf_put_u32(out, body->size_bytes);
    }
}

// The checksum of a record: of all but itself.
static uint32_t record_checksum(struct bytes value) {
    uint32_t crc = crc32c(0, (struct bytes){value.data, HEAD_CRC_AT});
    return crc32c(crc, (struct bytes){value.data + HEAD_BYTES, value.len - HEAD_BYTES});
}

void record_v1_encode(const struct claim_record *record, struct buf *out) {
    size_t start = out->len;
    uint32_t flags = record_flags(record);
    put_head(record, flags, out);
    put_counts(record, flags, out);
    put_attempts(record, flags, out);
    put_token(record, flags, out);
    put_deadlines(record, flags, out);
    put_texts(record, flags, out);
    put_body(&record->result, flags, FLAG_RESULT_SHIFT, out);
    if (record->result.present) buf_put(out, record->result_digest.data, DIGEST_BYTES);
    put_body(&record->checkpoint, flags, FLAG_CHECKPOINT_SHIFT, out);
    put_body(&record->payload, flags, FLAG_PAYLOAD_SHIFT, out);
    if (out->failed) return;
    struct bytes value = {out->data + start, out->len - start};
    buf_set_u32(out, start + HEAD_CRC_AT, record_checksum(value));
}

// --- reading ------------------------------------------------------------------------------------

// A text; whether it is too long is for record_fault_of to say.
static struct bytes get_text(struct reader *in) { return reader_bytes(in, reader_u16(in)); }

static void get_counts(struct reader *in, uint32_t flags, struct claim_record *out) {
    out->created_at.ms = reader_i64(in);
    out->updated_at.ms = flag_has(flags, FLAG_UPDATED_AT) ? reader_i64(in) : out->created_at.ms;
    if (flag_has(flags, FLAG_REOPEN_COUNT)) out->reopen_count = reader_u32(in);
    out->attempt_count = flag_has(flags, FLAG_ATTEMPT_COUNT) ? reader_u32(in) : 1;
    for (unsigned kind = 0; kind < RETRY_KINDS; kind++) {
        if (flag_has(flags, FLAG_RETRY_COUNT(kind))) out->retry_counts[kind] = reader_u32(in);
    }
}

static void get_earlier(struct reader *in, struct claim_record *out) {
    uint32_t count = reader_u8(in);
    if (count > LIMIT_ATTEMPTS_KEPT - 1) {
        in->failed = true;
        return;
    }
    out->earlier_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct claim_attempt *earlier = &out->earlier[i];
        earlier->number = reader_u32(in);
        earlier->end = (enum claim_end)reader_u8(in);
        earlier->begun_at.ms = reader_i64(in);
        earlier->ended_at.ms = reader_i64(in);
        earlier->owner = get_text(in);
        earlier->error = get_text(in);
    }
}

static void get_attempts(struct reader *in, uint32_t flags, struct claim_record *out) {
    struct claim_attempt *attempt = &out->attempt;
    if (out->attempt_count == 0) {
        if (attempt->end != CLAIM_END_NONE) in->failed = true;
        return; // parts of an attempt that is none show in the flags
    }
    attempt->number = out->attempt_count;
    attempt->begun_at.ms = flag_has(flags, FLAG_BEGUN_AT) ? reader_i64(in) : out->created_at.ms;
    if (flag_has(flags, FLAG_ENDED_AT)) {
        attempt->ended_at.ms = reader_i64(in);
    } else if (attempt->end != CLAIM_END_NONE) {
        attempt->ended_at = out->updated_at;
    }
    if (flag_has(flags, FLAG_OWNER)) attempt->owner = get_text(in);
    if (flag_has(flags, FLAG_ATTEMPT_ERROR)) attempt->error = get_text(in);
    if (flag_has(flags, FLAG_EARLIER)) get_earlier(in, out);
}

static void get_token(struct reader *in, uint32_t flags, struct claim_record *out) {
    if (flag_has(flags, FLAG_TOKEN)) {
        out->has_token = true;
        out->token = reader_u64(in);
        out->lapse_leads_to = flag_has(flags, FLAG_LAPSE_HOLD) ? POLICY_HOLD : POLICY_RETRY;
        out->lapse_retries_max = LAPSE_RETRIES_USUAL;
    }
    if (flag_has(flags, FLAG_LAPSE_RETRIES)) out->lapse_retries_max = (int32_t)reader_u32(in);
    if (flag_has(flags, FLAG_LAPSE_RETENTION)) {
        out->lapse_dead_retention = (struct optional_ms){true, reader_i64(in)};
    }
    if (flag_has(flags, FLAG_REQUEST_ID)) out->request_id = get_text(in);
    if (out->memory != CLAIM_MEMORY_NONE) {
        struct bytes digest = reader_bytes(in, sizeof out->memory_digest);
        if (!in->failed) memcpy(out->memory_digest, digest.data, digest.len);
    }
}

static void get_deadlines(struct reader *in, uint32_t flags, struct claim_record *out) {
    if (out->state == CLAIM_PROCESSING) {
        out->granted_at.ms = reader_i64(in);
        out->lease_expires_at.ms = reader_i64(in);
    }
    if (out->state == CLAIM_RETRYING) out->next_attempt_at.ms = reader_i64(in);
    if (claim_state_is_final(out->state)) out->final_at.ms = reader_i64(in);
    if (flag_has(flags, FLAG_EXPIRES_AT)) {
        out->expires_at = (struct optional_store_ms){true, {reader_i64(in)}};
    }
}

static void get_texts(struct reader *in, uint32_t flags, struct claim_record *out) {
    if (flag_has(flags, FLAG_FINGERPRINT)) out->fingerprint = get_text(in);
    if (flag_has(flags, FLAG_PAYLOAD_REF)) out->payload_ref = get_text(in);
    if (flag_has(flags, FLAG_EVENT_TIME)) {
        out->event_time = (struct optional_wall_ms){true, {reader_i64(in)}};
    }
    if (flag_has(flags, FLAG_LAST_ERROR)) {
        out->last_error.present = true;
        out->last_error.kind = (enum fail_kind)reader_u8(in);
        out->last_error.at.ms = reader_i64(in);
        out->last_error.message = get_text(in);
    }
    if (flag_has(flags, FLAG_REASON)) out->reason = get_text(in);
}

static void get_body(struct reader *in, uint32_t flags, unsigned shift, struct claim_body *out) {
    enum body_form form = body_form_of(flags, shift);
    if (form == BODY_ABSENT) return;
    out->present = true;
    out->in_blob = form == BODY_IN_BLOB;
    out->expired = form == BODY_EXPIRED;
    if (form == BODY_INLINE) {
        out->data = get_text(in);
        out->size_bytes = (uint32_t)out->data.len;
    } else {
        out->size_bytes = reader_u32(in);
    }
}

static void get_result_digest(struct reader *in, struct claim_record *out) {
    if (!out->result.present) return;
    struct bytes digest = reader_bytes(in, DIGEST_BYTES);
    if (!in->failed) memcpy(out->result_digest.data, digest.data, DIGEST_BYTES);
}

enum err record_v1_decode(struct bytes value, struct claim_record *out) {
    struct reader in = reader_init(value);
    uint8_t version = reader_u8(&in);
    memset(out, 0, sizeof *out);
    out->state = (enum claim_state)reader_u8(&in);
    out->attempt.end = (enum claim_end)reader_u8(&in);
    out->memory = (enum claim_memory)reader_u8(&in);
    uint32_t flags = reader_u32(&in);
    uint32_t crc = reader_u32(&in);
    CHECK(version == RECORD_V1);
    if (in.failed || crc != record_checksum(value)) return ERR_CORRUPT;
    get_counts(&in, flags, out);
    get_attempts(&in, flags, out);
    get_token(&in, flags, out);
    get_deadlines(&in, flags, out);
    get_texts(&in, flags, out);
    // Facts that are flags and nothing else.
    out->attempt_has_fingerprint = flag_has(flags, FLAG_ATTEMPT_FINGERPRINT);
    out->made_by_lapse = flag_has(flags, FLAG_MADE_BY_LAPSE);
    get_body(&in, flags, FLAG_RESULT_SHIFT, &out->result);
    get_result_digest(&in, out);
    get_body(&in, flags, FLAG_CHECKPOINT_SHIFT, &out->checkpoint);
    get_body(&in, flags, FLAG_PAYLOAD_SHIFT, &out->payload);
    if (!reader_is_done(&in)) return ERR_CORRUPT;
    // The flags must be the ones that this record is written with, or it would have two forms.
    if (record_flags(out) != flags || record_fault_of(out) != NULL) return ERR_CORRUPT;
    return ERR_OK;
}
