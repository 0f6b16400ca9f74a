#include "rpc/rpc_decode.h"

#include <stdio.h>

#include "base/limits.h"
#include "claimd/v1/claims.pb-c.h"
#include "claimd/v1/operations.pb-c.h"
#include "rpc/rpc_wire.h"

// What is sent is numbered as what is decided, so that numbers may be taken over once checked.
_Static_assert((int)FAIL_TRANSIENT == CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT, "");
_Static_assert((int)FAIL_UNCLASSIFIED == CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_UNCLASSIFIED, "");
_Static_assert((int)FAIL_POISON == CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_POISON, "");
_Static_assert((int)FAIL_OUTCOME_UNKNOWN == CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_OUTCOME_UNKNOWN,
               "");
_Static_assert((int)FAIL_LAPSED == CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_LAPSED, "");
_Static_assert((int)CLAIM_AS_SUCCEEDED == CLAIMD__V1__RESOLUTION__RESOLUTION_SUCCEEDED, "");
_Static_assert((int)CLAIM_AS_REJECTED == CLAIMD__V1__RESOLUTION__RESOLUTION_REJECTED, "");
_Static_assert((int)CLAIM_AS_RETRY == CLAIMD__V1__RESOLUTION__RESOLUTION_RETRY, "");
_Static_assert((int)CLAIM_AS_DEAD_LETTER == CLAIMD__V1__RESOLUTION__RESOLUTION_DEAD_LETTER, "");

// --- texts and bodies ----------------------------------------------------------------------------

static struct bytes view_of(ProtobufCBinaryData data) {
    return (struct bytes){data.data, data.len};
}

static bool take_sized(ProtobufCBinaryData data, const char *field, size_t max, struct bytes *out,
                       struct rpc_fault *fault) {
    if (data.len > max) {
        char limit[sizeof fault->limit];
        (void)snprintf(limit, sizeof limit, "%zu bytes", max);
        rpc_fault_set(fault, field, limit, "%s has %zu bytes; the most is %zu", field, data.len,
                      max);
        return false;
    }
    *out = view_of(data);
    return true;
}

static bool take_text(ProtobufCBinaryData data, const char *field, size_t max, struct bytes *out,
                      struct rpc_fault *fault) {
    if (!take_sized(data, field, max, out, fault)) return false;
    if (!bytes_is_utf8(*out)) {
        rpc_fault_set(fault, field, "UTF-8", "%s is not valid UTF-8", field);
        return false;
    }
    return true;
}

static bool take_consumer(ProtobufCBinaryData data, struct bytes *out, struct rpc_fault *fault) {
    const char *broken = identity_consumer_fault(view_of(data));
    if (broken != NULL) {
        rpc_fault_set(fault, "consumer", "UTF-8, 1 to 128 bytes, no control characters",
                      "consumer %s", broken);
        return false;
    }
    *out = view_of(data);
    return true;
}

static bool take_identity(ProtobufCBinaryData consumer, ProtobufCBinaryData message_id,
                          struct engine_op *op, struct rpc_fault *fault) {
    if (!take_consumer(consumer, &op->identity.consumer, fault)) return false;
    const char *broken = identity_message_id_fault(view_of(message_id));
    if (broken != NULL) {
        rpc_fault_set(fault, "message_id", "UTF-8 without NUL, 1 to 1024 bytes", "message_id %s",
                      broken);
        return false;
    }
    op->identity.message_id = view_of(message_id);
    return true;
}

// A body whose presence is given by its oneof, so that empty differs from absent.
static bool take_body(bool present, ProtobufCBinaryData data, const char *field, size_t max,
                      struct claim_body *out, struct rpc_fault *fault) {
    struct bytes view = {0};
    if (!present) return true;
    if (!take_sized(data, field, max, &view, fault)) return false;
    *out = (struct claim_body){.present = true, .size_bytes = (uint32_t)view.len, .data = view};
    return true;
}

static bool take_token(uint64_t token, uint64_t *out, struct rpc_fault *fault) {
    if (token == 0 || token > LIMIT_TOKEN_MAX) {
        rpc_fault_set(fault, "token", "1 to 9223372036854775807",
                      token == 0 ? "token is required: the one that the CLAIMED Begin answered"
                                 : "token is beyond any that claimd issues");
        return false;
    }
    *out = token;
    return true;
}

