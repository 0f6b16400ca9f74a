#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>

#include "error.h"
#include "wire.h"

#define DETAILS_KEY "grpc-status-details-bin"

// What a call under way needs until its last tag has come back.
struct conversation {
    const struct claimd__exchange *exchange;
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_byte_buffer *request;
    grpc_byte_buffer *response;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_status_code status;
    grpc_slice status_text;
};

struct claimd__exchange_request claimd__exchange_request_pack(const ProtobufCMessage *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    struct claimd__exchange_request request = {grpc_slice_malloc(size)};
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(request.slice));
    return request;
}

void claimd__exchange_request_deinit(struct claimd__exchange_request *request) {
    grpc_slice_unref(request->slice);
}

// A misuse of gRPC is a bug of this library that no caller can handle.
static void must(grpc_call_error result, const char *what) {
    if (result == GRPC_CALL_OK) return;
    fprintf(stderr, "libclaimd: %s: %s\n", what, grpc_call_error_to_string(result));
    abort();
}

static gpr_timespec time_from_now(int64_t ms) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis(ms > 0 ? ms : 0, GPR_TIMESPAN));
}

static void conversation_begin(struct conversation *c, const struct claimd__exchange *exchange) {
    memset(c, 0, sizeof *c);
    c->exchange = exchange;
    c->queue = claimd__client_queue_take(exchange->client);
    gpr_timespec deadline = time_from_now(exchange->deadline_ms - claimd_clock_ms());
    c->call = claimd__client_call_create(exchange->client, exchange->method, c->queue, deadline);
    // The buffer takes its own reference to the slice, so that a repeat can send it again.
    grpc_slice slice = exchange->request->slice;
    c->request = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_metadata_array_init(&c->initial);
    grpc_metadata_array_init(&c->trailing);
    c->status_text = grpc_empty_slice();
}

static void conversation_end(struct conversation *c) {
    grpc_call_unref(c->call);
    claimd__client_queue_put(c->exchange->client, c->queue);
    grpc_byte_buffer_destroy(c->request);
    if (c->response != NULL) grpc_byte_buffer_destroy(c->response);
    grpc_metadata_array_destroy(&c->initial);
    grpc_metadata_array_destroy(&c->trailing);
    grpc_slice_unref(c->status_text);
}

// The three operations that send a request whole. ops must be zeroed.
static size_t ops_send(struct conversation *c, grpc_op *ops) {
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = c->request;
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    return 3;
}

static void op_receive_initial(struct conversation *c, grpc_op *op) {
    op->op = GRPC_OP_RECV_INITIAL_METADATA;
    op->data.recv_initial_metadata.recv_initial_metadata = &c->initial;
}

static void op_receive_message(struct conversation *c, grpc_op *op) {
    op->op = GRPC_OP_RECV_MESSAGE;
    op->data.recv_message.recv_message = &c->response;
}

static void op_receive_status(struct conversation *c, grpc_op *op) {
    op->op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    op->data.recv_status_on_client.trailing_metadata = &c->trailing;
    op->data.recv_status_on_client.status = &c->status;
    op->data.recv_status_on_client.status_details = &c->status_text;
}

