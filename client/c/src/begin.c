#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <claimd/v1/claims.pb-c.h>

#include "call.h"
#include "error.h"
#include "random.h"
#include "request.h"
#include "wire.h"

struct claimd_begin_result {
    Claimd__V1__BeginResponse *message;
    int64_t sent_ms;
    char *request_id;
};

// Opaque parts of a result are the messages themselves.
static const Claimd__V1__ClaimError *failure_of(const claimd_failure *failure) {
    return (const Claimd__V1__ClaimError *)failure;
}

static const Claimd__V1__Takeover *takeover_of(const claimd_takeover *takeover) {
    return (const Claimd__V1__Takeover *)takeover;
}

// What a request's message points to besides the request.
struct begin_storage {
    Google__Protobuf__Duration lease;
    Google__Protobuf__Duration wait;
    Google__Protobuf__Timestamp event_time;
};

static Claimd__V1__BeginRequest begin_message(const struct claimd_begin_request *request,
                                              struct begin_storage *storage) {
    Claimd__V1__BeginRequest message = CLAIMD__V1__BEGIN_REQUEST__INIT;
    message.consumer = claimd__wire_text(request->consumer);
    message.message_id = claimd__wire_text(request->message_id);
    message.lease = claimd__wire_duration(&storage->lease, request->lease_ms);
    message.owner = claimd__wire_text(request->owner);
    message.request_id = claimd__wire_text(request->request_id);
    message.fingerprint = claimd__wire_bytes(request->fingerprint);
    message.event_time = claimd__wire_time(&storage->event_time, request->event_time_ms);
    message.payload_ref = claimd__wire_text(request->payload_ref);
    message.wait = claimd__wire_duration(&storage->wait, request->wait_ms);
    message.replay = request->replay;
    message.reclaim = request->reclaim;
    return message;
}

enum claimd_status claimd_begin(claimd_client *client, const struct claimd_begin_request *given,
                                claimd_begin_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;
    if (out_result == NULL) {
        return claimd__error_argument(error, "out_result", "a claim needs somewhere to go");
    }
    char random_id[RANDOM_HEX_BYTES];
    if (request.request_id == NULL || request.request_id[0] == '\0') {
        claimd__random_hex(random_id);
        request.request_id = random_id;
    }
    // Everything that can fail here does so before a claim may exist.
    claimd_begin_result *result = calloc(1, sizeof *result);
    char *request_id = strdup(request.request_id);
    if (result == NULL || request_id == NULL) {
        free(result);
        free(request_id);
        return claimd__error_memory(error);
    }
    result->request_id = request_id;

    struct begin_storage storage;
    Claimd__V1__BeginRequest message = begin_message(&request, &storage);
    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_BEGIN,
        .request = &message.base,
        .response_type = &claimd__v1__begin_response__descriptor,
        .timeout_ms = request.timeout_ms,
        .extra_ms = request.wait_ms > 0 ? request.wait_ms : 0,
    };
    ProtobufCMessage *response = NULL;
    if (claimd__call_unary(&call, &response, error) != CLAIMD_OK) {
        claimd_begin_result_free(result);
        return error->status;
    }
    result->message = (Claimd__V1__BeginResponse *)response;
    result->sent_ms = call.sent_ms;
    *out_result = result;
    return CLAIMD_OK;
}

void claimd_begin_result_free(claimd_begin_result *result) {
    if (result == NULL) return;
    if (result->message != NULL) claimd__wire_free(&result->message->base);
    free(result->request_id);
    free(result);
}

enum claimd_begin_outcome claimd_begin_result_outcome(const claimd_begin_result *result) {
    return (enum claimd_begin_outcome)result->message->outcome;
}

uint64_t claimd_begin_result_token(const claimd_begin_result *result) {
    return result->message->token;
}

uint32_t claimd_begin_result_attempt(const claimd_begin_result *result) {
    return result->message->attempt;
}

enum claimd_state claimd_begin_result_state(const claimd_begin_result *result) {
    return (enum claimd_state)result->message->state;
}

int64_t claimd_begin_result_lease_deadline_ms(const claimd_begin_result *result) {
    return claimd__wire_lease_deadline_ms(result->message->lease, result->sent_ms);
}

int64_t claimd_begin_result_lease_remaining_ms(const claimd_begin_result *result) {
    return claimd__wire_lease_remaining_ms(result->message->lease);
}

