// A gRPC server that answers as a test tells it: real wire, real channel, no claimd.
//
// One thread answers one call after the other, so that a handler needs no lock against itself. What
// it shares with the test is safe to read once fake_server_stop has returned.
#pragma once

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <google/protobuf-c/protobuf-c.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>

#define FAKE_MESSAGES_MAX 4

struct fake_request {
    const char *method; // "/claimd.v1.ClaimService/Begin"
    const uint8_t *data;
    size_t size;
    unsigned number; // of the call, from 1
};

// Zeroed: an OK without a message, which is malformed for a unary call.
struct fake_reply {
    int code;
    const char *message;
    const ProtobufCMessage *details; // a google.rpc.Status
    const ProtobufCMessage *messages[FAKE_MESSAGES_MAX];
    size_t messages_count;
    const char *raw; // one answer of these bytes
    bool hang;       // answer nothing until the client gives up
};

typedef void fake_handler(void *context, const struct fake_request *request,
                          struct fake_reply *reply);

struct fake_server {
    fake_handler *handler;
    void *context;
    grpc_server *server;
    grpc_completion_queue *queue;
    pthread_t thread;
    char target[64];
    unsigned calls;
    bool closed;    // the call at hand
    bool shut_down; // the server
};

enum fake_tag { FAKE_NEW = 1, FAKE_CLOSE, FAKE_STEP, FAKE_SHUTDOWN };

static inline void *fake_tag_of(enum fake_tag tag) { return (void *)(uintptr_t)tag; }