// Waits for a tag. Every batch ends when the call does, and the call at its deadline, so that no
// second deadline is needed here.
static bool tag_wait(struct conversation *c, void *tag) {
    grpc_event event =
        grpc_completion_queue_pluck(c->queue, tag, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    return event.type == GRPC_OP_COMPLETE && event.success != 0;
}

// The call's status, from what RECV_STATUS has brought.
static enum claimd_status status_read(const struct conversation *c, struct claimd_error *error) {
    if (c->status == GRPC_STATUS_OK) return CLAIMD_OK;
    struct claimd_bytes details = CLAIMD_BYTES_ABSENT;
    for (size_t i = 0; i < c->trailing.count; i++) {
        const grpc_metadata *entry = &c->trailing.metadata[i];
        if (grpc_slice_str_cmp(entry->key, DETAILS_KEY) != 0) continue;
        details.data = GRPC_SLICE_START_PTR(entry->value);
        details.size = GRPC_SLICE_LENGTH(entry->value);
    }
    struct claimd_bytes text = {GRPC_SLICE_START_PTR(c->status_text),
                                GRPC_SLICE_LENGTH(c->status_text)};
    return claimd__error_status(error, (int)c->status, text, details);
}

// Unpacks the response that was received and lets its buffer go; NULL if it is malformed.
static ProtobufCMessage *response_take(struct conversation *c) {
    ProtobufCMessage *message = NULL;
    grpc_byte_buffer_reader reader;
    if (grpc_byte_buffer_reader_init(&reader, c->response)) {
        grpc_slice whole = grpc_byte_buffer_reader_readall(&reader);
        message = protobuf_c_message_unpack(c->exchange->response_type, &claimd__wire_allocator,
                                            GRPC_SLICE_LENGTH(whole), GRPC_SLICE_START_PTR(whole));
        grpc_slice_unref(whole);
        grpc_byte_buffer_reader_destroy(&reader);
    }
    grpc_byte_buffer_destroy(c->response);
    c->response = NULL;
    return message;
}

enum claimd_status claimd__exchange_unary(const struct claimd__exchange *exchange,
                                          ProtobufCMessage **out_response,
                                          struct claimd_error *error) {
    struct conversation c;
    conversation_begin(&c, exchange);

    grpc_op ops[6];
    memset(ops, 0, sizeof ops);
    size_t count = ops_send(&c, ops);
    op_receive_initial(&c, &ops[count++]);
    op_receive_message(&c, &ops[count++]);
    op_receive_status(&c, &ops[count++]);
    must(grpc_call_start_batch(c.call, ops, count, &c, NULL), "unary call");
    tag_wait(&c, &c);

    enum claimd_status status = status_read(&c, error);
    if (status == CLAIMD_OK) {
        ProtobufCMessage *response = c.response != NULL ? response_take(&c) : NULL;
        if (response != NULL) {
            *out_response = response;
        } else {
            status = claimd__error_garbled(error, "the answer is no message of this method");
        }
    }
    conversation_end(&c);
    return status;
}

// Reads until the stream ends, the sink has enough, or a message is malformed. True if it ended.
static bool stream_read(struct conversation *c, claimd__exchange_sink *sink, void *context,
                        bool *out_garbled) {
    *out_garbled = false;
    for (;;) {
        grpc_op op;
        memset(&op, 0, sizeof op);
        op_receive_message(c, &op);
        must(grpc_call_start_batch(c->call, &op, 1, &c->response, NULL), "receive");
        if (!tag_wait(c, &c->response) || c->response == NULL) return true;
        ProtobufCMessage *message = response_take(c);
        *out_garbled = message == NULL;
        bool go_on = message != NULL && sink(context, message);
        claimd__wire_free(message);
        if (!go_on) return false;
    }
}

enum claimd_status claimd__exchange_stream(const struct claimd__exchange *exchange,
                                           claimd__exchange_sink *sink, void *context,
                                           struct claimd_error *error) {
    struct conversation c;
    conversation_begin(&c, exchange);

    grpc_op ops[4];
    memset(ops, 0, sizeof ops);
    op_receive_status(&c, &ops[0]);
    must(grpc_call_start_batch(c.call, ops, 1, &c.status, NULL), "receive status");
    memset(ops, 0, sizeof ops);
    size_t count = ops_send(&c, ops);
    op_receive_initial(&c, &ops[count++]);
    must(grpc_call_start_batch(c.call, ops, count, &c.request, NULL), "send");
    tag_wait(&c, &c.request);

    bool garbled;
    if (!stream_read(&c, sink, context, &garbled)) grpc_call_cancel(c.call, NULL);
    tag_wait(&c, &c.status);

    enum claimd_status status = status_read(&c, error);
    if (garbled) status = claimd__error_garbled(error, "a message of the stream is malformed");
    conversation_end(&c);
    return status;
}

void claimd__exchange_wait(claimd_client *client, int64_t wait_ms) {
    int nothing;
    grpc_completion_queue *queue = claimd__client_queue_take(client);
    // No operation has this tag: the wait ends when its time is up.
    grpc_completion_queue_pluck(queue, &nothing, time_from_now(wait_ms), NULL);
    claimd__client_queue_put(client, queue);
}
