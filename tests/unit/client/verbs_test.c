// The verbs besides Begin, over a real channel: what each sends and reads.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <claimd/v1/claims.pb-c.h>
#include <claimd/v1/operations.pb-c.h>
#include <grpc/health/v1/health.pb-c.h>

#include "client_fixture.h"

#define EQ_FIELD(field, text)                                                                      \
    do {                                                                                           \
        ck_assert_uint_eq((field).len, strlen(text));                                              \
        ck_assert_mem_eq((field).data, (text), strlen(text));                                      \
    } while (0)

static ProtobufCBinaryData bytes_of(const char *text) {
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static Google__Protobuf__Timestamp time_at(int64_t seconds) {
    Google__Protobuf__Timestamp time = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    time.seconds = seconds;
    return time;
}

static Google__Protobuf__Duration duration_of(int64_t seconds) {
    Google__Protobuf__Duration duration = GOOGLE__PROTOBUF__DURATION__INIT;
    duration.seconds = seconds;
    return duration;
}

// A server that answers one scripted way, a client of it, and the last request unpacked.
static struct {
    struct fake_server fake;
    claimd_client *client;
    struct claimd_error error;
    const char *method;
    const ProtobufCMessageDescriptor *type;
    ProtobufCMessage *asked;
    const ProtobufCMessage *answers[FAKE_MESSAGES_MAX];
    size_t answers_count;
    int64_t served_ms; // when the server had the last request; it answers in a later millisecond
} it;

static void answer(void *context, const struct fake_request *request, struct fake_reply *reply) {
    (void)context;
    ck_assert_str_eq(request->method, it.method);
    if (it.asked != NULL) protobuf_c_message_free_unpacked(it.asked, NULL);
    it.asked = protobuf_c_message_unpack(it.type, NULL, request->size, request->data);
    ck_assert_ptr_nonnull(it.asked);
    memcpy(reply->messages, it.answers, sizeof it.answers);
    reply->messages_count = it.answers_count;
    it.served_ms = claimd_clock_ms();
    while (claimd_clock_ms() == it.served_ms) continue;
}

static void set_up(void) {
    memset(&it, 0, sizeof it);
    fake_server_start(&it.fake, 0, answer, NULL);
    it.client = client_fixture_open(it.fake.target);
}

static void tear_down(void) {
    claimd_client_close(it.client);
    fake_server_stop(&it.fake);
    if (it.asked != NULL) protobuf_c_message_free_unpacked(it.asked, NULL);
}

static void expect(const char *method, const ProtobufCMessageDescriptor *type,
                   const ProtobufCMessage *reply) {
    it.method = method;
    it.type = type;
    it.answers[0] = reply;
    it.answers_count = 1;
}

START_TEST(test_complete) {
    Google__Protobuf__Timestamp complete = time_at(5);
    Google__Protobuf__Timestamp expire = time_at(6);
    Claimd__V1__CompleteResponse reply = CLAIMD__V1__COMPLETE_RESPONSE__INIT;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_SUCCEEDED;
    reply.replayed = true;
    reply.complete_time = &complete;
    reply.expire_time = &expire;
    expect("/claimd.v1.ClaimService/Complete", &claimd__v1__complete_request__descriptor,
           &reply.base);
    struct claimd_complete_request request = CLAIMD_COMPLETE_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.token = UINT64_MAX;
    claimd_complete_result *result;
    ck_assert_int_eq(claimd_complete(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__CompleteRequest *asked = (const Claimd__V1__CompleteRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_uint_eq(asked->token, UINT64_MAX);
    ck_assert_int_eq(asked->optional_result_case,
                     CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT__NOT_SET);
    ck_assert_int_eq(claimd_complete_result_state(result), CLAIMD_STATE_SUCCEEDED);
    ck_assert(claimd_complete_result_replayed(result));
    ck_assert_int_eq(claimd_complete_result_complete_time_ms(result), 5000);
    ck_assert_int_eq(claimd_complete_result_expire_time_ms(result), 6000);
    claimd_complete_result_free(result);

    request.result = claimd_bytes_of(""); // empty is not absent
    ck_assert_int_eq(claimd_complete(it.client, &request, NULL, NULL), CLAIMD_OK);
    asked = (const Claimd__V1__CompleteRequest *)it.asked;
    ck_assert_int_eq(asked->optional_result_case,
                     CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT_RESULT);
    ck_assert_uint_eq(asked->result.len, 0);
}
END_TEST

START_TEST(test_reject) {
    Google__Protobuf__Timestamp complete = time_at(5);
    Google__Protobuf__Timestamp expire = time_at(6);
    Claimd__V1__RejectResponse reply = CLAIMD__V1__REJECT_RESPONSE__INIT;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_REJECTED;
    reply.complete_time = &complete;
    reply.expire_time = &expire;
    expect("/claimd.v1.ClaimService/Reject", &claimd__v1__reject_request__descriptor, &reply.base);
    struct claimd_reject_request request = CLAIMD_REJECT_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.token = 7;
    request.reason = "closed";
    request.result = claimd_bytes_of("r");
    claimd_reject_result *result;
    ck_assert_int_eq(claimd_reject(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__RejectRequest *asked = (const Claimd__V1__RejectRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_uint_eq(asked->token, 7);
    EQ_FIELD(asked->reason, "closed");
    EQ_FIELD(asked->result, "r");
    ck_assert_int_eq(claimd_reject_result_state(result), CLAIMD_STATE_REJECTED);
    ck_assert(!claimd_reject_result_replayed(result));
    ck_assert_int_eq(claimd_reject_result_complete_time_ms(result), 5000);
    ck_assert_int_eq(claimd_reject_result_expire_time_ms(result), 6000);
    claimd_reject_result_free(result);
}
END_TEST

START_TEST(test_fail) {
    Google__Protobuf__Timestamp next = time_at(9);
    Google__Protobuf__Duration after = duration_of(4);
    Claimd__V1__FailResponse reply = CLAIMD__V1__FAIL_RESPONSE__INIT;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_RETRYING;
    reply.replayed = true;
    reply.next_attempt_time = &next;
    reply.retry_after = &after;
    expect("/claimd.v1.ClaimService/Fail", &claimd__v1__fail_request__descriptor, &reply.base);
    struct claimd_fail_request request = CLAIMD_FAIL_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.token = 7;
    request.kind = CLAIMD_FAILURE_OUTCOME_UNKNOWN;
    request.message = "timed out";
    request.payload = claimd_bytes_of("p");
    request.retry_after_ms = 0;
    claimd_fail_result *result;
    ck_assert_int_eq(claimd_fail(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__FailRequest *asked = (const Claimd__V1__FailRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_uint_eq(asked->token, 7);
    ck_assert_int_eq(asked->kind, CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_OUTCOME_UNKNOWN);
    EQ_FIELD(asked->message, "timed out");
    EQ_FIELD(asked->payload, "p");
    ck_assert_ptr_nonnull(asked->retry_after); // zero is not "unset"
    ck_assert_int_eq(claimd_fail_result_state(result), CLAIMD_STATE_RETRYING);
    ck_assert(claimd_fail_result_replayed(result));
    ck_assert_int_eq(claimd_fail_result_next_attempt_time_ms(result), 9000);
    ck_assert_int_eq(claimd_fail_result_retry_after_ms(result), 4000);
    claimd_fail_result_free(result);
}
END_TEST

START_TEST(test_renew) {
    Google__Protobuf__Timestamp expire = time_at(9);
    Google__Protobuf__Duration remaining = duration_of(30);
    Claimd__V1__Lease lease = CLAIMD__V1__LEASE__INIT;
    lease.expire_time = &expire;
    lease.remaining = &remaining;
    Claimd__V1__RenewResponse reply = CLAIMD__V1__RENEW_RESPONSE__INIT;
    reply.lease = &lease;
    reply.lapsed = true;
    expect("/claimd.v1.ClaimService/Renew", &claimd__v1__renew_request__descriptor, &reply.base);
    struct claimd_renew_request request = CLAIMD_RENEW_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.token = 7;
    request.lease_ms = 60000;
    request.checkpoint = claimd_bytes_of("half");
    claimd_renew_result *result;
    int64_t before_ms = claimd_clock_ms();
    ck_assert_int_eq(claimd_renew(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__RenewRequest *asked = (const Claimd__V1__RenewRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_uint_eq(asked->token, 7);
    ck_assert_int_eq(asked->lease->seconds, 60);
    EQ_FIELD(asked->checkpoint, "half");
    ck_assert_int_ge(claimd_renew_result_lease_deadline_ms(result), before_ms + 30000);
    ck_assert_int_le(claimd_renew_result_lease_deadline_ms(result), it.served_ms + 30000);
    ck_assert_int_eq(claimd_renew_result_lease_remaining_ms(result), 30000);
    ck_assert_int_eq(claimd_renew_result_lease_expire_time_ms(result), 9000);
    ck_assert(claimd_renew_result_lapsed(result));
    claimd_renew_result_free(result);
    ck_assert_int_eq(claimd_renew(it.client, &request, NULL, NULL), CLAIMD_OK);
}
END_TEST

START_TEST(test_release) {
    Claimd__V1__ReleaseResponse reply = CLAIMD__V1__RELEASE_RESPONSE__INIT;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_RECEIVED;
    reply.replayed = true;
    expect("/claimd.v1.ClaimService/Release", &claimd__v1__release_request__descriptor,
           &reply.base);
    struct claimd_release_request request = CLAIMD_RELEASE_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.token = 7;
    claimd_release_result *result;
    ck_assert_int_eq(claimd_release(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__ReleaseRequest *asked = (const Claimd__V1__ReleaseRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_uint_eq(asked->token, 7);
    ck_assert_int_eq(claimd_release_result_state(result), CLAIMD_STATE_RECEIVED);
    ck_assert(claimd_release_result_replayed(result));
    claimd_release_result_free(result);
}
END_TEST

START_TEST(test_register) {
    Claimd__V1__RegisterResponse reply = CLAIMD__V1__REGISTER_RESPONSE__INIT;
    reply.created = true;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_RECEIVED;
    expect("/claimd.v1.ClaimService/Register", &claimd__v1__register_request__descriptor,
           &reply.base);
    struct claimd_register_request request = CLAIMD_REGISTER_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.event_time_ms = 1500;
    request.payload_ref = "p/3/17";
    claimd_register_result *result;
    ck_assert_int_eq(claimd_register(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__RegisterRequest *asked = (const Claimd__V1__RegisterRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_int_eq(asked->event_time->seconds, 1);
    ck_assert_int_eq(asked->event_time->nanos, 500000000);
    EQ_FIELD(asked->payload_ref, "p/3/17");
    ck_assert(claimd_register_result_created(result));
    ck_assert_int_eq(claimd_register_result_state(result), CLAIMD_STATE_RECEIVED);
    claimd_register_result_free(result);
}
END_TEST

START_TEST(test_cancel) {
    Claimd__V1__CancelResponse reply = CLAIMD__V1__CANCEL_RESPONSE__INIT;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_REJECTED;
    reply.replayed = true;
    expect("/claimd.v1.ClaimService/Cancel", &claimd__v1__cancel_request__descriptor, &reply.base);
    struct claimd_cancel_request request = CLAIMD_CANCEL_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.reason = "withdrawn";
    claimd_cancel_result *result;
    ck_assert_int_eq(claimd_cancel(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__CancelRequest *asked = (const Claimd__V1__CancelRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    EQ_FIELD(asked->reason, "withdrawn");
    ck_assert_int_eq(claimd_cancel_result_state(result), CLAIMD_STATE_REJECTED);
    ck_assert(claimd_cancel_result_replayed(result));
    claimd_cancel_result_free(result);
}
END_TEST

START_TEST(test_resolve) {
    Claimd__V1__ResolveResponse reply = CLAIMD__V1__RESOLVE_RESPONSE__INIT;
    reply.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_SUCCEEDED;
    expect("/claimd.v1.ClaimService/Resolve", &claimd__v1__resolve_request__descriptor,
           &reply.base);
    struct claimd_resolve_request request = CLAIMD_RESOLVE_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    request.resolution = CLAIMD_RESOLVE_DEAD_LETTER;
    request.result = claimd_bytes_of("r");
    request.reason = "looked";
    claimd_resolve_result *result;
    ck_assert_int_eq(claimd_resolve(it.client, &request, &result, &it.error), CLAIMD_OK);
    const Claimd__V1__ResolveRequest *asked = (const Claimd__V1__ResolveRequest *)it.asked;
    EQ_FIELD(asked->consumer, "c");
    EQ_FIELD(asked->message_id, "m");
    ck_assert_int_eq(asked->resolution, CLAIMD__V1__RESOLUTION__RESOLUTION_DEAD_LETTER);
    EQ_FIELD(asked->result, "r");
    EQ_FIELD(asked->reason, "looked");
    ck_assert_int_eq(claimd_resolve_result_state(result), CLAIMD_STATE_SUCCEEDED);
    claimd_resolve_result_free(result);
}
END_TEST

START_TEST(test_health) {
    Grpc__Health__V1__HealthCheckResponse reply = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    reply.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
    expect("/grpc.health.v1.Health/Check", &grpc__health__v1__health_check_request__descriptor,
           &reply.base);
    struct claimd_health_request request = CLAIMD_HEALTH_REQUEST_INIT;
    bool serving = false;
    ck_assert_int_eq(claimd_health(it.client, &request, &serving, &it.error), CLAIMD_OK);
    ck_assert(serving);
    ck_assert_str_eq(((Grpc__Health__V1__HealthCheckRequest *)it.asked)->service, "");
    reply.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
    request.service = "claimd.v1.ClaimService";
    ck_assert_int_eq(claimd_health(it.client, &request, &serving, NULL), CLAIMD_OK);
    ck_assert(!serving);
    ck_assert_str_eq(((Grpc__Health__V1__HealthCheckRequest *)it.asked)->service,
                     "claimd.v1.ClaimService");
}
END_TEST

START_TEST(test_server_status) {
    Google__Protobuf__Timestamp start = time_at(5);
    Google__Protobuf__Duration store = duration_of(6);
    Google__Protobuf__Duration retention = duration_of(7);
    Google__Protobuf__Duration window = duration_of(8);
    Claimd__V1__StateCount state = CLAIMD__V1__STATE_COUNT__INIT;
    state.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_UNKNOWN;
    state.count = 3;
    Claimd__V1__StateCount *states[] = {&state};
    Claimd__V1__OutcomeCount outcome = CLAIMD__V1__OUTCOME_COUNT__INIT;
    outcome.outcome = CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_NOT_YET;
    outcome.count = 4;
    Claimd__V1__OutcomeCount *outcomes[] = {&outcome};
    Claimd__V1__GetStatusResponse reply = CLAIMD__V1__GET_STATUS_RESPONSE__INIT;
    reply.version = bytes_of("9.9");
    reply.start_time = &start;
    reply.durability_relaxed = true;
    reply.applied_position = 17;
    reply.store_time = &store;
    reply.states = states;
    reply.n_states = 1;
    reply.begins = outcomes;
    reply.n_begins = 1;
    reply.replay_claimed_count = 2;
    reply.retention = &retention;
    reply.redelivery_window = &window;
    reply.disk_reserve_reached = true;
    expect("/claimd.v1.OperationService/GetStatus", &claimd__v1__get_status_request__descriptor,
           &reply.base);
    struct claimd_server_status_request request = CLAIMD_SERVER_STATUS_REQUEST_INIT;
    claimd_server_status_result *got;
    ck_assert_int_eq(claimd_server_status(it.client, &request, &got, &it.error), CLAIMD_OK);
    ck_assert_str_eq(claimd_server_status_result_version(got), "9.9");
    ck_assert_int_eq(claimd_server_status_result_start_time_ms(got), 5000);
    ck_assert(claimd_server_status_result_durability_relaxed(got));
    ck_assert_uint_eq(claimd_server_status_result_applied_position(got), 17);
    ck_assert_int_eq(claimd_server_status_result_store_time_ms(got), 6000);
    ck_assert_uint_eq(claimd_server_status_result_records(got, CLAIMD_STATE_UNKNOWN), 3);
    ck_assert_uint_eq(claimd_server_status_result_records(got, CLAIMD_STATE_RECEIVED), 0);
    ck_assert_uint_eq(claimd_server_status_result_begins(got, CLAIMD_BEGIN_NOT_YET), 4);
    ck_assert_uint_eq(claimd_server_status_result_begins(got, CLAIMD_BEGIN_CLAIMED), 0);
    ck_assert_uint_eq(claimd_server_status_result_replay_claimed_count(got), 2);
    ck_assert_int_eq(claimd_server_status_result_retention_ms(got), 7000);
    ck_assert_int_eq(claimd_server_status_result_redelivery_window_ms(got), 8000);
    ck_assert(claimd_server_status_result_disk_reserve_reached(got));
    claimd_server_status_result_free(got);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("verbs");
    TCase *tcase = tcase_create("verbs");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, test_complete);
    tcase_add_test(tcase, test_reject);
    tcase_add_test(tcase, test_fail);
    tcase_add_test(tcase, test_renew);
    tcase_add_test(tcase, test_release);
    tcase_add_test(tcase, test_register);
    tcase_add_test(tcase, test_cancel);
    tcase_add_test(tcase, test_resolve);
    tcase_add_test(tcase, test_health);
    tcase_add_test(tcase, test_server_status);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
