// The other requests: tokens, bodies, texts, enums; Prune and GetStatus.
#include "unit/rpc/rpc_testing.h"

static const uint64_t token_max = LIMIT_TOKEN_MAX;

START_TEST(token_verbs_need_a_token) {
    struct engine_op op = {0};
#define EACH_TOKEN(Type, name, setup)                                                              \
    do {                                                                                           \
        TESTING_REQUEST(Type, name##_request, request);                                            \
        setup;                                                                                     \
        testing_refuse(rpc_decode_##name, &request, "token", "1 to 9223372036854775807");          \
        request.token = 1;                                                                         \
        testing_accept(rpc_decode_##name, &request, &op);                                          \
        ck_assert_uint_eq(op.command.token, 1);                                                    \
        request.token = token_max;                                                                 \
        testing_accept(rpc_decode_##name, &request, &op);                                          \
        ck_assert_uint_eq(op.command.token, token_max);                                            \
        request.token = token_max + 1;                                                             \
        testing_refuse(rpc_decode_##name, &request, "token", "1 to 9223372036854775807");          \
        request.token = UINT64_MAX;                                                                \
        testing_refuse(rpc_decode_##name, &request, "token", "1 to 9223372036854775807");          \
    } while (0)
    EACH_TOKEN(CompleteRequest, complete, (void)0);
    EACH_TOKEN(RejectRequest, reject, (void)0);
    EACH_TOKEN(FailRequest, fail, request.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT);
    EACH_TOKEN(RenewRequest, renew, (void)0);
    EACH_TOKEN(ReleaseRequest, release, (void)0);
}
END_TEST

START_TEST(every_request_needs_its_identity) {
#define EACH_IDENTITY(Type, name)                                                                  \
    do {                                                                                           \
        struct engine_op op = {0};                                                                 \
        TESTING_REQUEST(Type, name##_request, request);                                            \
        request.consumer.len = 0;                                                                  \
        testing_refuse(rpc_decode_##name, &request, "consumer", "1 to 128 bytes");                 \
        request.consumer = testing_fill(LIMIT_CONSUMER_BYTES_MAX + 1);                             \
        testing_refuse(rpc_decode_##name, &request, "consumer", "1 to 128 bytes");                 \
        request.consumer = testing_text("c");                                                      \
        request.message_id.len = 0;                                                                \
        testing_refuse(rpc_decode_##name, &request, "message_id", "1 to 1024 bytes");              \
        request.message_id = testing_fill(LIMIT_MESSAGE_ID_BYTES_MAX + 1);                         \
        testing_refuse(rpc_decode_##name, &request, "message_id", "1 to 1024 bytes");              \
        request.message_id = testing_text("m");                                                    \
        struct rpc_fault fault = {.field = ""};                                                    \
        (void)!rpc_decode_##name(testing_pack(&request), &testing_arena, &op, &fault);             \
        testing_assert_bytes(op.identity.consumer, "c");                                           \
        testing_assert_bytes(op.identity.message_id, "m");                                         \
    } while (0)
    EACH_IDENTITY(BeginRequest, begin);
    EACH_IDENTITY(CompleteRequest, complete);
    EACH_IDENTITY(RejectRequest, reject);
    EACH_IDENTITY(FailRequest, fail);
    EACH_IDENTITY(RenewRequest, renew);
    EACH_IDENTITY(ReleaseRequest, release);
    EACH_IDENTITY(RegisterRequest, register);
    EACH_IDENTITY(CancelRequest, cancel);
    EACH_IDENTITY(ResolveRequest, resolve);
    EACH_IDENTITY(GetClaimRequest, get_claim);
}
END_TEST

// --- bodies --------------------------------------------------------------------------------------

static void assert_body(const struct claim_body *body, size_t len) {
    ck_assert(body->present);
    ck_assert(!body->in_blob && !body->expired);
    ck_assert_uint_eq(body->size_bytes, len);
    ck_assert_uint_eq(body->data.len, len);
}

// Absent, empty, at the bound and one past it, for a request whose field is a body.
#define BODY_IS_BOUNDED(decode, request, field, case_field, case_set, stored, max, limit)          \
    do {                                                                                           \
        struct engine_op op = {0};                                                                 \
        testing_accept(decode, &(request), &op);                                                   \
        ck_assert(!op.command.stored.present);                                                     \
        (request).case_field = (case_set);                                                         \
        testing_accept(decode, &(request), &op);                                                   \
        assert_body(&op.command.stored, 0);                                                        \
        (request).field = testing_fill(max);                                                       \
        testing_accept(decode, &(request), &op);                                                   \
        assert_body(&op.command.stored, (max));                                                    \
        (request).field = testing_fill((max) + 1);                                                 \
        testing_refuse(decode, &(request), #field, limit);                                         \
    } while (0)

START_TEST(result_of_complete_is_bounded) {
    TESTING_TOKEN_REQUEST(CompleteRequest, complete_request, complete);
    BODY_IS_BOUNDED(rpc_decode_complete, complete, result, optional_result_case,
                    CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT_RESULT, result,
                    LIMIT_RESULT_BYTES_MAX, "1048576 bytes");
}
END_TEST

START_TEST(result_of_reject_is_bounded) {
    TESTING_TOKEN_REQUEST(RejectRequest, reject_request, reject);
    BODY_IS_BOUNDED(rpc_decode_reject, reject, result, optional_result_case,
                    CLAIMD__V1__REJECT_REQUEST__OPTIONAL_RESULT_RESULT, result,
                    LIMIT_RESULT_BYTES_MAX, "1048576 bytes");
}
END_TEST

START_TEST(result_of_resolve_is_bounded) {
    TESTING_REQUEST(ResolveRequest, resolve_request, resolve);
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_SUCCEEDED;
    BODY_IS_BOUNDED(rpc_decode_resolve, resolve, result, optional_result_case,
                    CLAIMD__V1__RESOLVE_REQUEST__OPTIONAL_RESULT_RESULT, result,
                    LIMIT_RESULT_BYTES_MAX, "1048576 bytes");
}
END_TEST

START_TEST(payload_is_bounded) {
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_POISON;
    BODY_IS_BOUNDED(rpc_decode_fail, fail, payload, optional_payload_case,
                    CLAIMD__V1__FAIL_REQUEST__OPTIONAL_PAYLOAD_PAYLOAD, payload,
                    LIMIT_PAYLOAD_BYTES_MAX, "262144 bytes");
}
END_TEST

START_TEST(checkpoint_is_bounded) {
    TESTING_TOKEN_REQUEST(RenewRequest, renew_request, renew);
    BODY_IS_BOUNDED(rpc_decode_renew, renew, checkpoint, optional_checkpoint_case,
                    CLAIMD__V1__RENEW_REQUEST__OPTIONAL_CHECKPOINT_CHECKPOINT, checkpoint,
                    LIMIT_CHECKPOINT_BYTES_MAX, "16384 bytes");
}
END_TEST

START_TEST(bodies_are_opaque) {
    TESTING_TOKEN_REQUEST(CompleteRequest, complete_request, complete);
    struct engine_op op = {0};
    complete.optional_result_case = CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT_RESULT;
    complete.result = (ProtobufCBinaryData){.len = 4, .data = (uint8_t[]){0, 0xFF, 0, 0x80}};
    testing_accept(rpc_decode_complete, &complete, &op);
    ck_assert_mem_eq(op.command.result.data.data, ((uint8_t[]){0, 0xFF, 0, 0x80}), 4);
}
END_TEST

// --- texts ---------------------------------------------------------------------------------------

#define REASON_IS_BOUNDED(decode, request)                                                         \
    do {                                                                                           \
        struct engine_op op = {0};                                                                 \
        testing_accept(decode, &(request), &op);                                                   \
        ck_assert_uint_eq(op.command.reason.len, 0);                                               \
        (request).reason = testing_fill(LIMIT_REASON_BYTES_MAX);                                   \
        testing_accept(decode, &(request), &op);                                                   \
        ck_assert_uint_eq(op.command.reason.len, LIMIT_REASON_BYTES_MAX);                          \
        (request).reason = testing_fill(LIMIT_REASON_BYTES_MAX + 1);                               \
        testing_refuse(decode, &(request), "reason", "4096 bytes");                                \
        (request).reason = testing_text("\xf5");                                                   \
        testing_refuse(decode, &(request), "reason", "UTF-8");                                     \
    } while (0)

START_TEST(reasons_are_bounded) {
    TESTING_TOKEN_REQUEST(RejectRequest, reject_request, reject);
    REASON_IS_BOUNDED(rpc_decode_reject, reject);
    TESTING_REQUEST(CancelRequest, cancel_request, cancel);
    REASON_IS_BOUNDED(rpc_decode_cancel, cancel);
    TESTING_REQUEST(ResolveRequest, resolve_request, resolve);
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_RETRY;
    REASON_IS_BOUNDED(rpc_decode_resolve, resolve);
}
END_TEST

START_TEST(message_of_fail_may_be_of_any_length_but_is_text) {
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    struct engine_op op = {0};
    fail.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT;
    fail.message = testing_fill(LIMIT_ERROR_MESSAGE_BYTES_MAX + 1);
    testing_accept(rpc_decode_fail, &fail, &op);
    ck_assert_uint_eq(op.command.message.len, LIMIT_ERROR_MESSAGE_BYTES_MAX + 1);
    fail.message = testing_fill(3 * 1024 * 1024);
    testing_accept(rpc_decode_fail, &fail, &op);
    ck_assert_uint_eq(op.command.message.len, 3 * 1024 * 1024);
    fail.message.data[fail.message.len - 1] = 0xC2; // half a character, past where it will be cut
    testing_refuse(rpc_decode_fail, &fail, "message", "UTF-8");
}
END_TEST

START_TEST(payload_ref_of_register_is_bounded) {
    TESTING_REQUEST(RegisterRequest, register_request, reg);
    struct engine_op op = {0};
    reg.payload_ref = testing_fill(LIMIT_PAYLOAD_REF_BYTES_MAX);
    testing_accept(rpc_decode_register, &reg, &op);
    ck_assert_uint_eq(op.command.payload_ref.len, LIMIT_PAYLOAD_REF_BYTES_MAX);
    ck_assert(!op.command.event_time.present);
    reg.payload_ref = testing_fill(LIMIT_PAYLOAD_REF_BYTES_MAX + 1);
    testing_refuse(rpc_decode_register, &reg, "payload_ref", "1024 bytes");
}
END_TEST

// --- enums ---------------------------------------------------------------------------------------

START_TEST(kinds_are_those_that_a_client_may_give) {
    TESTING_TOKEN_REQUEST(FailRequest, fail_request, fail);
    struct engine_op op = {0};
    for (int kind = FAIL_TRANSIENT; kind <= FAIL_OUTCOME_UNKNOWN; kind++) {
        fail.kind = (Claimd__V1__FailureKind)kind;
        testing_accept(rpc_decode_fail, &fail, &op);
        ck_assert_int_eq(op.command.fail_kind, kind);
    }
    const int refused[] = {0, FAIL_LAPSED, FAIL_LAPSED + 1, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        fail.kind = (Claimd__V1__FailureKind)refused[i];
        testing_refuse(rpc_decode_fail, &fail, "kind", "TRANSIENT");
    }
}
END_TEST

START_TEST(resolutions_are_those_there_are) {
    TESTING_REQUEST(ResolveRequest, resolve_request, resolve);
    struct engine_op op = {0};
    for (int as = CLAIM_AS_SUCCEEDED; as <= CLAIM_AS_DEAD_LETTER; as++) {
        resolve.resolution = (Claimd__V1__Resolution)as;
        testing_accept(rpc_decode_resolve, &resolve, &op);
        ck_assert_int_eq(op.command.resolution, as);
    }
    const int refused[] = {0, CLAIM_AS_DEAD_LETTER + 1, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        resolve.resolution = (Claimd__V1__Resolution)refused[i];
        testing_refuse(rpc_decode_resolve, &resolve, "resolution", "SUCCEEDED");
    }
}
END_TEST

START_TEST(a_result_goes_only_with_a_final_resolution) {
    TESTING_REQUEST(ResolveRequest, resolve_request, resolve);
    struct engine_op op = {0};
    resolve.optional_result_case = CLAIMD__V1__RESOLVE_REQUEST__OPTIONAL_RESULT_RESULT;
    resolve.result = testing_fill(0); // even an empty one
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_SUCCEEDED;
    testing_accept(rpc_decode_resolve, &resolve, &op);
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_REJECTED;
    testing_accept(rpc_decode_resolve, &resolve, &op);
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_RETRY;
    testing_refuse(rpc_decode_resolve, &resolve, "result", "SUCCEEDED, REJECTED");
    resolve.resolution = CLAIMD__V1__RESOLUTION__RESOLUTION_DEAD_LETTER;
    testing_refuse(rpc_decode_resolve, &resolve, "result", "SUCCEEDED, REJECTED");
}
END_TEST

// --- operations ----------------------------------------------------------------------------------

START_TEST(get_claim_may_include_bodies) {
    TESTING_REQUEST(GetClaimRequest, get_claim_request, get);
    struct engine_op op = {0};
    testing_accept(rpc_decode_get_claim, &get, &op);
    ck_assert_int_eq(op.command.verb, CLAIM_GET);
    ck_assert(!op.include_bodies);
    get.include_bodies = 1;
    testing_accept(rpc_decode_get_claim, &get, &op);
    ck_assert(op.include_bodies);
}
END_TEST

START_TEST(verbs_are_set) {
    struct engine_op op = {0};
#define EACH_VERB(Type, name, expected)                                                            \
    do {                                                                                           \
        TESTING_TOKEN_REQUEST(Type, name##_request, request);                                      \
        testing_accept(rpc_decode_##name, &request, &op);                                          \
        ck_assert_int_eq(op.command.verb, expected);                                               \
    } while (0)
    EACH_VERB(CompleteRequest, complete, CLAIM_COMPLETE);
    EACH_VERB(RejectRequest, reject, CLAIM_REJECT);
    EACH_VERB(RenewRequest, renew, CLAIM_RENEW);
    EACH_VERB(ReleaseRequest, release, CLAIM_RELEASE);
    TESTING_REQUEST(RegisterRequest, register_request, reg);
    testing_accept(rpc_decode_register, &reg, &op);
    ck_assert_int_eq(op.command.verb, CLAIM_REGISTER);
    TESTING_REQUEST(CancelRequest, cancel_request, cancel);
    testing_accept(rpc_decode_cancel, &cancel, &op);
    ck_assert_int_eq(op.command.verb, CLAIM_CANCEL);
}
END_TEST

static enum err decode_prune(const Claimd__V1__PruneRequest *prune, struct prune_request *request,
                             struct rpc_fault *fault) {
    return rpc_decode_prune(testing_pack(prune), &testing_arena, request, fault);
}

START_TEST(prune_needs_a_time_and_takes_everything_else) {
    Claimd__V1__PruneRequest prune = CLAIMD__V1__PRUNE_REQUEST__INIT;
    struct prune_request request = {.tenant = bytes_of("acme")};
    struct rpc_fault fault = {.field = ""};
    testing_assert_fault(decode_prune(&prune, &request, &fault), &fault, "before", "years");
    Google__Protobuf__Timestamp before = testing_timestamp(1700000000, 1);
    prune.before = &before;
    ck_assert_int_eq(decode_prune(&prune, &request, &fault), ERR_OK);
    testing_assert_bytes(request.tenant, "acme");
    ck_assert_uint_eq(request.consumer.len, 0); // all
    ck_assert_int_eq(request.before.ms, INT64_C(1700000000001));
    ck_assert(!request.dry_run && !request.force);
    prune.consumer = testing_text("billing/capture");
    prune.dry_run = 1;
    prune.force = 1;
    ck_assert_int_eq(decode_prune(&prune, &request, &fault), ERR_OK);
    testing_assert_bytes(request.consumer, "billing/capture");
    ck_assert(request.dry_run && request.force);
}
END_TEST

START_TEST(prune_is_bounded) {
    Claimd__V1__PruneRequest prune = CLAIMD__V1__PRUNE_REQUEST__INIT;
    Google__Protobuf__Timestamp before = testing_timestamp(0, 0);
    struct prune_request request = {0};
    struct rpc_fault fault = {.field = ""};
    prune.before = &before;
    prune.consumer = testing_fill(LIMIT_CONSUMER_BYTES_MAX);
    ck_assert_int_eq(decode_prune(&prune, &request, &fault), ERR_OK);
    prune.consumer = testing_fill(LIMIT_CONSUMER_BYTES_MAX + 1);
    testing_assert_fault(decode_prune(&prune, &request, &fault), &fault, "consumer", "128 bytes");
    prune.consumer = testing_text("");
    before.nanos = -1;
    testing_assert_fault(decode_prune(&prune, &request, &fault), &fault, "before", "years");
    before.nanos = 0;
    struct bytes wire = testing_pack(&prune);
    wire.len--;
    testing_assert_fault(rpc_decode_prune(wire, &testing_arena, &request, &fault), &fault,
                         "request", "");
}
END_TEST

START_TEST(get_status_takes_nothing) {
    struct rpc_fault fault = {.field = ""};
    ck_assert_int_eq(rpc_decode_get_status((struct bytes){0}, &testing_arena, &fault), ERR_OK);
    const uint8_t field_1[] = {0x08, 0x01};
    enum err err = rpc_decode_get_status((struct bytes){field_1, 2}, &testing_arena, &fault);
    testing_assert_fault(err, &fault, "1", "");
}
END_TEST

TESTING_MAIN("rpc_decode_verbs", token_verbs_need_a_token, every_request_needs_its_identity,
             result_of_complete_is_bounded, result_of_reject_is_bounded,
             result_of_resolve_is_bounded, payload_is_bounded, checkpoint_is_bounded,
             bodies_are_opaque, reasons_are_bounded,
             message_of_fail_may_be_of_any_length_but_is_text, payload_ref_of_register_is_bounded,
             kinds_are_those_that_a_client_may_give, resolutions_are_those_there_are,
             a_result_goes_only_with_a_final_resolution, get_claim_may_include_bodies,
             verbs_are_set, prune_needs_a_time_and_takes_everything_else, prune_is_bounded,
             get_status_takes_nothing)
