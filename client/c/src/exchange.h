// One try of one call on the wire: what gRPC does for a call, and nothing of when to repeat it.
//
// This file and client.c are the only ones that use gRPC. Blocks the calling thread until the call
// has ended; any number of threads at once.
#pragma once

#include <google/protobuf-c/protobuf-c.h>

#include "client.h"

// A packed request, kept for all tries of a call.
struct claimd__exchange_request {
    grpc_slice slice;
};

// Packs a message. Free with claimd__exchange_request_deinit.
struct claimd__exchange_request claimd__exchange_request_pack(const ProtobufCMessage *message);
void claimd__exchange_request_deinit(struct claimd__exchange_request *request);

struct claimd__exchange {
    claimd_client *client;
    enum claimd__method method;
    const struct claimd__exchange_request *request;
    const ProtobufCMessageDescriptor *response_type;
    int64_t deadline_ms; // on claimd_clock_ms()
};

// A call with one answer. On CLAIMD_OK *out_response is an unpacked message that the caller frees
// with claimd__wire_free; otherwise error is set.
enum claimd_status claimd__exchange_unary(const struct claimd__exchange *exchange,
                                          ProtobufCMessage **out_response,
                                          struct claimd_error *error);

// Lets time pass between two tries. gRPC connects only while some thread waits for it, so that a
// mere sleep would leave a lost connection lost.
void claimd__exchange_wait(claimd_client *client, int64_t wait_ms);

// Takes one message of a stream; it is freed afterwards. False cancels the call.
typedef bool claimd__exchange_sink(void *context, const ProtobufCMessage *message);

// A call with a stream of answers, each given to sink in order. The sink has had all of them when
// this returns CLAIMD_OK; otherwise error is set.
enum claimd_status claimd__exchange_stream(const struct claimd__exchange *exchange,
                                           claimd__exchange_sink *sink, void *context,
                                           struct claimd_error *error);
