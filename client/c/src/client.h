// A client: one channel to one claimd, and the completion queues that its calls wait on.
//
// Owns the gRPC channel and its settings. Never sends anything by itself. Threads: everything here
// may be called by any thread at any time, save for claimd_client_close (see claimd/client.h).
#pragma once

#include <claimd.h>
#include <grpc/grpc.h>

// Every method that the library calls: name, path.
#define CLAIMD__METHODS(X)                                                                         \
    X(BEGIN, "/claimd.v1.ClaimService/Begin")                                                      \
    X(COMPLETE, "/claimd.v1.ClaimService/Complete")                                                \
    X(REJECT, "/claimd.v1.ClaimService/Reject")                                                    \
    X(FAIL, "/claimd.v1.ClaimService/Fail")                                                        \
    X(RENEW, "/claimd.v1.ClaimService/Renew")                                                      \
    X(RELEASE, "/claimd.v1.ClaimService/Release")                                                  \
    X(REGISTER, "/claimd.v1.ClaimService/Register")                                                \
    X(CANCEL, "/claimd.v1.ClaimService/Cancel")                                                    \
    X(RESOLVE, "/claimd.v1.ClaimService/Resolve")                                                  \
    X(GET_CLAIM, "/claimd.v1.OperationService/GetClaim")                                           \
    X(PRUNE, "/claimd.v1.OperationService/Prune")                                                  \
    X(GET_STATUS, "/claimd.v1.OperationService/GetStatus")                                         \
    X(HEALTH_CHECK, "/grpc.health.v1.Health/Check")

enum claimd__method {
#define CLAIMD__METHOD_ENUM(name, path) CLAIMD__METHOD_##name,
    CLAIMD__METHODS(CLAIMD__METHOD_ENUM)
#undef CLAIMD__METHOD_ENUM
        CLAIMD__METHOD_COUNT
};

// How a client was opened: what a call needs to know.
struct claimd__behaviour {
    int64_t timeout_ms;
    bool no_retry;
    claimd_retry_function *on_retry;
    void *on_retry_context;
};
const struct claimd__behaviour *claimd__client_behaviour(const claimd_client *client);

// A completion queue that nobody else uses until it is put back, with no tag outstanding.
grpc_completion_queue *claimd__client_queue_take(claimd_client *client);
void claimd__client_queue_put(claimd_client *client, grpc_completion_queue *queue);

// A new call of a method, bound to a queue. The caller unrefs it.
grpc_call *claimd__client_call_create(claimd_client *client, enum claimd__method method,
                                      grpc_completion_queue *queue, gpr_timespec deadline);
