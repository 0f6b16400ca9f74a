// Bytes that are no request: malformed, unknown, too many, too deep, without memory.
#include "unit/rpc/rpc_testing.h"

#include "base/mem.h"
#include "rpc/rpc_wire.h"

// A BeginRequest of raw bytes after a valid identity.
static struct bytes begin_with(const uint8_t *tail, size_t len) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    struct bytes head = testing_pack(&begin);
    uint8_t *wire = testing_alloc(head.len + len + 1);
    memcpy(wire, head.data, head.len);
    if (len > 0) memcpy(wire + head.len, tail, len);
    return (struct bytes){wire, head.len + len};
}

#define TAIL(...) begin_with((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void is_malformed(struct bytes wire) {
    testing_refuse_wire(rpc_decode_begin, wire, "request", "");
}

static void is_accepted(struct bytes wire) {
    struct engine_op op = {0};
    struct rpc_fault fault = {.text = ""};
    enum err err = rpc_decode_begin(wire, &testing_arena, &op, &fault);
    ck_assert_msg(err == ERR_OK, "refused: %s: %s", fault.field, fault.text);
}

START_TEST(an_empty_request_lacks_its_consumer) {
    testing_refuse_wire(rpc_decode_begin, (struct bytes){0}, "consumer", "1 to 128 bytes");
}
END_TEST

START_TEST(every_cut_of_a_request_is_refused_or_a_shorter_request) {
    TESTING_REQUEST(BeginRequest, begin_request, begin);
    Google__Protobuf__Duration lease = testing_duration(30, 5);
    begin.lease = &lease;
    begin.owner = testing_text("o");
    struct bytes wire = testing_pack(&begin);
    size_t accepted = 0;
    for (size_t len = 0; len < wire.len; len++) {
        struct engine_op op = {0};
        struct rpc_fault fault = {.field = ""};
        // On memory of exactly this size, so that a sanitizer sees one byte too far.
        uint8_t *exact = mem_alloc(len);
        memcpy(exact, wire.data, len);
        enum err err = rpc_decode_begin((struct bytes){exact, len}, &testing_arena, &op, &fault);
        mem_free(exact);
        if (err == ERR_OK) accepted++;
        ck_assert(err == ERR_OK || (err == ERR_INVALID_ARGUMENT && fault.field[0] != '\0'));
    }
    ck_assert_uint_eq(accepted, 2); // after message_id, and after lease
}
END_TEST

