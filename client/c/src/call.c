#include "call.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "random.h"
#include "wire.h"

// The bodies are far below this; what is above it no service takes.
#define REQUEST_BYTES_MAX (4 * 1024 * 1024)

// About 31 years: longer is the same as that, and sums with it cannot overflow.
#define TIMEOUT_MS_MAX INT64_C(1000000000000)

#define RETRY_DELAY_MS_FIRST 25
#define RETRY_DELAY_MS_MAX 1000

bool claimd__call_deadline(const struct claimd__call *call, int64_t *out_deadline_ms,
                           struct claimd_error *error) {
    int64_t timeout_ms = call->timeout_ms;
    if (timeout_ms == CLAIMD_UNSET_MS) {
        timeout_ms = claimd__client_behaviour(call->client)->timeout_ms;
        int64_t room = timeout_ms < TIMEOUT_MS_MAX ? TIMEOUT_MS_MAX - timeout_ms : 0;
        timeout_ms += call->extra_ms < room ? call->extra_ms : room;
    }
    if (timeout_ms < 1) {
        claimd__error_argument(error, "timeout_ms", "timeout_ms must be at least 1");
        return false;
    }
    *out_deadline_ms =
        claimd_clock_ms() + (timeout_ms < TIMEOUT_MS_MAX ? timeout_ms : TIMEOUT_MS_MAX);
    return true;
}

// Doubles from try to try, and takes a random half of it, so that clients that failed together do
// not come back together. A delay that the service asks for is kept, with up to a quarter more.
static int64_t retry_delay_ms(unsigned tries, const struct claimd_error *error) {
    int64_t delay_ms = RETRY_DELAY_MS_FIRST;
    for (unsigned i = 1; i < tries && delay_ms < RETRY_DELAY_MS_MAX; i++) delay_ms *= 2;
    if (delay_ms > RETRY_DELAY_MS_MAX) delay_ms = RETRY_DELAY_MS_MAX;
    int64_t asked_ms = error->retry_after_ms;
    if (asked_ms > delay_ms)
        return asked_ms + (int64_t)claimd__random_below((uint64_t)asked_ms / 4 + 1);
    return delay_ms / 2 + (int64_t)claimd__random_below((uint64_t)delay_ms / 2 + 1);
}

bool claimd__call_retry_wait(const struct claimd__call *call, unsigned tries, int64_t deadline_ms,
                             const struct claimd_error *error) {
    const struct claimd__behaviour *behaviour = claimd__client_behaviour(call->client);
    if (behaviour->no_retry || !claimd__error_is_transient(error)) return false;
    int64_t delay_ms = retry_delay_ms(tries, error);
    if (delay_ms >= deadline_ms - claimd_clock_ms()) return false;
    if (behaviour->on_retry != NULL) {
        behaviour->on_retry(behaviour->on_retry_context, error, delay_ms);
    }
    claimd__exchange_wait(call->client, delay_ms);
    return true;
}

enum claimd_status claimd__call_unary(struct claimd__call *call, ProtobufCMessage **out_response,
                                      struct claimd_error *error) {
    int64_t deadline_ms;
    if (!claimd__call_deadline(call, &deadline_ms, error)) return error->status;
    if (protobuf_c_message_get_packed_size(call->request) > REQUEST_BYTES_MAX) {
        return claimd__error_argument(error, "request", "the request is larger than 4 MiB");
    }
    struct claimd__exchange_request packed = claimd__exchange_request_pack(call->request);
    struct claimd__exchange exchange = {
        .client = call->client,
        .method = call->method,
        .request = &packed,
        .response_type = call->response_type,
        .deadline_ms = deadline_ms,
    };
    enum claimd_status status;
    ProtobufCMessage *response = NULL;
    bool maybe_happened = false;
    struct claimd_error before;
    claimd__error_clear(&before);
    for (unsigned tries = 1;; tries++) {
        call->sent_ms = claimd_clock_ms();
        status = claimd__exchange_unary(&exchange, &response, error);
        if (status == CLAIMD_OK) break;
        maybe_happened = (maybe_happened || error->maybe_happened) && !call->reads_only;
        error->maybe_happened = maybe_happened;
        if (!claimd__call_retry_wait(call, tries, deadline_ms, error)) break;
        before = *error;
    }
    claimd__exchange_request_deinit(&packed);
    if (status == CLAIMD_OK) {
        claimd__error_clear(error);
        if (out_response != NULL)
            *out_response = response;
        else
            claimd__wire_free(response);
    } else if (status == CLAIMD_DEADLINE_EXCEEDED && before.status != CLAIMD_OK) {
        claimd__error_append(error, " (before: %s: %s)", claimd_status_name(before.status),
                             before.message);
    }
    return status;
}