int64_t claimd_begin_result_lease_expire_time_ms(const claimd_begin_result *result) {
    return claimd__wire_lease_expire_time_ms(result->message->lease);
}

const char *claimd_begin_result_effect_key(const claimd_begin_result *result) {
    return claimd__wire_string(result->message->effect_key);
}

const claimd_takeover *claimd_begin_result_takeover(const claimd_begin_result *result) {
    return (const claimd_takeover *)result->message->takeover;
}

const char *claimd_begin_result_request_id(const claimd_begin_result *result) {
    return result->request_id;
}

const char *claimd_begin_result_owner(const claimd_begin_result *result) {
    return claimd__wire_string(result->message->owner);
}

int64_t claimd_begin_result_retry_after_ms(const claimd_begin_result *result) {
    return claimd__wire_duration_up_ms(result->message->retry_after);
}

int64_t claimd_begin_result_next_attempt_time_ms(const claimd_begin_result *result) {
    return claimd__wire_time_ms(result->message->next_attempt_time);
}

const claimd_failure *claimd_begin_result_last_error(const claimd_begin_result *result) {
    return (const claimd_failure *)result->message->last_error;
}

struct claimd_bytes claimd_begin_result_checkpoint(const claimd_begin_result *result) {
    const Claimd__V1__BeginResponse *message = result->message;
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    return message->optional_checkpoint_case ==
                   CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_CHECKPOINT_CHECKPOINT
               ? claimd__wire_body(message->checkpoint)
               : absent;
}

int64_t claimd_begin_result_complete_time_ms(const claimd_begin_result *result) {
    return claimd__wire_time_ms(result->message->complete_time);
}

int64_t claimd_begin_result_expire_time_ms(const claimd_begin_result *result) {
    return claimd__wire_time_ms(result->message->expire_time);
}

struct claimd_bytes claimd_begin_result_stored_result(const claimd_begin_result *result) {
    const Claimd__V1__BeginResponse *message = result->message;
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    return message->optional_result_case == CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_RESULT_RESULT
               ? claimd__wire_body(message->result)
               : absent;
}

bool claimd_begin_result_stored_result_expired(const claimd_begin_result *result) {
    return result->message->result_expired != 0;
}

bool claimd_begin_result_stored_result_omitted(const claimd_begin_result *result) {
    return result->message->result_omitted != 0;
}

const char *claimd_begin_result_reason(const claimd_begin_result *result) {
    return claimd__wire_string(result->message->reason);
}

enum claimd_failure_kind claimd_failure_kind_of(const claimd_failure *failure) {
    return failure != NULL ? (enum claimd_failure_kind)failure_of(failure)->kind
                           : CLAIMD_FAILURE_UNSPECIFIED;
}

const char *claimd_failure_message(const claimd_failure *failure) {
    return failure != NULL ? claimd__wire_string(failure_of(failure)->message) : "";
}

int64_t claimd_failure_time_ms(const claimd_failure *failure) {
    return failure != NULL ? claimd__wire_time_ms(failure_of(failure)->occur_time)
                           : CLAIMD_UNSET_MS;
}

const char *claimd_takeover_previous_owner(const claimd_takeover *takeover) {
    return takeover != NULL ? claimd__wire_string(takeover_of(takeover)->previous_owner) : "";
}

enum claimd_attempt_end claimd_takeover_previous_end(const claimd_takeover *takeover) {
    return takeover != NULL ? (enum claimd_attempt_end)takeover_of(takeover)->previous_end
                            : CLAIMD_END_UNSPECIFIED;
}

const claimd_failure *claimd_takeover_last_error(const claimd_takeover *takeover) {
    return takeover != NULL ? (const claimd_failure *)takeover_of(takeover)->last_error : NULL;
}

struct claimd_bytes claimd_takeover_checkpoint(const claimd_takeover *takeover) {
    struct claimd_bytes absent = CLAIMD_BYTES_ABSENT;
    return takeover != NULL && takeover_of(takeover)->optional_checkpoint_case ==
                                   CLAIMD__V1__TAKEOVER__OPTIONAL_CHECKPOINT_CHECKPOINT
               ? claimd__wire_body(takeover_of(takeover)->checkpoint)
               : absent;
}