START_TEST(malformed_bytes_name_the_request) {
    is_malformed(TAIL(0x50));            // a tag without its value
    is_malformed(TAIL(0x50, 0x80));      // a number that does not end
    is_malformed(TAIL(0x22, 0x05, 'a')); // a text longer than the rest
    is_malformed(TAIL(0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
    is_malformed(TAIL(0x50, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
    is_malformed(TAIL(0x00, 0x00));                         // field number 0
    is_malformed(TAIL(0x1a, 0x02, 0x08, 0x80, 0x01));       // a number that leaves its message
    is_malformed(TAIL(0x1a, 0x7f, 0x08, 0x01));             // a message longer than the rest
    is_malformed(TAIL(0xfa, 0xff, 0xff, 0xff, 0xff, 0x01)); // beyond the largest field number
}
END_TEST

START_TEST(a_field_number_padded_to_six_bytes_is_refused) {
    is_malformed(TAIL(0xd0, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01)); // field 10
}
END_TEST

START_TEST(unknown_fields_are_named_at_any_depth) {
    testing_refuse_wire(rpc_decode_begin, TAIL(0x60, 0x01), "12", ""); // ordering, one day
    testing_refuse_wire(rpc_decode_begin, TAIL(0x62, 0x00), "12", "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x65, 0, 0, 0, 0), "12", "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x63, 0x64), "12", ""); // a group
    testing_refuse_wire(rpc_decode_begin, TAIL(0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01), "536870911",
                        "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x1a, 0x02, 0x18, 0x01), "lease.3", "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x3a, 0x06, 0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01),
                        "event_time.536870911", "");
}
END_TEST

START_TEST(every_verb_refuses_a_field_it_does_not_know) {
    rpc_decode_fn *const decoders[] = {
        rpc_decode_begin,   rpc_decode_complete,  rpc_decode_reject,   rpc_decode_fail,
        rpc_decode_renew,   rpc_decode_release,   rpc_decode_register, rpc_decode_cancel,
        rpc_decode_resolve, rpc_decode_get_claim,
    };
    const uint8_t field_100[] = {0xa0, 0x06, 0x01};
    struct bytes wire = {field_100, sizeof field_100};
    for (size_t i = 0; i < sizeof decoders / sizeof decoders[0]; i++) {
        testing_refuse_wire(decoders[i], wire, "100", "");
    }
    struct rpc_fault fault = {.field = ""};
    struct prune_request request = {0};
    testing_assert_fault(rpc_decode_prune(wire, &testing_arena, &request, &fault), &fault, "100",
                         "");
    testing_assert_fault(rpc_decode_get_status(wire, &testing_arena, &fault), &fault, "100", "");
}
END_TEST

START_TEST(fields_of_the_wrong_type_are_named) {
    testing_refuse_wire(rpc_decode_begin, TAIL(0x18, 0x01), "lease", "");  // a number
    testing_refuse_wire(rpc_decode_begin, TAIL(0x52, 0x00), "replay", ""); // a text
    testing_refuse_wire(rpc_decode_begin, TAIL(0x55, 0, 0, 0, 0), "replay", "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x51, 0, 0, 0, 0, 0, 0, 0, 0), "replay", "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x1a, 0x02, 0x0a, 0x00), "lease.seconds", "");
    testing_refuse_wire(rpc_decode_begin, TAIL(0x53, 0x54), "replay", ""); // a group
}
END_TEST

// An encoder may repeat a field: the last one counts.
START_TEST(of_a_repeated_field_the_last_one_counts) {
    struct engine_op op = {0};
    struct rpc_fault fault;
    struct bytes wire = TAIL(0x22, 0x01, 'a', 0x22, 0x01, 'b', 0x50, 0x01, 0x50, 0x00);
    enum err err = rpc_decode_begin(wire, &testing_arena, &op, &fault);
    ck_assert_msg(err == ERR_OK, "refused: %s: %s", fault.field, fault.text);
    testing_assert_bytes(op.command.owner, "b");
    ck_assert(!op.replay);
}
END_TEST

// protobuf-c would make one millisecond of five seconds and a millisecond.
START_TEST(a_repeated_message_is_refused) {
    testing_refuse_wire(rpc_decode_begin,
                        TAIL(0x1a, 0x02, 0x08, 0x05, 0x1a, 0x04, 0x10, 0xc0, 0x84, 0x3d), "lease",
                        "once");
    is_accepted(TAIL(0x1a, 0x02, 0x08, 0x05, 0x4a, 0x02, 0x08, 0x05)); // lease and wait
}
END_TEST

// Bytes that say `replay` count times over.
static struct bytes begin_with_fields(size_t count) {
    uint8_t *tail = testing_alloc(2 * count + 1);
    for (size_t i = 0; i < count; i++) {
        tail[2 * i] = 0x50;
        tail[2 * i + 1] = 0x01;
    }
    return begin_with(tail, 2 * count);
}

START_TEST(the_number_of_fields_is_bounded) {
    is_accepted(begin_with_fields(RPC_WIRE_FIELDS_MAX - 2));
    testing_refuse_wire(rpc_decode_begin, begin_with_fields(RPC_WIRE_FIELDS_MAX - 1), "request",
                        "64 fields");
}
END_TEST

START_TEST(fields_of_nested_messages_count_too) {
    uint8_t tail[2 + 2 * RPC_WIRE_FIELDS_MAX] = {0x1a};
    // lease { seconds: 5 seconds: 5 ... }: two fields before it and itself leave 61.
    size_t len = 2 * (RPC_WIRE_FIELDS_MAX - 3);
    tail[1] = (uint8_t)len;
    for (size_t i = 0; i <= len; i += 2) {
        tail[2 + i] = 0x08;
        tail[3 + i] = 0x05;
    }
    is_accepted(begin_with(tail, 2 + len));
    tail[1] = (uint8_t)(len + 2);
    testing_refuse_wire(rpc_decode_begin, begin_with(tail, 2 + len + 2), "request", "64 fields");
}
END_TEST

// 4 MiB of two-byte fields would become a hundred megabytes of protobuf-c's bookkeeping.
START_TEST(a_hostile_request_allocates_nothing) {
    struct bytes many = begin_with_fields((LIMIT_REQUEST_BYTES_MAX - 64) / 2);
    uint8_t *unknown = testing_alloc(LIMIT_REQUEST_BYTES_MAX);
    memset(unknown, 0x7f, LIMIT_REQUEST_BYTES_MAX);
    struct bytes wires[] = {many, {unknown, LIMIT_REQUEST_BYTES_MAX}};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct engine_op op = {0};
        struct rpc_fault fault;
        ck_assert_int_eq(rpc_decode_begin(wires[i], &arena, &op, &fault), ERR_INVALID_ARGUMENT);
        ck_assert_ptr_null(arena.first);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(the_size_of_a_request_is_bounded) {
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT;
    fail.message = testing_fill(LIMIT_REQUEST_BYTES_MAX);
    struct bytes wire = testing_pack(&fail);
    fail.message.len -= wire.len - LIMIT_REQUEST_BYTES_MAX;
    struct engine_op op = {0};
    ck_assert_uint_eq(testing_pack(&fail).len, LIMIT_REQUEST_BYTES_MAX);
    testing_accept(rpc_decode_fail, &fail, &op);
    fail.message.len++;
    testing_refuse(rpc_decode_fail, &fail, "request", "4 MiB");
}
END_TEST

// No request nests so deep; a message that describes itself does.
START_TEST(nesting_is_bounded) {
    static ProtobufCMessageDescriptor nested;
    static const ProtobufCIntRange ranges[] = {{1, 0}, {0, 1}};
    const ProtobufCFieldDescriptor field = {
        .name = "inner",
        .id = 1,
        .label = PROTOBUF_C_LABEL_NONE,
        .type = PROTOBUF_C_TYPE_MESSAGE,
        .offset = sizeof(ProtobufCMessage),
        .descriptor = &nested,
    };
    nested = (ProtobufCMessageDescriptor){
        .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
        .name = "Nested",
        .sizeof_message = sizeof(ProtobufCMessage) + sizeof(void *),
        .n_fields = 1,
        .fields = &field,
        .n_field_ranges = 1,
        .field_ranges = ranges,
    };
    _Static_assert(RPC_WIRE_DEPTH_MAX == 4, "the bytes below are nested as deep");
    const uint8_t deep[] = {0x0a, 0x04, 0x0a, 0x02, 0x0a, 0x00};
    const uint8_t deeper[] = {0x0a, 0x06, 0x0a, 0x04, 0x0a, 0x02, 0x0a, 0x00};
    ProtobufCMessage *message = NULL;
    struct rpc_fault fault = {.field = ""};
    ck_assert_int_eq(rpc_wire_unpack(&nested, (struct bytes){deep, sizeof deep}, &testing_arena,
                                     &message, &fault),
                     ERR_OK);
    enum err err = rpc_wire_unpack(&nested, (struct bytes){deeper, sizeof deeper}, &testing_arena,
                                   &message, &fault);
    testing_assert_fault(err, &fault, "request", "4 levels");
}
END_TEST

// --- without memory ------------------------------------------------------------------------------

static size_t faults_allowed;

static bool fail_after(void) {
    if (faults_allowed == 0) return true;
    faults_allowed--;
    return false;
}

START_TEST(each_allocation_may_fail) {
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    Google__Protobuf__Duration delay = testing_duration(1, 0);
    fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_POISON;
    fail.retry_after = &delay;
    fail.message = testing_fill(6000); // a block each
    fail.optional_payload_case = CLAIMD__V1__FAIL_REQUEST__OPTIONAL_PAYLOAD_PAYLOAD;
    fail.payload = testing_fill(7000);
    struct bytes wire = testing_pack(&fail);
    size_t failures = 0;
    for (;;) {
        struct arena arena = {0};
        struct engine_op op = {0};
        struct rpc_fault fault;
        faults_allowed = failures;
        mem_set_fault_hook(fail_after);
        enum err err = rpc_decode_fail(wire, &arena, &op, &fault);
        mem_set_fault_hook(NULL);
        arena_deinit(&arena);
        if (err == ERR_OK) break;
        ck_assert_int_eq(err, ERR_NO_MEMORY);
        failures++;
    }
    ck_assert_uint_ge(failures, 3);
}
END_TEST

TESTING_MAIN("rpc_wire", an_empty_request_lacks_its_consumer,
             every_cut_of_a_request_is_refused_or_a_shorter_request,
             malformed_bytes_name_the_request, a_field_number_padded_to_six_bytes_is_refused,
             unknown_fields_are_named_at_any_depth, every_verb_refuses_a_field_it_does_not_know,
             fields_of_the_wrong_type_are_named, of_a_repeated_field_the_last_one_counts,
             a_repeated_message_is_refused, the_number_of_fields_is_bounded,
             fields_of_nested_messages_count_too, a_hostile_request_allocates_nothing,
             the_size_of_a_request_is_bounded, nesting_is_bounded, each_allocation_may_fail)
