#include "rpc/rpc_call.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rpc/rpc_private.h"

#define RPC_FREE_CALLS_MAX 4096

// --- life ---------------------------------------------------------------------------------------

static struct rpc_call *call_take(struct rpc_server *server) {
    struct rpc_call *call = server->free_calls;
    if (call == NULL) {
        call = mem_zalloc(sizeof *call);
        if (call == NULL) return NULL;
        grpc_metadata_array_init(&call->metadata);
        call->server = server;
        return call;
    }
    server->free_calls = call->next;
    server->free_count--;
    return call;
}

void rpc_call_destroy(struct rpc_call *call) {
    grpc_metadata_array_destroy(&call->metadata);
    arena_deinit(&call->arena);
    mem_free(call);
}

// Back to the free list, as new, with its arena and metadata array kept.
static void call_recycle(struct rpc_call *call) {
    struct rpc_server *server = call->server;
    CHECK(server->calls_live > 0);
    server->calls_live--;
    server->held_bytes -= call->held_bytes;
    if (call->call != NULL) grpc_call_unref(call->call);
    if (call->request != NULL) grpc_byte_buffer_destroy(call->request);
    if (call->method->path == NULL) grpc_call_details_destroy(&call->details);
    if (server->free_count >= RPC_FREE_CALLS_MAX) {
        rpc_call_destroy(call);
        return;
    }
    struct arena arena = call->arena;
    grpc_metadata_array metadata = call->metadata;
    arena_reset(&arena);
    metadata.count = 0;
    *call = (struct rpc_call){.server = server, .arena = arena, .metadata = metadata};
    call->next = server->free_calls;
    server->free_calls = call;
    server->free_count++;
}

void rpc_call_hold(struct rpc_call *call) { call->holds++; }

void rpc_call_drop(struct rpc_call *call) {
    CHECK(call->holds > 0);
    if (--call->holds == 0) call_recycle(call);
}

// --- arrival ------------------------------------------------------------------------------------

static void call_arrived(struct rpc_tag *tag, bool ok) {
    struct rpc_call *call = tag->call;
    if (ok) {
        // Another takes its place before this one is handled, so that a burst finds one posted.
        (void)rpc_call_post(call->server, call->method, call->registered);
        call->method->handle(call);
    }
    rpc_call_drop(call);
}

bool rpc_call_post(struct rpc_server *server, const struct rpc_method *method, void *registered) {
    struct rpc_call *call = call_take(server);
    if (call == NULL) return false;
    call->method = method;
    call->registered = registered;
    call->new_tag = (struct rpc_tag){call_arrived, call};
    grpc_call_error error;
    if (method->path == NULL) {
        grpc_call_details_init(&call->details);
        error =
            grpc_server_request_call(server->server, &call->call, &call->details, &call->metadata,
                                     server->queue, server->queue, &call->new_tag);
    } else {
        error = grpc_server_request_registered_call(
            server->server, registered, &call->call, &call->deadline, &call->metadata,
            &call->request, server->queue, server->queue, &call->new_tag);
    }
    server->calls_live++;
    call->holds = 1;
    // The library takes the request, or says that it is shutting down by failing the tag.
    CHECK(error == GRPC_CALL_OK);
    return true;
}

// A client that sends faster than the disk writes, or that never reads its answers, would else have
// as much memory as it likes: the library's quota knows nothing of what calls keep.
bool rpc_call_hold_bytes(struct rpc_call *call, size_t len) {
    struct rpc_server *server = call->server;
    bool is_small = len <= LIMIT_HELD_SMALL_BYTES;
    if (!is_small && len + server->held_bytes > LIMIT_HELD_BYTES_MAX) return false;
    call->held_bytes += len;
    server->held_bytes += len;
    return true;
}

static enum err request_flatten(struct rpc_call *call, struct bytes *out) {
    *out = (struct bytes){0};
    if (call->request == NULL) return ERR_OK;
    size_t len = grpc_byte_buffer_length(call->request);
    if (!rpc_call_hold_bytes(call, 2 * len)) return ERR_QUEUE_FULL; // here, and as unpacked
    grpc_byte_buffer_reader reader;
    if (!grpc_byte_buffer_reader_init(&reader, call->request)) return ERR_INVALID_ARGUMENT;
    uint8_t *flat = arena_alloc(&call->arena, len);
    size_t pos = 0;
    grpc_slice slice;
    while (flat != NULL && grpc_byte_buffer_reader_next(&reader, &slice)) {
        size_t part = GRPC_SLICE_LENGTH(slice);
        if (part <= len - pos) memcpy(flat + pos, GRPC_SLICE_START_PTR(slice), part);
        pos += part;
        grpc_slice_unref(slice);
        if (pos > len) break;
    }
    grpc_byte_buffer_reader_destroy(&reader);
    if (flat == NULL) return ERR_NO_MEMORY;
    if (pos > len) return ERR_INVALID_ARGUMENT;
    *out = (struct bytes){flat, pos};
    return ERR_OK;
}

enum err rpc_call_request(struct rpc_call *call, struct bytes *out, struct rpc_fault *out_fault) {
    enum err err = request_flatten(call, out);
    if (err == ERR_INVALID_ARGUMENT) rpc_fault_set(out_fault, "request", NULL, "cannot be read");
    return err;
}

