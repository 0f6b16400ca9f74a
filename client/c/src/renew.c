#include <stdlib.h>

#include <claimd/v1/claims.pb-c.h>

#include "call.h"
#include "error.h"
#include "request.h"
#include "wire.h"

// Unlike the other verbs' results this one needs to know when it was asked.
struct claimd_renew_result {
    Claimd__V1__RenewResponse *message;
    int64_t sent_ms;
};

enum claimd_status claimd_renew(claimd_client *client, const struct claimd_renew_request *given,
                                claimd_renew_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_renew_request request = CLAIMD_RENEW_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;
    claimd_renew_result *result = calloc(1, sizeof *result);
    if (result == NULL) return claimd__error_memory(error);

    Google__Protobuf__Duration lease;
    Claimd__V1__RenewRequest message = CLAIMD__V1__RENEW_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.token = request.token;
    message.lease = claimd__wire_duration(&lease, request.lease_ms);
    if (request.checkpoint.data != NULL) {
        message.optional_checkpoint_case =
            CLAIMD__V1__RENEW_REQUEST__OPTIONAL_CHECKPOINT_CHECKPOINT;
        message.checkpoint = claimd__wire_bytes(request.checkpoint);
    }
    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_RENEW,
        .request = &message.base,
        .response_type = &claimd__v1__renew_response__descriptor,
        .timeout_ms = request.timeout_ms,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, &response, error);
    result->message = (Claimd__V1__RenewResponse *)response;
    result->sent_ms = call.sent_ms;
    if (error->status == CLAIMD_OK && out_result != NULL)
        *out_result = result;
    else
        claimd_renew_result_free(result);
    return error->status;
}

void claimd_renew_result_free(claimd_renew_result *result) {
    if (result == NULL) return;
    if (result->message != NULL) claimd__wire_free(&result->message->base);
    free(result);
}

int64_t claimd_renew_result_lease_deadline_ms(const claimd_renew_result *result) {
    return claimd__wire_lease_deadline_ms(result->message->lease, result->sent_ms);
}

int64_t claimd_renew_result_lease_remaining_ms(const claimd_renew_result *result) {
    return claimd__wire_lease_remaining_ms(result->message->lease);
}

int64_t claimd_renew_result_lease_expire_time_ms(const claimd_renew_result *result) {
    return claimd__wire_lease_expire_time_ms(result->message->lease);
}

bool claimd_renew_result_lapsed(const claimd_renew_result *result) {
    return result->message->lapsed != 0;
}
