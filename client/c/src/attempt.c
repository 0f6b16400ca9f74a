#include <claimd/v1/claims.pb-c.h>

#include "call.h"
#include "error.h"
#include "request.h"
#include "wire.h"

// Results are the answers themselves, under an opaque name.

enum claimd_status claimd_complete(claimd_client *client,
                                   const struct claimd_complete_request *given,
                                   claimd_complete_result **out_result,
                                   struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_complete_request request = CLAIMD_COMPLETE_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__CompleteRequest message = CLAIMD__V1__COMPLETE_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.token = request.token;
    if (request.result.data != NULL) {
        message.optional_result_case = CLAIMD__V1__COMPLETE_REQUEST__OPTIONAL_RESULT_RESULT;
        message.result = claimd__wire_bytes(request.result);
    }

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_COMPLETE,
        .request = &message.base,
        .response_type = &claimd__v1__complete_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_complete_result *)response;
    return error->status;
}

void claimd_complete_result_free(claimd_complete_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__CompleteResponse *complete_response(const claimd_complete_result *result) {
    return (const Claimd__V1__CompleteResponse *)result;
}

enum claimd_state claimd_complete_result_state(const claimd_complete_result *result) {
    return (enum claimd_state)complete_response(result)->state;
}

bool claimd_complete_result_replayed(const claimd_complete_result *result) {
    return complete_response(result)->replayed != 0;
}

int64_t claimd_complete_result_complete_time_ms(const claimd_complete_result *result) {
    return claimd__wire_time_ms(complete_response(result)->complete_time);
}

int64_t claimd_complete_result_expire_time_ms(const claimd_complete_result *result) {
    return claimd__wire_time_ms(complete_response(result)->expire_time);
}

enum claimd_status claimd_reject(claimd_client *client, const struct claimd_reject_request *given,
                                 claimd_reject_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_reject_request request = CLAIMD_REJECT_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__RejectRequest message = CLAIMD__V1__REJECT_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.token = request.token;
    message.reason = claimd__wire_text(request.reason);
    if (request.result.data != NULL) {
        message.optional_result_case = CLAIMD__V1__REJECT_REQUEST__OPTIONAL_RESULT_RESULT;
        message.result = claimd__wire_bytes(request.result);
    }

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_REJECT,
        .request = &message.base,
        .response_type = &claimd__v1__reject_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_reject_result *)response;
    return error->status;
}

void claimd_reject_result_free(claimd_reject_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__RejectResponse *reject_response(const claimd_reject_result *result) {
    return (const Claimd__V1__RejectResponse *)result;
}

enum claimd_state claimd_reject_result_state(const claimd_reject_result *result) {
    return (enum claimd_state)reject_response(result)->state;
}

bool claimd_reject_result_replayed(const claimd_reject_result *result) {
    return reject_response(result)->replayed != 0;
}

int64_t claimd_reject_result_complete_time_ms(const claimd_reject_result *result) {
    return claimd__wire_time_ms(reject_response(result)->complete_time);
}

int64_t claimd_reject_result_expire_time_ms(const claimd_reject_result *result) {
    return claimd__wire_time_ms(reject_response(result)->expire_time);
}

enum claimd_status claimd_fail(claimd_client *client, const struct claimd_fail_request *given,
                               claimd_fail_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_fail_request request = CLAIMD_FAIL_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Google__Protobuf__Duration retry_after;
    Claimd__V1__FailRequest message = CLAIMD__V1__FAIL_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.token = request.token;
    message.kind = (Claimd__V1__FailureKind)request.kind;
    message.message = claimd__wire_text(request.message);
    message.retry_after = claimd__wire_duration(&retry_after, request.retry_after_ms);
    if (request.payload.data != NULL) {
        message.optional_payload_case = CLAIMD__V1__FAIL_REQUEST__OPTIONAL_PAYLOAD_PAYLOAD;
        message.payload = claimd__wire_bytes(request.payload);
    }

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_FAIL,
        .request = &message.base,
        .response_type = &claimd__v1__fail_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_fail_result *)response;
    return error->status;
}

void claimd_fail_result_free(claimd_fail_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__FailResponse *fail_response(const claimd_fail_result *result) {
    return (const Claimd__V1__FailResponse *)result;
}

enum claimd_state claimd_fail_result_state(const claimd_fail_result *result) {
    return (enum claimd_state)fail_response(result)->state;
}

bool claimd_fail_result_replayed(const claimd_fail_result *result) {
    return fail_response(result)->replayed != 0;
}

int64_t claimd_fail_result_next_attempt_time_ms(const claimd_fail_result *result) {
    return claimd__wire_time_ms(fail_response(result)->next_attempt_time);
}

int64_t claimd_fail_result_retry_after_ms(const claimd_fail_result *result) {
    return claimd__wire_duration_up_ms(fail_response(result)->retry_after);
}

enum claimd_status claimd_release(claimd_client *client, const struct claimd_release_request *given,
                                  claimd_release_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_release_request request = CLAIMD_RELEASE_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__ReleaseRequest message = CLAIMD__V1__RELEASE_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.token = request.token;

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_RELEASE,
        .request = &message.base,
        .response_type = &claimd__v1__release_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_release_result *)response;
    return error->status;
}

void claimd_release_result_free(claimd_release_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__ReleaseResponse *release_response(const claimd_release_result *result) {
    return (const Claimd__V1__ReleaseResponse *)result;
}

enum claimd_state claimd_release_result_state(const claimd_release_result *result) {
    return (enum claimd_state)release_response(result)->state;
}

bool claimd_release_result_replayed(const claimd_release_result *result) {
    return release_response(result)->replayed != 0;
}