// --- times ---------------------------------------------------------------------------------------

#define NANOS_PER_MS 1000000
#define NANOS_MAX 999999999
#define DURATION_SECONDS_MAX INT64_C(315576000000)
#define TIMESTAMP_SECONDS_MIN INT64_C(-62135596800) // 0001-01-01T00:00:00Z
#define TIMESTAMP_SECONDS_MAX INT64_C(253402300799) // 9999-12-31T23:59:59Z

// The bounds of a duration, inclusive, and how they are told.
struct duration_range {
    int64_t min_ms;
    int64_t max_ms;
    const char *text;
};

static const struct duration_range range_lease = {LIMIT_LEASE_MS_MIN, LIMIT_LEASE_MS_MAX,
                                                  "100 ms to 24 h"};
static const struct duration_range range_wait = {0, LIMIT_WAIT_MS_MAX, "0 to 60 s"};
static const struct duration_range range_retry_after = {0, LIMIT_RETRY_AFTER_MS_MAX, "0 to 24 h"};

_Static_assert(LIMIT_LEASE_MS_MIN == 100 && LIMIT_LEASE_MS_MAX == 86400000, "as told");
_Static_assert(LIMIT_WAIT_MS_MAX == 60000 && LIMIT_RETRY_AFTER_MS_MAX == 86400000, "as told");

// Absent is not given. The bounds are held by the exact value; what is taken over is rounded up to
// whole milliseconds, never down, so that nobody holds a lease for less than was asked.
static bool take_duration(const Google__Protobuf__Duration *given, const char *field,
                          const struct duration_range *range, struct optional_ms *out,
                          struct rpc_fault *fault) {
    if (given == NULL) return true;
    int64_t seconds = given->seconds;
    int32_t nanos = given->nanos;
    bool valid = seconds >= -DURATION_SECONDS_MAX && seconds <= DURATION_SECONDS_MAX &&
                 nanos >= -NANOS_MAX && nanos <= NANOS_MAX && !(seconds > 0 && nanos < 0) &&
                 !(seconds < 0 && nanos > 0);
    if (!valid) {
        rpc_fault_set(fault, field, range->text,
                      "%s is not a valid duration: seconds and nanos must have one sign and be in "
                      "the range of google.protobuf.Duration",
                      field);
        return false;
    }
    // Within that range nothing overflows. Integer division rounds towards zero.
    int64_t whole_ms = seconds * 1000 + nanos / NANOS_PER_MS;
    int64_t floor_ms = whole_ms - (nanos % NANOS_PER_MS < 0);
    int64_t ceiling_ms = whole_ms + (nanos % NANOS_PER_MS > 0);
    if (floor_ms < range->min_ms || ceiling_ms > range->max_ms) {
        rpc_fault_set(fault, field, range->text, "%s is out of bounds: %s", field, range->text);
        return false;
    }
    *out = (struct optional_ms){true, ceiling_ms};
    return true;
}

// Rounded up to whole milliseconds, in which records are kept: so "before" a time means the same.
static bool take_timestamp(const Google__Protobuf__Timestamp *given, const char *field,
                           struct optional_wall_ms *out, struct rpc_fault *fault) {
    if (given == NULL) return true;
    if (given->seconds < TIMESTAMP_SECONDS_MIN || given->seconds > TIMESTAMP_SECONDS_MAX ||
        given->nanos < 0 || given->nanos > NANOS_MAX) {
        rpc_fault_set(fault, field, "years 1 to 9999",
                      "%s is not a valid timestamp: it must be in the years 1 to 9999, with nanos "
                      "from 0 to 999,999,999",
                      field);
        return false;
    }
    int64_t ms = given->seconds * 1000 + (given->nanos + NANOS_PER_MS - 1) / NANOS_PER_MS;
    *out = (struct optional_wall_ms){true, {ms}};
    return true;
}

// --- requests ------------------------------------------------------------------------------------

// How the request of a verb is read.
struct op_decoder {
    enum claim_verb verb;
    const ProtobufCMessageDescriptor *descriptor;
    // False with *fault if an argument is refused. message is of the descriptor's type.
    bool (*take)(const ProtobufCMessage *message, struct engine_op *op, struct rpc_fault *fault);
};

