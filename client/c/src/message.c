#include <claimd/v1/claims.pb-c.h>

#include "call.h"
#include "error.h"
#include "request.h"
#include "wire.h"

// Results are the answers themselves, under an opaque name.

enum claimd_status claimd_register(claimd_client *client,
                                   const struct claimd_register_request *given,
                                   claimd_register_result **out_result,
                                   struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_register_request request = CLAIMD_REGISTER_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Google__Protobuf__Timestamp event_time;
    Claimd__V1__RegisterRequest message = CLAIMD__V1__REGISTER_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.event_time = claimd__wire_time(&event_time, request.event_time_ms);
    message.payload_ref = claimd__wire_text(request.payload_ref);

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_REGISTER,
        .request = &message.base,
        .response_type = &claimd__v1__register_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_register_result *)response;
    return error->status;
}

void claimd_register_result_free(claimd_register_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__RegisterResponse *register_response(const claimd_register_result *result) {
    return (const Claimd__V1__RegisterResponse *)result;
}

bool claimd_register_result_created(const claimd_register_result *result) {
    return register_response(result)->created != 0;
}

enum claimd_state claimd_register_result_state(const claimd_register_result *result) {
    return (enum claimd_state)register_response(result)->state;
}

enum claimd_status claimd_cancel(claimd_client *client, const struct claimd_cancel_request *given,
                                 claimd_cancel_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_cancel_request request = CLAIMD_CANCEL_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__CancelRequest message = CLAIMD__V1__CANCEL_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.reason = claimd__wire_text(request.reason);

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_CANCEL,
        .request = &message.base,
        .response_type = &claimd__v1__cancel_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_cancel_result *)response;
    return error->status;
}

void claimd_cancel_result_free(claimd_cancel_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__CancelResponse *cancel_response(const claimd_cancel_result *result) {
    return (const Claimd__V1__CancelResponse *)result;
}

enum claimd_state claimd_cancel_result_state(const claimd_cancel_result *result) {
    return (enum claimd_state)cancel_response(result)->state;
}

bool claimd_cancel_result_replayed(const claimd_cancel_result *result) {
    return cancel_response(result)->replayed != 0;
}

enum claimd_status claimd_resolve(claimd_client *client, const struct claimd_resolve_request *given,
                                  claimd_resolve_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_resolve_request request = CLAIMD_RESOLVE_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__ResolveRequest message = CLAIMD__V1__RESOLVE_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.resolution = (Claimd__V1__Resolution)request.resolution;
    message.reason = claimd__wire_text(request.reason);
    if (request.result.data != NULL) {
        message.optional_result_case = CLAIMD__V1__RESOLVE_REQUEST__OPTIONAL_RESULT_RESULT;
        message.result = claimd__wire_bytes(request.result);
    }

    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_RESOLVE,
        .request = &message.base,
        .response_type = &claimd__v1__resolve_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_resolve_result *)response;
    return error->status;
}

void claimd_resolve_result_free(claimd_resolve_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__ResolveResponse *resolve_response(const claimd_resolve_result *result) {
    return (const Claimd__V1__ResolveResponse *)result;
}

enum claimd_state claimd_resolve_result_state(const claimd_resolve_result *result) {
    return (enum claimd_state)resolve_response(result)->state;
}
