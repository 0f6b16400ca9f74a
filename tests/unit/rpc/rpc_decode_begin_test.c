// Begin: every argument at its bound and one past it, and what is taken over.
#include "unit/rpc/rpc_testing.h"

START_TEST(least_request_has_everything_absent) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op;
    memset(&op, 0xAA, sizeof op); // nothing is left from a call before
    op.identity.tenant = bytes_of("acme");
    testing_accept(rpc_decode_begin, &begin, &op);
    testing_assert_bytes(op.identity.tenant, "acme"); // the caller's, not touched
    testing_assert_bytes(op.identity.consumer, "billing/capture");
    testing_assert_bytes(op.identity.message_id, "pi_1:captured");
    ck_assert_int_eq(op.command.verb, CLAIM_BEGIN);
    ck_assert(!op.command.lease.present);
    ck_assert(!op.command.event_time.present);
    ck_assert(!op.wait.present);
    ck_assert(!op.replay && !op.include_bodies && !op.command.reclaim);
    ck_assert_uint_eq(op.command.owner.len, 0);
    ck_assert_uint_eq(op.command.request_id.len, 0);
    ck_assert_uint_eq(op.command.fingerprint.len, 0);
    ck_assert_uint_eq(op.command.payload_ref.len, 0);
}
END_TEST

START_TEST(full_request_is_taken_over) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    Google__Protobuf__Duration lease = testing_duration(30, 1);
    Google__Protobuf__Duration wait = testing_duration(5, 0);
    Google__Protobuf__Timestamp event = testing_timestamp(1700000000, 5000000);
    begin.lease = &lease;
    begin.wait = &wait;
    begin.event_time = &event;
    begin.owner = testing_text("worker-7");
    begin.request_id = testing_text("r1");
    begin.fingerprint = testing_text("\xff\x01");
    begin.payload_ref = testing_text("topic/3/99");
    begin.replay = 1;
    begin.reclaim = 1;
    struct engine_op op = {0};
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert(op.command.lease.present);
    ck_assert_int_eq(op.command.lease.ms, 30001);
    ck_assert(op.wait.present);
    ck_assert_int_eq(op.wait.ms, 5000);
    ck_assert(op.command.event_time.present);
    ck_assert_int_eq(op.command.event_time.at.ms, INT64_C(1700000000005));
    testing_assert_bytes(op.command.owner, "worker-7");
    testing_assert_bytes(op.command.request_id, "r1");
    testing_assert_bytes(op.command.fingerprint, "\xff\x01");
    testing_assert_bytes(op.command.payload_ref, "topic/3/99");
    ck_assert(op.replay && op.command.reclaim);
}
END_TEST

START_TEST(views_do_not_point_into_the_wire_bytes) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    begin.owner = testing_text("worker-7");
    struct bytes packed = testing_pack(&begin);
    uint8_t wire[128];
    ck_assert_uint_le(packed.len, sizeof wire);
    memcpy(wire, packed.data, packed.len);
    struct engine_op op = {0};
    struct rpc_fault fault;
    struct arena arena = {0};
    ck_assert_int_eq(rpc_decode_begin((struct bytes){wire, packed.len}, &arena, &op, &fault),
                     ERR_OK);
    memset(wire, 0, sizeof wire);
    testing_assert_bytes(op.identity.consumer, "billing/capture");
    testing_assert_bytes(op.identity.message_id, "pi_1:captured");
    testing_assert_bytes(op.command.owner, "worker-7");
    arena_deinit(&arena);
}
END_TEST

START_TEST(consumer_is_bounded) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.consumer = testing_fill(1);
    testing_accept(rpc_decode_begin, &begin, &op);
    begin.consumer = testing_fill(LIMIT_CONSUMER_BYTES_MAX);
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.identity.consumer.len, LIMIT_CONSUMER_BYTES_MAX);
    begin.consumer = testing_fill(0);
    testing_refuse(rpc_decode_begin, &begin, "consumer", "1 to 128 bytes");
    begin.consumer = testing_fill(LIMIT_CONSUMER_BYTES_MAX + 1);
    testing_refuse(rpc_decode_begin, &begin, "consumer", "1 to 128 bytes");
    begin.consumer = testing_text("a\nb");
    testing_refuse(rpc_decode_begin, &begin, "consumer", "no control");
    begin.consumer = testing_text("a\xc0\x80");
    testing_refuse(rpc_decode_begin, &begin, "consumer", "UTF-8");
    begin.consumer = (ProtobufCBinaryData){.len = 3, .data = (uint8_t[]){'a', 0, 'b'}};
    testing_refuse(rpc_decode_begin, &begin, "consumer", "no control");
}
END_TEST