void rpc_call_request_free(struct rpc_call *call) {
    if (call->request != NULL) grpc_byte_buffer_destroy(call->request);
    call->request = NULL;
}

// --- sending ------------------------------------------------------------------------------------

static void start_batch(struct rpc_call *call, const grpc_op *ops, size_t op_count,
                        struct rpc_tag *tag) {
    rpc_call_hold(call);
    grpc_call_error error = grpc_call_start_batch(call->call, ops, op_count, tag, NULL);
    CHECK(error == GRPC_CALL_OK);
}

static void close_arrived(struct rpc_tag *tag, bool ok) {
    (void)ok; // such a batch always succeeds
    struct rpc_call *call = tag->call;
    call->closed = true;
    if (call->was_cancelled && !call->ended && call->gone != NULL) call->gone(call);
    rpc_call_drop(call);
}

static void put_close(struct rpc_call *call, grpc_op *op) {
    call->close_started = true;
    op->op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    op->data.recv_close_on_server.cancelled = &call->was_cancelled;
}

void rpc_call_watch_close(struct rpc_call *call) {
    grpc_op op;
    memset(&op, 0, sizeof op);
    put_close(call, &op);
    call->close_tag = (struct rpc_tag){close_arrived, call};
    start_batch(call, &op, 1, &call->close_tag);
}

static void sent_arrived(struct rpc_tag *tag, bool ok) {
    (void)ok; // a failed send means that the client has gone: the close tag tells
    struct rpc_call *call = tag->call;
    call->sending = false;
    if (call->message != NULL) grpc_byte_buffer_destroy(call->message);
    call->message = NULL;
    if (call->ended) {
        if (call->has_details) grpc_slice_unref(call->details_slice);
        call->has_details = false;
        grpc_slice_unref(call->message_slice);
    } else if (call->sent != NULL) {
        call->sent(call);
    }
    rpc_call_drop(call);
}

static void put_initial(struct rpc_call *call, grpc_op *ops, size_t *count) {
    if (call->initial_sent) return;
    call->initial_sent = true;
    ops[(*count)++].op = GRPC_OP_SEND_INITIAL_METADATA;
}

static void put_message(struct rpc_call *call, const struct rpc_reply *reply, grpc_op *ops,
                        size_t *count) {
    grpc_slice slice = grpc_slice_malloc(reply->len);
    rpc_encode_pack(reply, GRPC_SLICE_START_PTR(slice));
    call->message = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    grpc_op *op = &ops[(*count)++];
    op->op = GRPC_OP_SEND_MESSAGE;
    op->data.send_message.send_message = call->message;
}

static void put_status(struct rpc_call *call, const struct rpc_status *status, grpc_op *ops,
                       size_t *count) {
    call->ended = true;
    call->message_slice =
        status == NULL ? grpc_empty_slice() : grpc_slice_from_copied_string(status->message);
    grpc_op *op = &ops[(*count)++];
    op->op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    op->data.send_status_from_server.status =
        status == NULL ? GRPC_STATUS_OK : (grpc_status_code)status->code;
    op->data.send_status_from_server.status_details = &call->message_slice;
    if (status != NULL && status->details_len > 0) {
        call->details_slice =
            grpc_slice_from_copied_buffer((const char *)status->details, status->details_len);
        call->has_details = true;
        memset(&call->trailer, 0, sizeof call->trailer);
        call->trailer.key = grpc_slice_from_static_string("grpc-status-details-bin");
        call->trailer.value = call->details_slice;
        op->data.send_status_from_server.trailing_metadata_count = 1;
        op->data.send_status_from_server.trailing_metadata = &call->trailer;
    }
    if (!call->close_started) put_close(call, &ops[(*count)++]);
}

static void send_batch(struct rpc_call *call, const grpc_op *ops, size_t count) {
    CHECK(!call->sending);
    call->sending = true;
    call->send_tag = (struct rpc_tag){sent_arrived, call};
    start_batch(call, ops, count, &call->send_tag);
}

void rpc_call_reply(struct rpc_call *call, const struct rpc_reply *reply) {
    grpc_op ops[4];
    size_t count = 0;
    memset(ops, 0, sizeof ops);
    put_initial(call, ops, &count);
    put_message(call, reply, ops, &count);
    put_status(call, NULL, ops, &count);
    send_batch(call, ops, count);
}

void rpc_call_send(struct rpc_call *call, const struct rpc_reply *reply) {
    grpc_op ops[2];
    size_t count = 0;
    memset(ops, 0, sizeof ops);
    put_initial(call, ops, &count);
    put_message(call, reply, ops, &count);
    send_batch(call, ops, count);
}

void rpc_call_end(struct rpc_call *call, const struct rpc_status_cause *cause) {
    grpc_op ops[3];
    size_t count = 0;
    struct rpc_status status;
    memset(ops, 0, sizeof ops);
    if (cause != NULL) rpc_status_make(cause, &status);
    put_initial(call, ops, &count);
    put_status(call, cause == NULL ? NULL : &status, ops, &count);
    send_batch(call, ops, count);
}

void rpc_call_refuse(struct rpc_call *call, enum err err, const struct rpc_fault *fault) {
    rpc_call_end(call,
                 &(struct rpc_status_cause){.err = err,
                                            .fault = err == ERR_INVALID_ARGUMENT ? fault : NULL,
                                            .policy = call->server->info.policy});
}
