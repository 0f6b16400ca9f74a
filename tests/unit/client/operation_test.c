// Get and Prune over a real channel: a whole claim, and a stream that ends well, badly, or early.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <claimd/v1/operations.pb-c.h>

#include "client_fixture.h"

static ProtobufCBinaryData bytes_of(const char *text) {
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static Google__Protobuf__Timestamp time_at(int64_t seconds) {
    Google__Protobuf__Timestamp time = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    time.seconds = seconds;
    return time;
}

// --- get ----------------------------------------------------------------------------------------

struct get_script {
    const Claimd__V1__GetClaimResponse *response;
    bool include_bodies;
};

static void answer_get(void *context, const struct fake_request *request,
                       struct fake_reply *reply) {
    struct get_script *script = context;
    ck_assert_str_eq(request->method, "/claimd.v1.OperationService/GetClaim");
    Claimd__V1__GetClaimRequest *asked =
        claimd__v1__get_claim_request__unpack(NULL, request->size, request->data);
    ck_assert_uint_eq(asked->consumer.len, 1);
    ck_assert_uint_eq(asked->message_id.len, 2);
    script->include_bodies = asked->include_bodies != 0;
    claimd__v1__get_claim_request__free_unpacked(asked, NULL);
    reply->messages[0] = &script->response->base;
    reply->messages_count = 1;
}

static enum claimd_status get(struct get_script *script, bool include_bodies,
                              claimd_get_result **out_result, struct claimd_error *error) {
    struct fake_server fake;
    fake_server_start(&fake, 0, answer_get, script);
    claimd_client *client = client_fixture_open(fake.target);
    struct claimd_get_request request = CLAIMD_GET_REQUEST_INIT;
    request.consumer = "c";
    request.message_id = "mm";
    request.include_bodies = include_bodies;
    enum claimd_status status = claimd_get(client, &request, out_result, error);
    claimd_client_close(client);
    fake_server_stop(&fake);
    return status;
}

START_TEST(test_a_whole_claim) {
    Google__Protobuf__Timestamp times[] = {time_at(0), time_at(1), time_at(2), time_at(3),
                                           time_at(4), time_at(5), time_at(6), time_at(7)};
    Google__Protobuf__Duration remaining = GOOGLE__PROTOBUF__DURATION__INIT;
    remaining.nanos = 500000000;
    Claimd__V1__RetryCounts retries = CLAIMD__V1__RETRY_COUNTS__INIT;
    retries.transient = 1;
    retries.unclassified = 2;
    retries.poison = 3;
    retries.lapsed = 4;
    Claimd__V1__Lease lease = CLAIMD__V1__LEASE__INIT;
    lease.remaining = &remaining;
    lease.expire_time = &times[7];
    Claimd__V1__ClaimError failure = CLAIMD__V1__CLAIM_ERROR__INIT;
    failure.message = bytes_of("bad");
    Claimd__V1__Attempt attempt = CLAIMD__V1__ATTEMPT__INIT;
    attempt.attempt = 9;
    attempt.owner = bytes_of("w1");
    attempt.begin_time = &times[1];
    attempt.end_time = &times[2];
    attempt.end = CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_FAILED;
    attempt.error = bytes_of("oops");
    Claimd__V1__Attempt *attempts[] = {&attempt};
    Claimd__V1__BodyInfo info = CLAIMD__V1__BODY_INFO__INIT;
    info.size_bytes = 4;
    info.sha256 = bytes_of("digest");
    info.expired = true;
    Claimd__V1__Claim claim = CLAIMD__V1__CLAIM__INIT;
    claim.consumer = bytes_of("c");
    claim.message_id = bytes_of("mm");
    claim.state = CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_PROCESSING;
    claim.attempt = 9;
    claim.lapsed = true;
    claim.retries = &retries;
    claim.owner = bytes_of("w2");
    claim.lease = &lease;
    claim.last_error = &failure;
    claim.next_attempt_time = &times[1];
    claim.create_time = &times[2];
    claim.update_time = &times[3];
    claim.complete_time = &times[4];
    claim.expire_time = &times[5];
    claim.event_time = &times[6];
    claim.fingerprint = bytes_of("fp");
    claim.payload_ref = bytes_of("p/1");
    claim.reason = bytes_of("why");
    claim.reopen_count = 5;
    claim.effect_key = bytes_of("ek");
    claim.attempts = attempts;
    claim.n_attempts = 1;
    claim.result_info = &info;
    claim.optional_payload_case = CLAIMD__V1__CLAIM__OPTIONAL_PAYLOAD_PAYLOAD;
    claim.payload = bytes_of("");
    Claimd__V1__GetClaimResponse response = CLAIMD__V1__GET_CLAIM_RESPONSE__INIT;
    response.claim = &claim;

    struct get_script script = {.response = &response};
    claimd_get_result *result = NULL;
    ck_assert_int_eq(get(&script, true, &result, NULL), CLAIMD_OK);
    ck_assert(script.include_bodies);
    const claimd_claim *got = claimd_get_result_claim(result);
    ck_assert_str_eq(claimd_claim_consumer(got), "c");
    ck_assert_str_eq(claimd_claim_message_id(got), "mm");
    ck_assert_int_eq(claimd_claim_state(got), CLAIMD_STATE_PROCESSING);
    ck_assert_uint_eq(claimd_claim_attempt(got), 9);
    ck_assert(claimd_claim_lapsed(got));
    ck_assert_uint_eq(claimd_claim_retries(got, CLAIMD_FAILURE_TRANSIENT), 1);
    ck_assert_uint_eq(claimd_claim_retries(got, CLAIMD_FAILURE_UNCLASSIFIED), 2);
    ck_assert_uint_eq(claimd_claim_retries(got, CLAIMD_FAILURE_POISON), 3);
    ck_assert_uint_eq(claimd_claim_retries(got, CLAIMD_FAILURE_LAPSED), 4);
    ck_assert_uint_eq(claimd_claim_retries(got, CLAIMD_FAILURE_OUTCOME_UNKNOWN), 0);
    ck_assert_str_eq(claimd_claim_owner(got), "w2");
    ck_assert_int_eq(claimd_claim_lease_remaining_ms(got), 500);
    ck_assert_int_eq(claimd_claim_lease_expire_time_ms(got), 7000);
    ck_assert_str_eq(claimd_failure_message(claimd_claim_last_error(got)), "bad");
    ck_assert_int_eq(claimd_claim_next_attempt_time_ms(got), 1000);
    ck_assert_int_eq(claimd_claim_create_time_ms(got), 2000);
    ck_assert_int_eq(claimd_claim_update_time_ms(got), 3000);
    ck_assert_int_eq(claimd_claim_complete_time_ms(got), 4000);
    ck_assert_int_eq(claimd_claim_expire_time_ms(got), 5000);
    ck_assert_int_eq(claimd_claim_event_time_ms(got), 6000);
    ck_assert_uint_eq(claimd_claim_fingerprint(got).size, 2);
    ck_assert_str_eq(claimd_claim_payload_ref(got), "p/1");
    ck_assert_str_eq(claimd_claim_reason(got), "why");
    ck_assert_uint_eq(claimd_claim_reopen_count(got), 5);
    ck_assert_str_eq(claimd_claim_effect_key(got), "ek");
    ck_assert_uint_eq(claimd_claim_attempts_count(got), 1);
    ck_assert_ptr_null(claimd_claim_attempts_at(got, 1));
    const claimd_attempt *first = claimd_claim_attempts_at(got, 0);
    ck_assert_uint_eq(claimd_attempt_number(first), 9);
    ck_assert_str_eq(claimd_attempt_owner(first), "w1");
    ck_assert_int_eq(claimd_attempt_begin_time_ms(first), 1000);
    ck_assert_int_eq(claimd_attempt_end_time_ms(first), 2000);
    ck_assert_int_eq(claimd_attempt_end_of(first), CLAIMD_END_FAILED);
    ck_assert_str_eq(claimd_attempt_error(first), "oops");
    ck_assert(claimd_claim_body_exists(got, CLAIMD_BODY_RESULT));
    ck_assert(!claimd_claim_body_exists(got, CLAIMD_BODY_CHECKPOINT));
    ck_assert_uint_eq(claimd_claim_body_size(got, CLAIMD_BODY_RESULT), 4);
    ck_assert_uint_eq(claimd_claim_body_size(got, CLAIMD_BODY_PAYLOAD), 0);
    ck_assert(claimd_claim_body_expired(got, CLAIMD_BODY_RESULT));
    ck_assert_uint_eq(claimd_claim_body_sha256(got, CLAIMD_BODY_RESULT).size, 6);
    ck_assert_ptr_null(claimd_claim_body(got, CLAIMD_BODY_RESULT).data);
    ck_assert_ptr_null(claimd_claim_body(got, CLAIMD_BODY_CHECKPOINT).data);
    ck_assert_ptr_nonnull(claimd_claim_body(got, CLAIMD_BODY_PAYLOAD).data);
    ck_assert_uint_eq(claimd_claim_body(got, CLAIMD_BODY_PAYLOAD).size, 0);
    claimd_get_result_free(result);
}
END_TEST

START_TEST(test_an_empty_claim) {
    Claimd__V1__Claim claim = CLAIMD__V1__CLAIM__INIT;
    Claimd__V1__GetClaimResponse response = CLAIMD__V1__GET_CLAIM_RESPONSE__INIT;
    response.claim = &claim;
    struct get_script script = {.response = &response};
    claimd_get_result *result = NULL;
    ck_assert_int_eq(get(&script, false, &result, NULL), CLAIMD_OK);
    ck_assert(!script.include_bodies);
    const claimd_claim *got = claimd_get_result_claim(result);
    ck_assert_str_eq(claimd_claim_owner(got), "");
    ck_assert_uint_eq(claimd_claim_retries(got, CLAIMD_FAILURE_TRANSIENT), 0);
    ck_assert_ptr_null(claimd_claim_last_error(got));
    ck_assert_int_eq(claimd_claim_lease_remaining_ms(got), CLAIMD_UNSET_MS);
    ck_assert_int_eq(claimd_claim_event_time_ms(got), CLAIMD_UNSET_MS);
    ck_assert_ptr_null(claimd_claim_fingerprint(got).data);
    ck_assert_uint_eq(claimd_claim_attempts_count(got), 0);
    claimd_get_result_free(result);
}
END_TEST

START_TEST(test_no_claim_in_the_answer) {
    Claimd__V1__GetClaimResponse response = CLAIMD__V1__GET_CLAIM_RESPONSE__INIT;
    struct get_script script = {.response = &response};
    claimd_get_result *result = NULL;
    struct claimd_error error;
    ck_assert_int_eq(get(&script, false, &result, &error), CLAIMD_INTERNAL);
    ck_assert_ptr_null(result);
    ck_assert(!error.maybe_happened);
}
END_TEST

// --- prune --------------------------------------------------------------------------------------

struct prune_script {
    Claimd__V1__PruneResponse responses[3];
    size_t count;
    int code;
    unsigned refusals; // as many calls are refused first, with claimd's details
    struct client_fixture_details details;
    unsigned calls;
    // what was asked, and what was told
    int64_t before_seconds;
    bool dry_run;
    bool force;
    uint64_t told[3];
    unsigned told_count;
    unsigned stop_after;
};

static void answer_prune(void *context, const struct fake_request *request,
                         struct fake_reply *reply) {
    struct prune_script *script = context;
    ck_assert_str_eq(request->method, "/claimd.v1.OperationService/Prune");
    Claimd__V1__PruneRequest *asked =
        claimd__v1__prune_request__unpack(NULL, request->size, request->data);
    script->before_seconds = asked->before != NULL ? asked->before->seconds : 0;
    script->dry_run = asked->dry_run != 0;
    script->force = asked->force != 0;
    claimd__v1__prune_request__free_unpacked(asked, NULL);
    if (script->calls++ < script->refusals) {
        client_fixture_details(&script->details, "claimd", "DRAINING", NULL, 1);
        reply->details = &script->details.status.base;
        reply->code = CLAIMD_UNAVAILABLE;
        return;
    }
    for (size_t i = 0; i < script->count; i++) reply->messages[i] = &script->responses[i].base;
    reply->messages_count = script->count;
    reply->code = script->code;
}

static bool tell(void *context, uint64_t scanned_count, uint64_t removed_count) {
    struct prune_script *script = context;
    ck_assert_uint_eq(scanned_count, removed_count + 100);
    script->told[script->told_count++] = removed_count;
    return script->told_count != script->stop_after;
}

static enum claimd_status prune(struct prune_script *script, claimd_prune_result **out_result,
                                struct claimd_error *error) {
    for (size_t i = 0; i < 3; i++) {
        claimd__v1__prune_response__init(&script->responses[i]);
        script->responses[i].removed_count = i + 1;
        script->responses[i].scanned_count = i + 101;
        script->responses[i].done = i == 2;
    }
    struct fake_server fake;
    fake_server_start(&fake, 0, answer_prune, script);
    claimd_client *client = client_fixture_open(fake.target);
    struct claimd_prune_request request = CLAIMD_PRUNE_REQUEST_INIT;
    request.before_ms = 5000;
    request.dry_run = true;
    request.force = true;
    request.on_progress = tell;
    request.on_progress_context = script;
    enum claimd_status status = claimd_prune(client, &request, out_result, error);
    claimd_client_close(client);
    fake_server_stop(&fake);
    return status;
}

START_TEST(test_prune_tells_and_counts) {
    struct prune_script script = {.count = 3, .refusals = 2};
    claimd_prune_result *result = NULL;
    struct claimd_error error;
    ck_assert_int_eq(prune(&script, &result, &error), CLAIMD_OK);
    ck_assert_int_eq(error.status, CLAIMD_OK);
    ck_assert_uint_eq(script.calls, 3);
    ck_assert_int_eq(script.before_seconds, 5);
    ck_assert(script.dry_run);
    ck_assert(script.force);
    ck_assert_uint_eq(script.told_count, 3);
    ck_assert_uint_eq(script.told[0], 1);
    ck_assert_uint_eq(script.told[2], 3);
    ck_assert_uint_eq(claimd_prune_result_removed_count(result), 3);
    ck_assert_uint_eq(claimd_prune_result_scanned_count(result), 103);
    claimd_prune_result_free(result);
}
END_TEST

START_TEST(test_prune_that_breaks_off_is_not_begun_again) {
    struct prune_script script = {.count = 2, .code = CLAIMD_UNAVAILABLE};
    claimd_prune_result *result = NULL;
    struct claimd_error error;
    ck_assert_int_eq(prune(&script, &result, &error), CLAIMD_UNAVAILABLE);
    ck_assert_uint_eq(script.calls, 1);
    ck_assert_ptr_null(result);
    ck_assert(error.maybe_happened);
}
END_TEST

START_TEST(test_prune_without_an_end_is_no_success) {
    struct prune_script script = {.count = 2};
    claimd_prune_result *result = NULL;
    struct claimd_error error;
    ck_assert_int_eq(prune(&script, &result, &error), CLAIMD_INTERNAL);
    ck_assert_ptr_null(result);
}
END_TEST

START_TEST(test_prune_can_be_stopped) {
    struct prune_script script = {.count = 3, .stop_after = 1};
    claimd_prune_result *result = NULL;
    struct claimd_error error;
    enum claimd_status status = prune(&script, &result, &error);
    ck_assert_uint_eq(script.told_count, 1);
    ck_assert_uint_eq(script.calls, 1);
    ck_assert_int_eq(status, CLAIMD_CANCELLED);
    ck_assert(error.maybe_happened);
    ck_assert(!error.retryable);
    ck_assert_ptr_null(result);

    // With the last message it is too late to stop.
    script = (struct prune_script){.count = 3, .stop_after = 3};
    ck_assert_int_eq(prune(&script, &result, &error), CLAIMD_OK);
    ck_assert_uint_eq(claimd_prune_result_removed_count(result), 3);
    claimd_prune_result_free(result);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("operation");
    TCase *tcase = tcase_create("operation");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_a_whole_claim);
    tcase_add_test(tcase, test_an_empty_claim);
    tcase_add_test(tcase, test_no_claim_in_the_answer);
    tcase_add_test(tcase, test_prune_tells_and_counts);
    tcase_add_test(tcase, test_prune_that_breaks_off_is_not_begun_again);
    tcase_add_test(tcase, test_prune_without_an_end_is_no_success);
    tcase_add_test(tcase, test_prune_can_be_stopped);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