START_TEST(message_id_is_bounded) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.message_id = testing_fill(1);
    testing_accept(rpc_decode_begin, &begin, &op);
    begin.message_id = testing_fill(LIMIT_MESSAGE_ID_BYTES_MAX);
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.identity.message_id.len, LIMIT_MESSAGE_ID_BYTES_MAX);
    begin.message_id = testing_fill(0);
    testing_refuse(rpc_decode_begin, &begin, "message_id", "1 to 1024 bytes");
    begin.message_id = testing_fill(LIMIT_MESSAGE_ID_BYTES_MAX + 1);
    testing_refuse(rpc_decode_begin, &begin, "message_id", "1 to 1024 bytes");
    begin.message_id = testing_text("\xed\xa0\x80"); // a surrogate
    testing_refuse(rpc_decode_begin, &begin, "message_id", "UTF-8");
}
END_TEST

// protobuf-c's own strings end at a NUL: "a" and "a\0b" would be one message.
START_TEST(message_id_is_not_cut_at_a_nul) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    begin.message_id = (ProtobufCBinaryData){.len = 3, .data = (uint8_t[]){'a', 0, 'b'}};
    testing_refuse(rpc_decode_begin, &begin, "message_id", "without NUL");
    struct engine_op op = {0};
    begin.owner = begin.message_id; // free text may hold one, and keeps what follows
    begin.message_id = testing_text("a");
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.command.owner.len, 3);
}
END_TEST

START_TEST(owner_is_bounded) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.owner = testing_fill(LIMIT_OWNER_BYTES_MAX);
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.command.owner.len, LIMIT_OWNER_BYTES_MAX);
    begin.owner = testing_fill(LIMIT_OWNER_BYTES_MAX + 1);
    testing_refuse(rpc_decode_begin, &begin, "owner", "256 bytes");
    begin.owner = testing_text("\x80");
    testing_refuse(rpc_decode_begin, &begin, "owner", "UTF-8");
}
END_TEST

START_TEST(reclaim_needs_an_owner) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    begin.reclaim = 1;
    testing_refuse(rpc_decode_begin, &begin, "owner", "1 to 256 bytes");
    begin.owner = testing_text("o");
    struct engine_op op = {0};
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert(op.command.reclaim);
}
END_TEST

START_TEST(request_id_is_bounded) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.request_id = testing_fill(LIMIT_REQUEST_ID_BYTES_MAX);
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.command.request_id.len, LIMIT_REQUEST_ID_BYTES_MAX);
    begin.request_id = testing_fill(LIMIT_REQUEST_ID_BYTES_MAX + 1);
    testing_refuse(rpc_decode_begin, &begin, "request_id", "64 bytes");
    begin.request_id = testing_text("\xff");
    testing_refuse(rpc_decode_begin, &begin, "request_id", "UTF-8");
}
END_TEST

START_TEST(request_id_must_not_be_the_message_id) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.request_id = begin.message_id;
    testing_refuse(rpc_decode_begin, &begin, "request_id", "");
    begin.request_id = testing_text("pi_1:capture"); // its beginning is another
    testing_accept(rpc_decode_begin, &begin, &op);
}
END_TEST

START_TEST(fingerprint_is_bounded_and_opaque) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.fingerprint = testing_fill(LIMIT_FINGERPRINT_BYTES_MAX);
    memset(begin.fingerprint.data, 0xFF, begin.fingerprint.len); // no UTF-8
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.command.fingerprint.len, LIMIT_FINGERPRINT_BYTES_MAX);
    begin.fingerprint = testing_fill(LIMIT_FINGERPRINT_BYTES_MAX + 1);
    testing_refuse(rpc_decode_begin, &begin, "fingerprint", "64 bytes");
}
END_TEST

START_TEST(payload_ref_is_bounded) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct engine_op op = {0};
    begin.payload_ref = testing_fill(LIMIT_PAYLOAD_REF_BYTES_MAX);
    testing_accept(rpc_decode_begin, &begin, &op);
    ck_assert_uint_eq(op.command.payload_ref.len, LIMIT_PAYLOAD_REF_BYTES_MAX);
    begin.payload_ref = testing_fill(LIMIT_PAYLOAD_REF_BYTES_MAX + 1);
    testing_refuse(rpc_decode_begin, &begin, "payload_ref", "1024 bytes");
    begin.payload_ref = testing_text("\xc3");
    testing_refuse(rpc_decode_begin, &begin, "payload_ref", "UTF-8");
}
END_TEST

TESTING_MAIN("rpc_decode_begin", least_request_has_everything_absent, full_request_is_taken_over,
             views_do_not_point_into_the_wire_bytes, consumer_is_bounded, message_id_is_bounded,
             message_id_is_not_cut_at_a_nul, owner_is_bounded, reclaim_needs_an_owner,
             request_id_is_bounded, request_id_must_not_be_the_message_id,
             fingerprint_is_bounded_and_opaque, payload_ref_is_bounded)