static enum err op_decode(const struct op_decoder *decoder, struct bytes wire, struct arena *arena,
                          struct engine_op *op, struct rpc_fault *fault) {
    ProtobufCMessage *message = NULL;
    enum err err = rpc_wire_unpack(decoder->descriptor, wire, arena, &message, fault);
    if (err != ERR_OK) return err;
    op->command = (struct claim_command){.verb = decoder->verb};
    op->wait = (struct optional_ms){0};
    op->replay = false;
    op->include_bodies = false;
    return decoder->take(message, op, fault) ? ERR_OK : ERR_INVALID_ARGUMENT;
}

static bool take_request_id(ProtobufCBinaryData data, struct engine_op *op,
                            struct rpc_fault *fault) {
    struct bytes *request_id = &op->command.request_id;
    if (!take_text(data, "request_id", LIMIT_REQUEST_ID_BYTES_MAX, request_id, fault)) return false;
    // It would let two consumers, each sure of its own, share one claim.
    if (bytes_equal(*request_id, op->identity.message_id)) {
        rpc_fault_set(fault, "request_id", NULL,
                      "request_id equals message_id: it must be random for each call, and the same "
                      "only when that call is repeated");
        return false;
    }
    return true;
}

static bool take_begin(const ProtobufCMessage *message, struct engine_op *op,
                       struct rpc_fault *fault) {
    const Claimd__V1__BeginRequest *begin = (const Claimd__V1__BeginRequest *)message;
    struct claim_command *cmd = &op->command;
    bool valid = take_identity(begin->consumer, begin->message_id, op, fault) &&
                 take_duration(begin->lease, "lease", &range_lease, &cmd->lease, fault) &&
                 take_text(begin->owner, "owner", LIMIT_OWNER_BYTES_MAX, &cmd->owner, fault) &&
                 take_request_id(begin->request_id, op, fault) &&
                 take_sized(begin->fingerprint, "fingerprint", LIMIT_FINGERPRINT_BYTES_MAX,
                            &cmd->fingerprint, fault) &&
                 take_timestamp(begin->event_time, "event_time", &cmd->event_time, fault) &&
                 take_text(begin->payload_ref, "payload_ref", LIMIT_PAYLOAD_REF_BYTES_MAX,
                           &cmd->payload_ref, fault) &&
                 take_duration(begin->wait, "wait", &range_wait, &op->wait, fault);
    if (!valid) return false;
    if (begin->reclaim && cmd->owner.len == 0) {
        rpc_fault_set(fault, "owner", "1 to 256 bytes",
                      "reclaim needs the owner whose claim is to be taken over");
        return false;
    }
    if (op->wait.ms == 0) op->wait.present = false; // not to wait at all
    op->replay = begin->replay != 0;
    cmd->reclaim = begin->reclaim != 0;
    return true;
}

static bool take_complete(const ProtobufCMessage *message, struct engine_op *op,
                          struct rpc_fault *fault) {
    const Claimd__V1__CompleteRequest *complete = (const Claimd__V1__CompleteRequest *)message;
    bool has_result =
        complete->optional_result_case == CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT_RESULT;
    return take_identity(complete->consumer, complete->message_id, op, fault) &&
           take_token(complete->token, &op->command.token, fault) &&
           take_body(has_result, complete->result, "result", LIMIT_RESULT_BYTES_MAX,
                     &op->command.result, fault);
}

static bool take_reject(const ProtobufCMessage *message, struct engine_op *op,
                        struct rpc_fault *fault) {
    const Claimd__V1__RejectRequest *reject = (const Claimd__V1__RejectRequest *)message;
    bool has_result =
        reject->optional_result_case == CLAIMD__V1__REJECT_REQUEST__OPTIONAL_RESULT_RESULT;
    return take_identity(reject->consumer, reject->message_id, op, fault) &&
           take_token(reject->token, &op->command.token, fault) &&
           take_text(reject->reason, "reason", LIMIT_REASON_BYTES_MAX, &op->command.reason,
                     fault) &&
           take_body(has_result, reject->result, "result", LIMIT_RESULT_BYTES_MAX,
                     &op->command.result, fault);
}

