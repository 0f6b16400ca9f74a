// What the tests of replies share: a finished operation to start from, and reading replies back.
#pragma once

#include "rpc/rpc_encode.h"
#include "unit/rpc/rpc_testing.h"

// Store time 1,000,000 ms is wall time 1,700,000,000,000 ms.
#define TESTING_NOW_MS INT64_C(1000000)
#define TESTING_WALL_MS INT64_C(1700000000000)

static inline struct claim_body testing_body(const char *text) {
    struct bytes data = bytes_of(text);
    return (struct claim_body){.present = true, .size_bytes = (uint32_t)data.len, .data = data};
}

static inline struct claim_error testing_error(enum fail_kind kind, const char *message) {
    return (struct claim_error){.present = true,
                                .kind = kind,
                                .message = bytes_of(message),
                                .at = {TESTING_WALL_MS - 7500}};
}

// A claim in this state: two attempts, both by somebody; deadlines 2,500 ms ahead.
static inline struct engine_op testing_op(enum claim_state state) {
    struct engine_op op = {
        .identity = {.consumer = bytes_of("billing/capture"),
                     .message_id = bytes_of("pi_1:captured")},
        .err = ERR_OK,
        .now = {TESTING_NOW_MS},
        .wall_now = {TESTING_WALL_MS},
    };
    op.decision.exists = true;
    op.decision.record = (struct claim_record){
        .state = state,
        .attempt_count = 2,
        .attempt = {.number = 2, .owner = bytes_of("second"), .begun_at = {TESTING_WALL_MS - 2000}},
        .earlier = {{.number = 1,
                     .owner = bytes_of("first"),
                     .begun_at = {TESTING_WALL_MS - 9000},
                     .ended_at = {TESTING_WALL_MS - 8000},
                     .end = CLAIM_END_FAILED,
                     .error = bytes_of("boom")}},
        .earlier_count = 1,
        .has_token = true,
        .token = 987654321,
        .created_at = {TESTING_WALL_MS - 10000},
        .updated_at = {TESTING_WALL_MS - 1000},
        .lease_expires_at = {TESTING_NOW_MS + 2500},
        .next_attempt_at = {TESTING_NOW_MS + 2500},
    };
    return op;
}

// Packs a reply as the server does, and reads it back as a client does.
static inline void *testing_round_trip(const struct rpc_reply *reply) {
    const ProtobufCMessageDescriptor *descriptor = reply->message->descriptor;
    uint8_t *packed = testing_alloc(reply->len + 1);
    packed[reply->len] = 0xA5;
    rpc_encode_pack(reply, packed);
    ck_assert_uint_eq(packed[reply->len], 0xA5); // exactly so many bytes
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, reply->len, packed);
    ck_assert_ptr_nonnull(message);
    ck_assert_uint_eq(message->n_unknown_fields, 0);
    return message;
}

static inline void testing_free(void *message) { protobuf_c_message_free_unpacked(message, NULL); }

static inline void testing_assert_time(const Google__Protobuf__Timestamp *time, int64_t ms) {
    ck_assert_ptr_nonnull(time);
    ck_assert_int_ge(time->nanos, 0);
    ck_assert_int_eq(time->seconds * 1000 + time->nanos / 1000000, ms);
}

static inline void testing_assert_duration(const Google__Protobuf__Duration *duration, int64_t ms) {
    ck_assert_ptr_nonnull(duration);
    ck_assert_int_ge(duration->seconds, 0);
    ck_assert_int_ge(duration->nanos, 0);
    ck_assert_int_eq(duration->seconds * 1000 + duration->nanos / 1000000, ms);
}
