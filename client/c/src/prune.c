#include <stdlib.h>

#include <claimd/v1/operations.pb-c.h>

#include "call.h"
#include "error.h"
#include "request.h"
#include "wire.h"

#define TIMEOUT_MS_DEFAULT (INT64_C(3600) * 1000)

// The counts of the last message; done only with the one that ends the stream.
struct claimd_prune_result {
    uint64_t scanned_count;
    uint64_t removed_count;
    bool done;
};

struct progress {
    struct claimd_prune_result *result;
    claimd_prune_function *tell;
    void *tell_context;
    bool started; // a message has come
    bool stopped; // the caller has had enough
};

static bool progress_take(void *context, const ProtobufCMessage *message) {
    struct progress *progress = context;
    const Claimd__V1__PruneResponse *response = (const Claimd__V1__PruneResponse *)message;
    progress->started = true;
    *progress->result = (struct claimd_prune_result){
        .scanned_count = response->scanned_count,
        .removed_count = response->removed_count,
        .done = response->done != 0,
    };
    if (progress->tell != NULL &&
        !progress->tell(progress->tell_context, response->scanned_count, response->removed_count)) {
        progress->stopped = true;
        return false;
    }
    return true;
}

static enum claimd_status prune_run(struct claimd__call *call, struct progress *progress,
                                    struct claimd_error *error) {
    int64_t deadline_ms;
    if (!claimd__call_deadline(call, &deadline_ms, error)) return error->status;
    struct claimd__exchange_request packed = claimd__exchange_request_pack(call->request);
    struct claimd__exchange exchange = {
        .client = call->client,
        .method = call->method,
        .request = &packed,
        .response_type = call->response_type,
        .deadline_ms = deadline_ms,
    };
    for (unsigned tries = 1;; tries++) {
        claimd__error_clear(error);
        claimd__exchange_stream(&exchange, progress_take, progress, error);
        if (error->status == CLAIMD_OK) break;
        // The counts are those of one call: only what was refused unbegun is asked for again.
        if (progress->started) error->maybe_happened = true;
        if (error->maybe_happened || !claimd__call_retry_wait(call, tries, deadline_ms, error)) {
            break;
        }
    }
    claimd__exchange_request_deinit(&packed);
    return error->status;
}

// The caller has had enough: what was removed stays removed.
static void stopped_set(struct claimd_error *error) {
    claimd__error_status(error, CLAIMD_CANCELLED, claimd_bytes_of("stopped by the caller"),
                         (struct claimd_bytes)CLAIMD_BYTES_ABSENT);
    error->retryable = false;
}

enum claimd_status claimd_prune(claimd_client *client, const struct claimd_prune_request *given,
                                claimd_prune_result **out_result, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_prune_request request = CLAIMD_PRUNE_REQUEST_INIT;
    if (!claimd__request_take(&request, sizeof request, given, error)) return error->status;
    claimd_prune_result *result = calloc(1, sizeof *result);
    if (result == NULL) return claimd__error_memory(error);

    Google__Protobuf__Timestamp before;
    Claimd__V1__PruneRequest message = CLAIMD__V1__PRUNE_REQUEST__INIT;
    message.consumer = claimd__wire_text(request.consumer);
    message.before = claimd__wire_time(&before, request.before_ms);
    message.dry_run = request.dry_run;
    message.force = request.force;
    struct claimd__call call = {
        .client = client,
        .method = CLAIMD__METHOD_PRUNE,
        .request = &message.base,
        .response_type = &claimd__v1__prune_response__descriptor,
        .timeout_ms =
            request.timeout_ms == CLAIMD_UNSET_MS ? TIMEOUT_MS_DEFAULT : request.timeout_ms,
    };
    struct progress progress = {
        .result = result,
        .tell = request.on_progress,
        .tell_context = request.on_progress_context,
    };
    prune_run(&call, &progress, error);
    // Whether the end or the caller's stop came first on the wire is chance, so it does not matter.
    if (progress.stopped && result->done) claimd__error_clear(error);
    if (progress.stopped && !result->done) stopped_set(error);
    if (error->status == CLAIMD_OK && !result->done) {
        claimd__error_garbled(error, "the stream ended before the prune did");
    }
    if (error->status == CLAIMD_OK && out_result != NULL)
        *out_result = result;
    else
        claimd_prune_result_free(result);
    return error->status;
}

void claimd_prune_result_free(claimd_prune_result *result) { free(result); }

uint64_t claimd_prune_result_scanned_count(const claimd_prune_result *result) {
    return result->scanned_count;
}

uint64_t claimd_prune_result_removed_count(const claimd_prune_result *result) {
    return result->removed_count;
}
