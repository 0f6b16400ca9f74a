#include <stdlib.h>

#include <claimd/v1/operations.pb-c.h>
#include <grpc/health/v1/health.pb-c.h>

#include "call.h"
#include "error.h"
#include "request.h"
#include "wire.h"

// --- get ----------------------------------------------------------------------------------------

enum claimd_status claimd_get(claimd_client *client, const struct claimd_get_request *given,
                              claimd_get_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_get_request request = CLAIMD_GET_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__GetClaimRequest message = CLAIMD__V1__GET_CLAIM_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.message_id = claimd__wire_text(request.message_id);
    message.include_bodies = request.include_bodies;
    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_GET_CLAIM,
        .request = &message.base,
        .response_type = &claimd__v1__get_claim_response__descriptor,
        .timeout_ms = request.timeout_ms,
        .reads_only = true,
    };
    ProtobufCMessage *response = NULL;
    if (claimd__call_unary(&call, &response, error) != CLAIMD_OK) return error->status;
    if (((Claimd__V1__GetClaimResponse *)response)->claim == NULL) {
        claimd__error_garbled(error, "the answer has no claim in it");
        error->maybe_happened = false;
    }
    if (error->status == CLAIMD_OK && out_result != NULL) {
        *out_result = (claimd_get_result *)response;
    } else {
        claimd__wire_free(response);
    }
    return error->status;
}

void claimd_get_result_free(claimd_get_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

const claimd_claim *claimd_get_result_claim(const claimd_get_result *result) {
    return (const claimd_claim *)((const Claimd__V1__GetClaimResponse *)result)->claim;
}

// --- the server ---------------------------------------------------------------------------------

enum claimd_status claimd_server_status(claimd_client *client,
                                        const struct claimd_server_status_request *given,
                                        claimd_server_status_result **out_result,
                                        struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_server_status_request request = CLAIMD_SERVER_STATUS_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Claimd__V1__GetStatusRequest message = CLAIMD__V1__GET_STATUS_REQUEST__INIT;
    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_GET_STATUS,
        .request = &message.base,
        .response_type = &claimd__v1__get_status_response__descriptor,
        .timeout_ms = request.timeout_ms,
        .reads_only = true,
    };
    ProtobufCMessage *response = NULL;
    claimd__call_unary(&call, out_result != NULL ? &response : NULL, error);
    if (response != NULL) *out_result = (claimd_server_status_result *)response;
    return error->status;
}

void claimd_server_status_result_free(claimd_server_status_result *result) {
    claimd__wire_free((ProtobufCMessage *)result);
}

static const Claimd__V1__GetStatusResponse *status_response(
    const claimd_server_status_result *result) {
    return (const Claimd__V1__GetStatusResponse *)result;
}

const char *claimd_server_status_result_version(const claimd_server_status_result *result) {
    return claimd__wire_string(status_response(result)->version);
}

int64_t claimd_server_status_result_start_time_ms(const claimd_server_status_result *result) {
    return claimd__wire_time_ms(status_response(result)->start_time);
}

bool claimd_server_status_result_durability_relaxed(const claimd_server_status_result *result) {
    return status_response(result)->durability_relaxed != 0;
}

uint64_t claimd_server_status_result_applied_position(const claimd_server_status_result *result) {
    return status_response(result)->applied_position;
}

int64_t claimd_server_status_result_store_time_ms(const claimd_server_status_result *result) {
    return claimd__wire_duration_ms(status_response(result)->store_time);
}

uint64_t claimd_server_status_result_records(const claimd_server_status_result *result,
                                             enum claimd_state state) {
    const Claimd__V1__GetStatusResponse *response = status_response(result);
    for (size_t i = 0; i < response->n_states; i++) {
        if ((int)response->states[i]->state == (int)state) return response->states[i]->count;
    }
    return 0;
}

uint64_t claimd_server_status_result_begins(const claimd_server_status_result *result,
                                            enum claimd_begin_outcome outcome) {
    const Claimd__V1__GetStatusResponse *response = status_response(result);
    for (size_t i = 0; i < response->n_begins; i++) {
        if ((int)response->begins[i]->outcome == (int)outcome) return response->begins[i]->count;
    }
    return 0;
}

uint64_t claimd_server_status_result_replay_claimed_count(
    const claimd_server_status_result *result) {
    return status_response(result)->replay_claimed_count;
}

int64_t claimd_server_status_result_retention_ms(const claimd_server_status_result *result) {
    return claimd__wire_duration_ms(status_response(result)->retention);
}

int64_t claimd_server_status_result_redelivery_window_ms(
    const claimd_server_status_result *result) {
    return claimd__wire_duration_ms(status_response(result)->redelivery_window);
}

bool claimd_server_status_result_disk_reserve_reached(const claimd_server_status_result *result) {
    return status_response(result)->disk_reserve_reached != 0;
}

// --- health -------------------------------------------------------------------------------------

enum claimd_status claimd_health(claimd_client *client, const struct claimd_health_request *given,
                                 bool *out_serving, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_health_request request = CLAIMD_HEALTH_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;

    Grpc__Health__V1__HealthCheckRequest message;
    grpc__health__v1__health_check_request__init(&message);
    // Packing does not write to it; the generated type is shared with unpacking.
    if (request.service != NULL) message.service = (char *)(uintptr_t)request.service;
    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_HEALTH_CHECK,
        .request = &message.base,
        .response_type = &grpc__health__v1__health_check_response__descriptor,
        .timeout_ms = request.timeout_ms,
        .reads_only = true,
    };
    ProtobufCMessage *response = NULL;
    if (claimd__call_unary(&call, &response, error) != CLAIMD_OK) return error->status;
    if (out_serving != NULL) {
        *out_serving = ((Grpc__Health__V1__HealthCheckResponse *)response)->status ==
                       GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
    }
    claimd__wire_free(response);
    return CLAIMD_OK;
}
