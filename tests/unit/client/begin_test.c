// Begin over a real channel: what is sent, what comes back, and how a lease is counted.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <claimd/v1/claims.pb-c.h>

#include "client_fixture.h"

#define EQ_BYTES(data, size, text)                                                                 \
    do {                                                                                           \
        ck_assert_uint_eq((size), strlen(text));                                                   \
        ck_assert_mem_eq((data), (text), strlen(text));                                            \
    } while (0)
#define EQ_FIELD(field, text) EQ_BYTES((field).data, (field).len, text)

static ProtobufCBinaryData bytes_of(const char *text) {
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

// Answers a scripted response and keeps what was asked.
struct script {
    const Claimd__V1__BeginResponse *response;
    Claimd__V1__BeginRequest *asked;
};

// When the server had the last request. It answers in a later millisecond, so that a lease that is
// counted from the answer shows.
static int64_t served_ms;

static void answer(void *context, const struct fake_request *request, struct fake_reply *reply) {
    struct script *script = context;
    ck_assert_str_eq(request->method, "/claimd.v1.ClaimService/Begin");
    if (script->asked != NULL) claimd__v1__begin_request__free_unpacked(script->asked, NULL);
    script->asked = claimd__v1__begin_request__unpack(NULL, request->size, request->data);
    reply->messages[0] = &script->response->base;
    reply->messages_count = 1;
    served_ms = claimd_clock_ms();
    while (claimd_clock_ms() == served_ms) continue;
}

static claimd_begin_result *begin(const Claimd__V1__BeginResponse *response,
                                  const struct claimd_begin_request *request,
                                  Claimd__V1__BeginRequest **out_asked) {
    struct script script = {response, NULL};
    struct fake_server fake;
    fake_server_start(&fake, 0, answer, &script);
    claimd_client *client = client_fixture_open(fake.target);
    struct claimd_error error;
    claimd_begin_result *result = NULL;
    ck_assert_int_eq(claimd_begin(client, request, &result, &error), CLAIMD_OK);
    ck_assert_int_eq(error.status, CLAIMD_OK);
    ck_assert_ptr_nonnull(result);
    claimd_client_close(client);
    fake_server_stop(&fake);
    ck_assert_ptr_nonnull(script.asked);
    *out_asked = script.asked;
    return result;
}

START_TEST(test_every_field_is_sent) {
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    request.consumer = "billing/capture";
    request.message_id = "pi_1:captured";
    request.lease_ms = 1500;
    request.owner = "w1";
    request.request_id = "r-1";
    request.fingerprint = (struct claimd_bytes){"\0\1", 2};
    request.event_time_ms = -1;
    request.payload_ref = "payments/3/17";
    request.wait_ms = 0;
    request.replay = true;
    request.reclaim = true;
    Claimd__V1__BeginResponse response = CLAIMD__V1__BEGIN_RESPONSE__INIT;
    Claimd__V1__BeginRequest *asked;
    claimd_begin_result *result = begin(&response, &request, &asked);
    EQ_FIELD(asked->consumer, "billing/capture");
    EQ_FIELD(asked->message_id, "pi_1:captured");
    ck_assert_int_eq(asked->lease->seconds, 1);
    ck_assert_int_eq(asked->lease->nanos, 500000000);
    EQ_FIELD(asked->owner, "w1");
    EQ_FIELD(asked->request_id, "r-1");
    ck_assert_uint_eq(asked->fingerprint.len, 2);
    ck_assert_mem_eq(asked->fingerprint.data, "\0\1", 2);
    ck_assert_int_eq(asked->event_time->seconds, -1);
    ck_assert_int_eq(asked->event_time->nanos, 999000000);
    EQ_FIELD(asked->payload_ref, "payments/3/17");
    ck_assert_ptr_nonnull(asked->wait); // zero is not "unset"
    ck_assert_int_eq(asked->wait->seconds, 0);
    ck_assert_int_eq(asked->wait->nanos, 0);
    ck_assert(asked->replay);
    ck_assert(asked->reclaim);
    ck_assert_str_eq(claimd_begin_result_request_id(result), "r-1");
    claimd_begin_result_free(result);
    claimd__v1__begin_request__free_unpacked(asked, NULL);
}
END_TEST

START_TEST(test_what_is_not_given_is_not_sent) {
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    Claimd__V1__BeginResponse response = CLAIMD__V1__BEGIN_RESPONSE__INIT;
    Claimd__V1__BeginRequest *asked;
    claimd_begin_result *result = begin(&response, &request, &asked);
    ck_assert_ptr_null(asked->lease);
    ck_assert_ptr_null(asked->wait);
    ck_assert_ptr_null(asked->event_time);
    ck_assert_uint_eq(asked->owner.len, 0);
    ck_assert_uint_eq(asked->fingerprint.len, 0);
    ck_assert_uint_eq(asked->payload_ref.len, 0);
    ck_assert(!asked->replay);
    ck_assert(!asked->reclaim);
    // The library's own request_id: 128 random bits in hex, told to the caller.
    ck_assert_uint_eq(asked->request_id.len, 32);
    EQ_FIELD(asked->request_id, claimd_begin_result_request_id(result));
    claimd_begin_result_free(result);
    claimd__v1__begin_request__free_unpacked(asked, NULL);
}
END_TEST

START_TEST(test_claimed_is_read) {
    Google__Protobuf__Duration remaining = GOOGLE__PROTOBUF__DURATION__INIT;
    remaining.seconds = 29;
    remaining.nanos = 999999999; // parts of a millisecond are dropped: never longer than it is
    Google__Protobuf__Timestamp expire = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    expire.seconds = 1785576030;
    Claimd__V1__Lease lease = CLAIMD__V1__LEASE__INIT;
    lease.remaining = &remaining;
    lease.expire_time = &expire;
    Google__Protobuf__Timestamp occur = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    occur.seconds = 5;
    occur.nanos = 7000000;
    Claimd__V1__ClaimError failure = CLAIMD__V1__CLAIM_ERROR__INIT;
    failure.kind = CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT;
    failure.message = bytes_of("gateway");
    failure.occur_time = &occur;
    Claimd__V1__Takeover takeover = CLAIMD__V1__TAKEOVER__INIT;
    takeover.previous_owner = bytes_of("w0");
    takeover.previous_end = CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_LAPSED;
    takeover.last_error = &failure;
    takeover.optional_checkpoint_case = CLAIMD__V1__TAKEOVER__OPTIONAL_CHECKPOINT_CHECKPOINT;
    takeover.checkpoint = bytes_of(""); // empty is not absent
    Claimd__V1__BeginResponse response = CLAIMD__V1__BEGIN_RESPONSE__INIT;
    response.outcome = CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_CLAIMED;
    response.token = UINT64_C(1785576000000001);
    response.attempt = 2;
    response.lease = &lease;
    response.effect_key = bytes_of("00112233445566778899aabbccddeeff");
    response.takeover = &takeover;
    response.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_PROCESSING;

    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "m";
    Claimd__V1__BeginRequest *asked;
    int64_t before_ms = claimd_clock_ms();
    claimd_begin_result *result = begin(&response, &request, &asked);
    claimd__v1__begin_request__free_unpacked(asked, NULL);

    ck_assert_int_eq(claimd_begin_result_outcome(result), CLAIMD_BEGIN_CLAIMED);
    ck_assert_uint_eq(claimd_begin_result_token(result), UINT64_C(1785576000000001));
    ck_assert_uint_eq(claimd_begin_result_attempt(result), 2);
    ck_assert_int_eq(claimd_begin_result_state(result), CLAIMD_STATE_PROCESSING);
    ck_assert_int_eq(claimd_begin_result_lease_remaining_ms(result), 29999);
    ck_assert_int_ge(claimd_begin_result_lease_deadline_ms(result), before_ms + 29999);
    ck_assert_int_le(claimd_begin_result_lease_deadline_ms(result), served_ms + 29999);
    ck_assert_int_eq(claimd_begin_result_lease_expire_time_ms(result), INT64_C(1785576030000));
    ck_assert_str_eq(claimd_begin_result_effect_key(result), "00112233445566778899aabbccddeeff");
    const claimd_takeover *before = claimd_begin_result_takeover(result);
    ck_assert_str_eq(claimd_takeover_previous_owner(before), "w0");
    ck_assert_int_eq(claimd_takeover_previous_end(before), CLAIMD_END_LAPSED);
    ck_assert_ptr_nonnull(claimd_takeover_checkpoint(before).data);
    ck_assert_uint_eq(claimd_takeover_checkpoint(before).size, 0);
    const claimd_failure *last = claimd_takeover_last_error(before);
    ck_assert_int_eq(claimd_failure_kind_of(last), CLAIMD_FAILURE_TRANSIENT);
    ck_assert_str_eq(claimd_failure_message(last), "gateway");
    ck_assert_int_eq(claimd_failure_time_ms(last), 5007);
    // Nothing of the other outcomes.
    ck_assert_str_eq(claimd_begin_result_owner(result), "");
    ck_assert_str_eq(claimd_begin_result_reason(result), "");
    ck_assert_int_eq(claimd_begin_result_retry_after_ms(result), CLAIMD_UNSET_MS);
    ck_assert_int_eq(claimd_begin_result_next_attempt_time_ms(result), CLAIMD_UNSET_MS);
    ck_assert_int_eq(claimd_begin_result_complete_time_ms(result), CLAIMD_UNSET_MS);
    ck_assert_ptr_null(claimd_begin_result_stored_result(result).data);
    ck_assert_ptr_null(claimd_begin_result_checkpoint(result).data);
    ck_assert_ptr_null(claimd_begin_result_last_error(result));
    claimd_begin_result_free(result);
}
END_TEST

START_TEST(test_other_outcomes_are_read) {
    Google__Protobuf__Duration retry = GOOGLE__PROTOBUF__DURATION__INIT;
    retry.nanos = 1; // rounded up: never come back too early
    Google__Protobuf__Timestamp time = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    time.seconds = -1;
    time.nanos = 999000000;
    Claimd__V1__BeginResponse response = CLAIMD__V1__BEGIN_RESPONSE__INIT;
    response.outcome = CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_DUPLICATE;
    response.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_REJECTED;
    response.owner = bytes_of("w9");
    response.retry_after = &retry;
    response.next_attempt_time = &time;
    response.complete_time = &time;
    response.expire_time = &time;
    response.result_expired = true;
    response.result_omitted = true;
    response.reason = bytes_of("closed");
    response.optional_result_case = CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_RESULT_RESULT;
    response.result = (ProtobufCBinaryData){4, (uint8_t[]){'a', 0, 0xFF, 'b'}};
    response.optional_checkpoint_case = CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_CHECKPOINT_CHECKPOINT;
    response.checkpoint = bytes_of("half");
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    Claimd__V1__BeginRequest *asked;
    claimd_begin_result *result = begin(&response, &request, &asked);
    claimd__v1__begin_request__free_unpacked(asked, NULL);
    ck_assert_int_eq(claimd_begin_result_outcome(result), CLAIMD_BEGIN_DUPLICATE);
    ck_assert_int_eq(claimd_begin_result_state(result), CLAIMD_STATE_REJECTED);
    ck_assert_str_eq(claimd_begin_result_owner(result), "w9");
    ck_assert_int_eq(claimd_begin_result_retry_after_ms(result), 1);
    ck_assert_int_eq(claimd_begin_result_next_attempt_time_ms(result), -1);
    ck_assert_int_eq(claimd_begin_result_complete_time_ms(result), -1);
    ck_assert_int_eq(claimd_begin_result_expire_time_ms(result), -1);
    ck_assert(claimd_begin_result_stored_result_expired(result));
    ck_assert(claimd_begin_result_stored_result_omitted(result));
    ck_assert_str_eq(claimd_begin_result_reason(result), "closed");
    struct claimd_bytes body = claimd_begin_result_stored_result(result);
    ck_assert_uint_eq(body.size, 4);
    ck_assert_mem_eq(body.data, ((uint8_t[]){'a', 0, 0xFF, 'b'}), 4);
    struct claimd_bytes checkpoint = claimd_begin_result_checkpoint(result);
    EQ_BYTES(checkpoint.data, checkpoint.size, "half");
    ck_assert_int_eq(claimd_begin_result_lease_deadline_ms(result), CLAIMD_UNSET_MS);
    ck_assert_int_eq(claimd_begin_result_lease_remaining_ms(result), CLAIMD_UNSET_MS);
    ck_assert_ptr_null(claimd_begin_result_takeover(result));
    claimd_begin_result_free(result);
}
END_TEST

START_TEST(test_an_outcome_of_a_newer_service_is_passed_on) {
    Claimd__V1__BeginResponse response = CLAIMD__V1__BEGIN_RESPONSE__INIT;
    response.outcome = (Claimd__V1__BeginOutcome)99;
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    Claimd__V1__BeginRequest *asked;
    claimd_begin_result *result = begin(&response, &request, &asked);
    claimd__v1__begin_request__free_unpacked(asked, NULL);
    ck_assert_int_eq((int)claimd_begin_result_outcome(result), 99);
    ck_assert_str_eq(claimd_begin_outcome_name(claimd_begin_result_outcome(result)),
                     "UNRECOGNIZED");
    claimd_begin_result_free(result);
}
END_TEST

START_TEST(test_nothing_of_nothing) {
    ck_assert_int_eq(claimd_failure_kind_of(NULL), CLAIMD_FAILURE_UNSPECIFIED);
    ck_assert_str_eq(claimd_failure_message(NULL), "");
    ck_assert_int_eq(claimd_failure_time_ms(NULL), CLAIMD_UNSET_MS);
    ck_assert_str_eq(claimd_takeover_previous_owner(NULL), "");
    ck_assert_int_eq(claimd_takeover_previous_end(NULL), CLAIMD_END_UNSPECIFIED);
    ck_assert_ptr_null(claimd_takeover_last_error(NULL));
    ck_assert_ptr_null(claimd_takeover_checkpoint(NULL).data);
    claimd_begin_result_free(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("begin");
    TCase *tcase = tcase_create("begin");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_every_field_is_sent);
    tcase_add_test(tcase, test_what_is_not_given_is_not_sent);
    tcase_add_test(tcase, test_claimed_is_read);
    tcase_add_test(tcase, test_other_outcomes_are_read);
    tcase_add_test(tcase, test_an_outcome_of_a_newer_service_is_passed_on);
    tcase_add_test(tcase, test_nothing_of_nothing);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
