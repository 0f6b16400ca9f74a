// Prune: a server stream of progress; the prune waits for each message to leave.
#include "base/check.h"
#include "rpc/rpc_private.h"

// The prune is over and nothing is being sent: the status ends the call, if anybody is there.
static void end(struct rpc_call *call) {
    // The client is there to be told, so that it was the server which stopped it.
    bool stopped = call->prune_end == ERR_CANCELLED && call->server->phase != RPC_SERVING;
    struct rpc_status_cause cause = {.err = stopped ? ERR_DRAINING : call->prune_end,
                                     .begun = true,
                                     .policy = call->server->info.policy};
    if (call->closed) {
        call->ended = true;
    } else {
        rpc_call_end(call, call->prune_end == ERR_OK ? NULL : &cause);
    }
    rpc_call_drop(call);
}

static void progress_sent(struct rpc_call *call) {
    if (call->prune.prune != NULL) {
        prune_continue(&call->prune);
    } else {
        end(call);
    }
}

static void progress(struct prune_request *request, const struct prune_progress *progress) {
    struct rpc_call *call = CONTAINER_OF(request, struct rpc_call, prune);
    if (progress->done) call->prune_end = progress->err;
    if (call->sending) return; // stopped from elsewhere: progress_sent ends the call
    if (call->closed || (progress->done && progress->err != ERR_OK)) {
        // A prune that goes on for nobody has been told to stop, and comes back here.
        if (progress->done) {
            end(call);
        } else {
            prune_continue(request);
        }
        return;
    }
    struct rpc_reply reply;
    rpc_encode_prune(progress, &reply);
    rpc_call_send(call, &reply);
}

static void client_gone(struct rpc_call *call) { prune_cancel(&call->prune); }

void rpc_prune_handle(struct rpc_call *call) {
    struct rpc_server *server = call->server;
    struct rpc_fault fault = {0};
    struct bytes wire;
    enum err err = rpc_call_request(call, &wire, &fault);
    if (err == ERR_OK) err = rpc_decode_prune(wire, &call->arena, &call->prune, &fault);
    rpc_call_request_free(call);
    if (err == ERR_OK) {
        call->prune.progress = progress;
        call->sent = progress_sent;
        call->gone = client_gone;
        err = prune_start(server->engine, &call->prune);
    }
    if (err != ERR_OK) {
        rpc_call_refuse(call, err, &fault);
        return;
    }
    rpc_call_watch_close(call);
    rpc_call_hold(call); // until the last progress
}