// The number of an enum that a client must give, from 1 to max.
static bool take_enum(int number, int max, const char *field, const char *allowed,
                      struct rpc_fault *fault) {
    if (number >= 1 && number <= max) return true;
    if (number == 0) {
        rpc_fault_set(fault, field, allowed, "%s is required: %s", field, allowed);
    } else {
        rpc_fault_set(fault, field, allowed, "%s must be one of %s; %d is none", field, allowed,
                      number);
    }
    return false;
}

static bool take_fail(const ProtobufCMessage *message, struct engine_op *op,
                      struct rpc_fault *fault) {
    const Claimd__V1__FailRequest *fail = (const Claimd__V1__FailRequest *)message;
    struct claim_command *cmd = &op->command;
    bool has_payload =
        fail->optional_payload_case == CLAIMD__V1__FAIL_REQUEST__OPTIONAL_PAYLOAD_PAYLOAD;
    // LAPSED comes after the last kind that a client may give. A message may be of any length: it
    // is cut when it is stored.
    bool valid =
        take_identity(fail->consumer, fail->message_id, op, fault) &&
        take_token(fail->token, &cmd->token, fault) &&
        take_enum((int)fail->kind, FAIL_OUTCOME_UNKNOWN, "kind",
                  "TRANSIENT, UNCLASSIFIED, POISON, OUTCOME_UNKNOWN", fault) &&
        take_text(fail->message, "message", LIMIT_REQUEST_BYTES_MAX, &cmd->message, fault) &&
        take_body(has_payload, fail->payload, "payload", LIMIT_PAYLOAD_BYTES_MAX, &cmd->payload,
                  fault) &&
        take_duration(fail->retry_after, "retry_after", &range_retry_after, &cmd->retry_after,
                      fault);
    if (!valid) return false;
    cmd->fail_kind = (enum fail_kind)fail->kind;
    return true;
}

static bool take_renew(const ProtobufCMessage *message, struct engine_op *op,
                       struct rpc_fault *fault) {
    const Claimd__V1__RenewRequest *renew = (const Claimd__V1__RenewRequest *)message;
    bool has_checkpoint = renew->optional_checkpoint_case ==
                          CLAIMD__V1__RENEW_REQUEST__OPTIONAL_CHECKPOINT_CHECKPOINT;
    return take_identity(renew->consumer, renew->message_id, op, fault) &&
           take_token(renew->token, &op->command.token, fault) &&
           take_duration(renew->lease, "lease", &range_lease, &op->command.lease, fault) &&
           take_body(has_checkpoint, renew->checkpoint, "checkpoint", LIMIT_CHECKPOINT_BYTES_MAX,
                     &op->command.checkpoint, fault);
}

static bool take_release(const ProtobufCMessage *message, struct engine_op *op,
                         struct rpc_fault *fault) {
    const Claimd__V1__ReleaseRequest *release = (const Claimd__V1__ReleaseRequest *)message;
    return take_identity(release->consumer, release->message_id, op, fault) &&
           take_token(release->token, &op->command.token, fault);
}

static bool take_register(const ProtobufCMessage *message, struct engine_op *op,
                          struct rpc_fault *fault) {
    const Claimd__V1__RegisterRequest *reg = (const Claimd__V1__RegisterRequest *)message;
    return take_identity(reg->consumer, reg->message_id, op, fault) &&
           take_timestamp(reg->event_time, "event_time", &op->command.event_time, fault) &&
           take_text(reg->payload_ref, "payload_ref", LIMIT_PAYLOAD_REF_BYTES_MAX,
                     &op->command.payload_ref, fault);
}

static bool take_cancel(const ProtobufCMessage *message, struct engine_op *op,
                        struct rpc_fault *fault) {
    const Claimd__V1__CancelRequest *cancel = (const Claimd__V1__CancelRequest *)message;
    return take_identity(cancel->consumer, cancel->message_id, op, fault) &&
           take_text(cancel->reason, "reason", LIMIT_REASON_BYTES_MAX, &op->command.reason, fault);
}

