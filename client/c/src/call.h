// One logical call: a request repeated until it is answered, refused, or its time is up.
//
// Owns the rule of when a call is repeated and how long it waits between. Blocks the calling
// thread.
#pragma once

#include "exchange.h"

struct claimd__call {
    claimd_client *client;
    enum claimd__method method;
    const ProtobufCMessage *request;
    const ProtobufCMessageDescriptor *response_type;
    int64_t timeout_ms; // the request's own, or CLAIMD_UNSET_MS
    int64_t extra_ms;   // added to the client's timeout if the request has none; at least 0
    bool reads_only;    // it changes nothing, so no failure is ambiguous

    int64_t sent_ms; // out: claimd_clock_ms() before the answered try was sent
};

// Runs the call. On CLAIMD_OK *out_response is a message that the caller frees with
// claimd__wire_free (out_response may be NULL), and error is cleared; otherwise error is set,
// maybe_happened if any of the tries was ambiguous.
enum claimd_status claimd__call_unary(struct claimd__call *call, ProtobufCMessage **out_response,
                                      struct claimd_error *error);

// When a call that starts now must end, on claimd_clock_ms(). False, and the error is set, if the
// timeout is out of bounds.
bool claimd__call_deadline(const struct claimd__call *call, int64_t *out_deadline_ms,
                           struct claimd_error *error);

// After the given number of tries, the last of which ended in error: true if there is to be
// another, after the wait for it.
bool claimd__call_retry_wait(const struct claimd__call *call, unsigned tries, int64_t deadline_ms,
                             const struct claimd_error *error);
