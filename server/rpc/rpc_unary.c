// Unary calls: a request into an engine operation, its decision into the reply.
#include <grpc/support/time.h>

#include "base/check.h"
#include "base/limits.h"
#include "rpc/rpc_private.h"

// A wait ends before the call's own deadline, early enough for the answer to arrive.
static void clamp_wait(struct rpc_call *call) {
    if (!call->op.wait.present) return;
    gpr_timespec now = gpr_now(call->deadline.clock_type);
    if (gpr_time_cmp(call->deadline, gpr_inf_future(call->deadline.clock_type)) == 0) return;
    int64_t left_ms = gpr_time_to_millis(gpr_time_sub(call->deadline, now));
    int64_t margin_ms = left_ms / 10 < 200 ? left_ms / 10 : 200;
    if (call->op.wait.ms > left_ms - margin_ms) call->op.wait.ms = left_ms - margin_ms;
    if (call->op.wait.ms <= 0) call->op.wait.present = false;
}

static void client_gone(struct rpc_call *call) {
    // A finished operation has no private part any more.
    if (call->op.engine != NULL) engine_cancel(call->server->engine, &call->op);
}

static void op_done(struct engine_op *op) {
    struct rpc_call *call = CONTAINER_OF(op, struct rpc_call, op);
    if (call->closed) {
        // Nobody is there: the call is over without a status.
        call->ended = true;
    } else if (op->err == ERR_OK) {
        struct rpc_reply reply;
        call->method->encode(op, &reply);
        // What has changed something is always told; a large answer that only reads can wait.
        bool fits = rpc_call_hold_bytes(call, reply.len);
        if (fits || op->decision.change != CLAIM_UNCHANGED) {
            rpc_call_reply(call, &reply);
        } else {
            rpc_call_refuse(call, ERR_QUEUE_FULL, NULL);
        }
    } else {
        rpc_call_end(call, &(struct rpc_status_cause){
                               .err = op->err, .op = op, .policy = call->server->info.policy});
    }
    engine_op_release(call->server->engine, op);
    rpc_call_drop(call);
}

void rpc_unary_handle(struct rpc_call *call) {
    struct rpc_fault fault = {0};
    struct bytes wire;
    enum err err = rpc_call_request(call, &wire, &fault);
    if (err == ERR_OK) err = call->method->decode(wire, &call->arena, &call->op, &fault);
    rpc_call_request_free(call);
    if (err == ERR_OK && call->op.wait.present && wire.len > LIMIT_LASTING_REQUEST_BYTES_MAX) {
        err = ERR_INVALID_ARGUMENT; // a field given again and again: nothing else makes it so long
        rpc_fault_set(&fault, "request", "16 KiB", "the request is too long to wait with");
    }
    if (err != ERR_OK) {
        rpc_call_refuse(call, err, &fault);
        return;
    }
    CHECK(call->op.command.verb == call->method->verb);
    call->op.done = op_done;
    clamp_wait(call);
    if (call->op.wait.present) {
        call->gone = client_gone;
        rpc_call_watch_close(call);
    }
    rpc_call_hold(call); // until op_done
    err = engine_submit(call->server->engine, &call->op);
    if (err != ERR_OK) {
        rpc_call_refuse(call, err, NULL);
        rpc_call_drop(call);
    }
}

void rpc_status_handle(struct rpc_call *call) {
    struct rpc_fault fault = {0};
    struct bytes wire;
    enum err err = rpc_call_request(call, &wire, &fault);
    if (err == ERR_OK) err = rpc_decode_get_status(wire, &call->arena, &fault);
    if (err != ERR_OK) {
        rpc_call_refuse(call, err, &fault);
        return;
    }
    struct engine_stats stats;
    struct rpc_reply reply;
    engine_stats(call->server->engine, &stats);
    rpc_encode_get_status(&call->server->info, &stats, &reply);
    rpc_call_reply(call, &reply);
}

void rpc_unknown_handle(struct rpc_call *call) { rpc_call_refuse(call, ERR_UNIMPLEMENTED, NULL); }

#ifdef CLAIMD_BENCH
void rpc_noop_handle(struct rpc_call *call) {
    struct rpc_reply reply;
    struct bytes wire;
    struct rpc_fault fault;
    enum err err = rpc_call_request(call, &wire, &fault);
    CHECK(err == ERR_OK);
    rpc_encode_prune(&(struct prune_progress){.scanned_count = wire.len}, &reply);
    rpc_call_reply(call, &reply);
}
#endif
