// grpc.health.v1: Check answers, Watch tells the status now and each change.
#include <string.h>

#include "base/limits.h"
#include "grpc/health/v1/health.pb-c.h"
#include "rpc/rpc_private.h"
#include "rpc/rpc_reply.h"
#include "rpc/rpc_wire.h"

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

static bool service_is_known(const char *service) {
    static const char *const known[] = {"", "claimd.v1.ClaimService", "claimd.v1.OperationService"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(service, known[i]) == 0) return true;
    }
    return false;
}

static int status_now(const struct rpc_server *server) {
    return server->phase == RPC_SERVING ? SERVING : NOT_SERVING;
}

static void encode(int status, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Grpc__Health__V1__HealthCheckResponse *response = rpc_reply_alloc(reply, sizeof *response);
    grpc__health__v1__health_check_response__init(response);
    response->status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)status;
    rpc_reply_finish(reply, &response->base);
}

// The service asked about, or NULL after an error was answered.
static const char *service_of(struct rpc_call *call) {
    struct rpc_fault fault = {0};
    struct bytes wire;
    ProtobufCMessage *message = NULL;
    enum err err = rpc_call_request(call, &wire, &fault);
    if (err == ERR_OK && wire.len > LIMIT_LASTING_REQUEST_BYTES_MAX) {
        err = ERR_INVALID_ARGUMENT;
        rpc_fault_set(&fault, "request", "16 KiB", "the request is longer than 16 KiB");
    }
    if (err == ERR_OK) {
        err = rpc_wire_unpack(&grpc__health__v1__health_check_request__descriptor, wire,
                              &call->arena, &message, &fault);
    }
    if (err != ERR_OK) {
        rpc_call_refuse(call, err, &fault);
        return NULL;
    }
    return ((Grpc__Health__V1__HealthCheckRequest *)message)->service;
}

void health_check_handle(struct rpc_call *call) {
    const char *service = service_of(call);
    if (service == NULL) return;
    if (!service_is_known(service)) {
        rpc_call_refuse(call, ERR_NOT_FOUND, NULL);
        return;
    }
    struct rpc_reply reply;
    encode(status_now(call->server), &reply);
    rpc_call_reply(call, &reply);
}

// --- Watch --------------------------------------------------------------------------------------

static void watcher_remove(struct rpc_call *call) {
    struct rpc_server *server = call->server;
    if (call->prev == NULL) {
        server->watchers = call->next;
    } else {
        call->prev->next = call->next;
    }
    if (call->next != NULL) call->next->prev = call->prev;
    server->watcher_count--;
    rpc_call_drop(call);
}

// Sends what has changed since the last message; one message is under way at a time, so that a slow
// client sees the latest and not every one.
static void watcher_update(struct rpc_call *call) {
    const struct rpc_server *server = call->server;
    if (call->sending || call->closed || call->ended) return;
    int status = call->watched_status == SERVICE_UNKNOWN ? SERVICE_UNKNOWN : status_now(server);
    if (call->watched_status != status || !call->initial_sent) {
        struct rpc_reply reply;
        call->watched_status = status;
        encode(status, &reply);
        rpc_call_send(call, &reply);
        return;
    }
    if (server->phase >= RPC_CLOSING) {
        // An open stream would hold up the drain.
        rpc_call_refuse(call, ERR_DRAINING, NULL);
        watcher_remove(call);
    }
}

static void watcher_gone(struct rpc_call *call) { watcher_remove(call); }

void health_watch_handle(struct rpc_call *call) {
    struct rpc_server *server = call->server;
    const char *service = service_of(call);
    if (service == NULL) return;
    if (server->watcher_count >= LIMIT_WATCHES_MAX) {
        rpc_call_refuse(call, ERR_QUEUE_FULL, NULL);
        return;
    }
    call->watched_status = service_is_known(service) ? status_now(server) : SERVICE_UNKNOWN;
    call->sent = watcher_update;
    call->gone = watcher_gone;
    rpc_call_watch_close(call);
    rpc_call_hold(call); // while it is on the list
    call->prev = NULL;
    call->next = server->watchers;
    if (call->next != NULL) call->next->prev = call;
    server->watchers = call;
    server->watcher_count++;
    watcher_update(call);
}

void health_announce(struct rpc_server *server) {
    struct rpc_call *call = server->watchers;
    while (call != NULL) {
        struct rpc_call *next = call->next;
        watcher_update(call);
        call = next;
    }
}
