#include "rpc/rpc_reply.h"

#include "base/check.h"

// What is decided is numbered as what is sent.
#define SAME_NUMBER(ours, sent) _Static_assert((int)(ours) == (int)(sent), "sent as it is numbered")
#define SAME_STATE(name) SAME_NUMBER(CLAIM_##name, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_##name)
#define SAME_END(name) SAME_NUMBER(CLAIM_END_##name, CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_##name)
#define SAME_OUTCOME(ours, name) SAME_NUMBER(ours, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_##name)
SAME_STATE(RECEIVED);
SAME_STATE(PROCESSING);
SAME_STATE(RETRYING);
SAME_STATE(UNKNOWN);
SAME_STATE(SUCCEEDED);
SAME_STATE(REJECTED);
SAME_STATE(DEAD_LETTERED);
SAME_STATE(DISCARDED);
SAME_NUMBER(CLAIM_END_NONE, CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_UNSPECIFIED);
SAME_END(LAPSED);
SAME_END(FAILED);
SAME_END(RELEASED);
SAME_END(RECLAIMED);
SAME_END(EXPIRED);
SAME_END(COMPLETED);
SAME_END(REJECTED);
SAME_OUTCOME(CLAIM_CLAIMED, CLAIMED);
SAME_OUTCOME(CLAIM_DUPLICATE, DUPLICATE);
SAME_OUTCOME(CLAIM_IN_FLIGHT, IN_FLIGHT);
SAME_OUTCOME(CLAIM_NOT_YET, NOT_YET);
SAME_OUTCOME(CLAIM_OUTCOME_UNKNOWN, OUTCOME_UNKNOWN);
SAME_OUTCOME(CLAIM_DEAD_LETTER, DEAD_LETTERED);
SAME_OUTCOME(CLAIM_OUT_OF_ORDER, OUT_OF_ORDER);

// --- memory --------------------------------------------------------------------------------------

void rpc_reply_start(struct rpc_reply *reply) { reply->scratch_used = 0; }

// The largest reply is a Claim with all its attempts; that it fits is tested with one.
void *rpc_reply_alloc(struct rpc_reply *reply, size_t len) {
    size_t aligned = (len + 15) & ~(size_t)15;
    CHECK(aligned <= sizeof reply->scratch - reply->scratch_used);
    void *memory = reply->scratch + reply->scratch_used;
    reply->scratch_used += aligned;
    return memory;
}

void *rpc_reply_message(struct rpc_reply *reply, const ProtobufCMessageDescriptor *descriptor) {
    void *message = rpc_reply_alloc(reply, descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, message);
    return message;
}

void rpc_reply_finish(struct rpc_reply *reply, const ProtobufCMessage *message) {
    reply->message = message;
    reply->len = protobuf_c_message_get_packed_size(message);
}

void rpc_encode_pack(const struct rpc_reply *reply, uint8_t *out) {
    CHECK(protobuf_c_message_pack(reply->message, out) == reply->len);
}

// --- parts ---------------------------------------------------------------------------------------

#define MS_PER_SECOND 1000
#define NANOS_PER_MS 1000000
// The ranges of the well-known types; beyond them JSON has no form.
#define DURATION_MS_MAX (INT64_C(315576000000) * MS_PER_SECOND)
#define TIMESTAMP_MS_MIN (INT64_C(-62135596800) * MS_PER_SECOND)
#define TIMESTAMP_MS_MAX (INT64_C(253402300799) * MS_PER_SECOND + 999)

// Packing only reads; protobuf-c declares the bytes writable.
ProtobufCBinaryData rpc_reply_bytes(struct bytes bytes) {
    return (ProtobufCBinaryData){.len = bytes.len, .data = (uint8_t *)(uintptr_t)bytes.data};
}

static int64_t clamp(int64_t value, int64_t min, int64_t max) {
    return value < min ? min : value > max ? max : value;
}