// Waits until a tag arrives; false if its operation failed.
static inline bool fake_await(struct fake_server *fake, enum fake_tag tag) {
    while (!(tag == FAKE_CLOSE && fake->closed)) {
        grpc_event event =
            grpc_completion_queue_next(fake->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        ck_assert_int_eq(event.type, GRPC_OP_COMPLETE);
        if (event.tag == fake_tag_of(FAKE_CLOSE)) fake->closed = true;
        if (event.tag == fake_tag_of(FAKE_SHUTDOWN)) fake->shut_down = true;
        if (event.tag == fake_tag_of(tag)) return event.success != 0;
    }
    return true;
}

static inline void fake_step(struct fake_server *fake, grpc_call *call, const grpc_op *op) {
    ck_assert_int_eq(grpc_call_start_batch(call, op, 1, fake_tag_of(FAKE_STEP), NULL), 0);
    fake_await(fake, FAKE_STEP);
}

static inline grpc_slice fake_pack(const ProtobufCMessage *message) {
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    return slice;
}

static inline void fake_send_message(struct fake_server *fake, grpc_call *call,
                                     grpc_slice take_slice) {
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
    op.data.send_message.send_message = grpc_raw_byte_buffer_create(&take_slice, 1);
    fake_step(fake, call, &op);
    grpc_byte_buffer_destroy(op.data.send_message.send_message);
    grpc_slice_unref(take_slice);
}

static inline void fake_send(struct fake_server *fake, grpc_call *call,
                             const struct fake_reply *reply) {
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    fake_step(fake, call, &op);
    for (size_t i = 0; i < reply->messages_count; i++) {
        fake_send_message(fake, call, fake_pack(reply->messages[i]));
    }
    if (reply->raw != NULL) {
        fake_send_message(fake, call, grpc_slice_from_copied_string(reply->raw));
    }
    grpc_slice text = grpc_slice_from_copied_string(reply->message != NULL ? reply->message : "");
    grpc_metadata details = {.key = grpc_slice_from_static_string("grpc-status-details-bin")};
    op = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    op.data.send_status_from_server.status = (grpc_status_code)reply->code;
    op.data.send_status_from_server.status_details = &text;
    if (reply->details != NULL) {
        details.value = fake_pack(reply->details);
        op.data.send_status_from_server.trailing_metadata = &details;
        op.data.send_status_from_server.trailing_metadata_count = 1;
    }
    fake_step(fake, call, &op);
    grpc_slice_unref(text);
    if (reply->details != NULL) grpc_slice_unref(details.value);
}

static inline void fake_answer(struct fake_server *fake, grpc_call *call,
                               const grpc_call_details *details) {
    int cancelled;
    fake->closed = false;
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    op.data.recv_close_on_server.cancelled = &cancelled;
    ck_assert_int_eq(grpc_call_start_batch(call, &op, 1, fake_tag_of(FAKE_CLOSE), NULL), 0);
    grpc_byte_buffer *buffer = NULL;
    op = (grpc_op){.op = GRPC_OP_RECV_MESSAGE};
    op.data.recv_message.recv_message = &buffer;
    fake_step(fake, call, &op);
    if (buffer != NULL) {
        grpc_byte_buffer_reader reader;
        ck_assert_int_eq(grpc_byte_buffer_reader_init(&reader, buffer), 1);
        grpc_slice body = grpc_byte_buffer_reader_readall(&reader);
        char *method = grpc_slice_to_c_string(details->method);
        struct fake_request request = {method, GRPC_SLICE_START_PTR(body), GRPC_SLICE_LENGTH(body),
                                       ++fake->calls};
        struct fake_reply reply = {0};
        fake->handler(fake->context, &request, &reply);
        if (!reply.hang) fake_send(fake, call, &reply);
        gpr_free(method);
        grpc_slice_unref(body);
        grpc_byte_buffer_reader_destroy(&reader);
        grpc_byte_buffer_destroy(buffer);
    }
    fake_await(fake, FAKE_CLOSE);
    grpc_call_unref(call);
}

static inline void *fake_run(void *self) {
    struct fake_server *fake = self;
    for (;;) {
        grpc_call *call = NULL;
        grpc_call_details details;
        grpc_metadata_array metadata;
        grpc_call_details_init(&details);
        grpc_metadata_array_init(&metadata);
        grpc_call_error asked =
            grpc_server_request_call(fake->server, &call, &details, &metadata, fake->queue,
                                     fake->queue, fake_tag_of(FAKE_NEW));
        ck_assert_int_eq(asked, GRPC_CALL_OK);
        bool arrived = fake_await(fake, FAKE_NEW);
        if (arrived) fake_answer(fake, call, &details);
        grpc_call_details_destroy(&details);
        grpc_metadata_array_destroy(&metadata);
        if (!arrived) break; // shutting down
    }
    if (!fake->shut_down) fake_await(fake, FAKE_SHUTDOWN);
    return NULL;
}

// Listens on a free port of the loopback, or on the given one (0 for a free one).
static inline void fake_server_start(struct fake_server *fake, int port, fake_handler *handler,
                                     void *context) {
    memset(fake, 0, sizeof *fake);
    fake->handler = handler;
    fake->context = context;
    grpc_init();
    fake->queue = grpc_completion_queue_create_for_next(NULL);
    fake->server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(fake->server, fake->queue, NULL);
    grpc_server_credentials *plaintext = grpc_insecure_server_credentials_create();
    snprintf(fake->target, sizeof fake->target, "127.0.0.1:%d", port);
    port = grpc_server_add_http2_port(fake->server, fake->target, plaintext);
    grpc_server_credentials_release(plaintext);
    ck_assert_int_gt(port, 0);
    snprintf(fake->target, sizeof fake->target, "127.0.0.1:%d", port);
    grpc_server_start(fake->server);
    ck_assert_int_eq(pthread_create(&fake->thread, NULL, fake_run, fake), 0);
}

static inline void fake_server_stop(struct fake_server *fake) {
    grpc_server_shutdown_and_notify(fake->server, fake->queue, fake_tag_of(FAKE_SHUTDOWN));
    grpc_server_cancel_all_calls(fake->server);
    ck_assert_int_eq(pthread_join(fake->thread, NULL), 0);
    grpc_server_destroy(fake->server);
    grpc_completion_queue_shutdown(fake->queue);
    gpr_timespec never = gpr_inf_future(GPR_CLOCK_REALTIME);
    while (grpc_completion_queue_next(fake->queue, never, NULL).type != GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(fake->queue);
    grpc_shutdown();
}