static bool take_resolve(const ProtobufCMessage *message, struct engine_op *op,
                         struct rpc_fault *fault) {
    const Claimd__V1__ResolveRequest *resolve = (const Claimd__V1__ResolveRequest *)message;
    struct claim_command *cmd = &op->command;
    bool has_result =
        resolve->optional_result_case == CLAIMD__V1__RESOLVE_REQUEST__OPTIONAL_RESULT_RESULT;
    bool valid = take_identity(resolve->consumer, resolve->message_id, op, fault) &&
                 take_enum((int)resolve->resolution, CLAIM_AS_DEAD_LETTER, "resolution",
                           "SUCCEEDED, REJECTED, RETRY, DEAD_LETTER", fault) &&
                 take_body(has_result, resolve->result, "result", LIMIT_RESULT_BYTES_MAX,
                           &cmd->result, fault) &&
                 take_text(resolve->reason, "reason", LIMIT_REASON_BYTES_MAX, &cmd->reason, fault);
    if (!valid) return false;
    cmd->resolution = (enum claim_resolution)resolve->resolution;
    bool is_final = cmd->resolution == CLAIM_AS_SUCCEEDED || cmd->resolution == CLAIM_AS_REJECTED;
    if (has_result && !is_final) {
        rpc_fault_set(fault, "result", "SUCCEEDED, REJECTED",
                      "result goes only with the resolutions SUCCEEDED and REJECTED");
        return false;
    }
    return true;
}

static bool take_get_claim(const ProtobufCMessage *message, struct engine_op *op,
                           struct rpc_fault *fault) {
    const Claimd__V1__GetClaimRequest *get = (const Claimd__V1__GetClaimRequest *)message;
    op->include_bodies = get->include_bodies != 0;
    return take_identity(get->consumer, get->message_id, op, fault);
}

// --- entry points --------------------------------------------------------------------------------

// All alike but for the three things that a decoder says.
#define DECODE(name, verb_of)                                                                      \
    enum err rpc_decode_##name(struct bytes wire, struct arena *arena, struct engine_op *op,       \
                               struct rpc_fault *out_fault) {                                      \
        static const struct op_decoder decoder = {                                                 \
            .verb = verb_of,                                                                       \
            .descriptor = &claimd__v1__##name##_request__descriptor,                               \
            .take = take_##name,                                                                   \
        };                                                                                         \
        return op_decode(&decoder, wire, arena, op, out_fault);                                    \
    }

DECODE(begin, CLAIM_BEGIN)
DECODE(complete, CLAIM_COMPLETE)
DECODE(reject, CLAIM_REJECT)
DECODE(fail, CLAIM_FAIL)
DECODE(renew, CLAIM_RENEW)
DECODE(release, CLAIM_RELEASE)
DECODE(register, CLAIM_REGISTER)
DECODE(cancel, CLAIM_CANCEL)
DECODE(resolve, CLAIM_RESOLVE)
DECODE(get_claim, CLAIM_GET)

enum err rpc_decode_prune(struct bytes wire, struct arena *arena, struct prune_request *request,
                          struct rpc_fault *out_fault) {
    ProtobufCMessage *message = NULL;
    enum err err =
        rpc_wire_unpack(&claimd__v1__prune_request__descriptor, wire, arena, &message, out_fault);
    if (err != ERR_OK) return err;
    const Claimd__V1__PruneRequest *prune = (const Claimd__V1__PruneRequest *)message;
    struct optional_wall_ms before = {0};
    struct bytes consumer = {0};
    bool valid =
        (prune->consumer.len == 0 || take_consumer(prune->consumer, &consumer, out_fault)) &&
        take_timestamp(prune->before, "before", &before, out_fault);
    if (!valid) return ERR_INVALID_ARGUMENT;
    if (!before.present) {
        rpc_fault_set(out_fault, "before", "years 1 to 9999",
                      "before is required: what was last updated earlier is removed");
        return ERR_INVALID_ARGUMENT;
    }
    request->consumer = consumer;
    request->before = before.at;
    request->dry_run = prune->dry_run != 0;
    request->force = prune->force != 0;
    return ERR_OK;
}

enum err rpc_decode_get_status(struct bytes wire, struct arena *arena,
                               struct rpc_fault *out_fault) {
    ProtobufCMessage *message = NULL;
    return rpc_wire_unpack(&claimd__v1__get_status_request__descriptor, wire, arena, &message,
                           out_fault);
}