Google__Protobuf__Timestamp *rpc_reply_time(struct rpc_reply *reply, struct wall_ms at) {
    Google__Protobuf__Timestamp *time =
        rpc_reply_message(reply, &google__protobuf__timestamp__descriptor);
    int64_t ms = clamp(at.ms, TIMESTAMP_MS_MIN, TIMESTAMP_MS_MAX);
    int64_t rest_ms = ms % MS_PER_SECOND;
    if (rest_ms < 0) rest_ms += MS_PER_SECOND; // nanos count forward, also before 1970
    time->seconds = (ms - rest_ms) / MS_PER_SECOND;
    time->nanos = (int32_t)rest_ms * NANOS_PER_MS;
    return time;
}

Google__Protobuf__Timestamp *rpc_reply_deadline(struct rpc_reply *reply, const struct engine_op *op,
                                                struct store_ms at) {
    return rpc_reply_time(reply, claim_wall_of(at, op->now, op->wall_now));
}

Google__Protobuf__Duration *rpc_reply_duration(struct rpc_reply *reply, int64_t ms,
                                               int64_t min_ms) {
    Google__Protobuf__Duration *duration =
        rpc_reply_message(reply, &google__protobuf__duration__descriptor);
    ms = clamp(ms, min_ms, DURATION_MS_MAX);
    duration->seconds = ms / MS_PER_SECOND;
    duration->nanos = (int32_t)(ms % MS_PER_SECOND) * NANOS_PER_MS;
    return duration;
}

Google__Protobuf__Duration *rpc_reply_remaining(struct rpc_reply *reply, const struct engine_op *op,
                                                struct store_ms at, int64_t min_ms) {
    // Never more than is left: what is told as a duration counts from the next millisecond.
    int64_t left_ms = time_sub_ms(time_sub_ms(at.ms, op->now.ms), op->now_rest_ms);
    return rpc_reply_duration(reply, left_ms, min_ms);
}

Claimd__V1__Lease *rpc_reply_lease(struct rpc_reply *reply, const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    if (rec->state != CLAIM_PROCESSING) return NULL;
    Claimd__V1__Lease *lease = rpc_reply_message(reply, &claimd__v1__lease__descriptor);
    lease->expire_time = rpc_reply_deadline(reply, op, rec->lease_expires_at);
    lease->remaining = rpc_reply_remaining(reply, op, rec->lease_expires_at, 0);
    return lease;
}

Claimd__V1__ClaimError *rpc_reply_error(struct rpc_reply *reply, const struct claim_error *from) {
    if (!from->present) return NULL;
    Claimd__V1__ClaimError *error = rpc_reply_message(reply, &claimd__v1__claim_error__descriptor);
    error->kind = (Claimd__V1__FailureKind)from->kind;
    // The record of a lapse has no text of its own: there was nobody left to write one.
    struct bytes text = from->kind == FAIL_LAPSED ? bytes_of("lease expired") : from->message;
    error->message = rpc_reply_bytes(text);
    error->occur_time = rpc_reply_time(reply, from->at);
    return error;
}

ProtobufCBinaryData rpc_reply_effect_key(struct rpc_reply *reply, const struct engine_op *op) {
    char *key = rpc_reply_alloc(reply, IDENTITY_EFFECT_KEY_CHARS + 1);
    identity_effect_key(&op->identity, op->decision.record.reopen_count, key);
    return rpc_reply_bytes((struct bytes){(const uint8_t *)key, IDENTITY_EFFECT_KEY_CHARS});
}

Google__Protobuf__Timestamp *rpc_reply_complete_time(struct rpc_reply *reply,
                                                     const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    return claim_state_is_final(rec->state) ? rpc_reply_time(reply, rec->updated_at) : NULL;
}

Google__Protobuf__Timestamp *rpc_reply_expire_time(struct rpc_reply *reply,
                                                   const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    return rec->expires_at.present ? rpc_reply_deadline(reply, op, rec->expires_at.at) : NULL;
}

bool rpc_reply_has_body(const struct claim_body *body) {
    if (!body->present || body->expired) return false;
    CHECK(!body->in_blob);
    return true;
}

Claimd__V1__ClaimState rpc_reply_state(const struct engine_op *op) {
    CHECK(op->err == ERR_OK);
    CHECK(op->decision.exists);
    return (Claimd__V1__ClaimState)op->decision.record.state;
}
