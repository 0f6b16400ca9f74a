// One call on the server: from being posted, through its batches, to the free list.
//
// A call object lives until its outstanding tags are zero and nobody else holds it: the transport
// may answer late, and h2o's use-after-free teaches why (a raw pointer to a request is not a
// reference). Engine thread only.
#pragma once

#include <grpc/grpc.h>

#include "base/arena.h"
#include "engine/engine.h"
#include "engine/prune.h"
#include "rpc/rpc_decode.h"
#include "rpc/rpc_encode.h"
#include "rpc/rpc_status.h"

struct rpc_server;
struct rpc_call;

// What a tag on the completion queue points to.
struct rpc_tag {
    void (*arrived)(struct rpc_tag *tag, bool ok);
    struct rpc_call *call;
};

struct rpc_method {
    const char *path;                      // NULL: whatever no other method takes
    uint32_t posted;                       // how many calls wait for a request
    bool streams;                          // the client's going away must be noticed from the start
    void (*handle)(struct rpc_call *call); // a request is there
    rpc_decode_fn *decode;                 // engine methods
    rpc_encode_fn *encode;
    enum claim_verb verb;
};

struct rpc_call {
    struct rpc_server *server;
    const struct rpc_method *method;
    void *registered; // the method's handle in the library
    grpc_call *call;
    grpc_call_details details; // of calls to unknown methods
    size_t held_bytes;         // of the server's
    gpr_timespec deadline;
    grpc_metadata_array metadata;
    grpc_byte_buffer *request;
    struct arena arena;

    struct rpc_tag new_tag;
    struct rpc_tag send_tag;
    struct rpc_tag close_tag;
    uint32_t holds; // outstanding tags, and one for whoever will still answer
    bool close_started;
    bool initial_sent;
    bool closed; // the close tag arrived: nobody is there any more
    int was_cancelled;
    grpc_byte_buffer *message; // being sent
    grpc_slice details_slice;  // grpc-status-details-bin, being sent
    grpc_slice message_slice;  // status text, being sent
    grpc_metadata trailer;
    bool has_details;

    // What the kind of method needs.
    struct engine_op op;
    struct prune_request prune;
    enum err prune_end;                  // meaningful once the prune is over
    void (*sent)(struct rpc_call *call); // streams: the message has left
    void (*gone)(struct rpc_call *call); // the client went away before the status was sent
    struct rpc_call *next;               // free list, or the health watchers
    struct rpc_call *prev;
    int watched_status;
    bool sending;
    bool ended; // the status is on its way
};

// Posts one more call for a method. False without memory (fewer wait; not fatal).
bool rpc_call_post(struct rpc_server *server, const struct rpc_method *method, void *registered);

// Counts bytes that the call keeps until its end. False if all calls together keep too many.
MUST_CHECK bool rpc_call_hold_bytes(struct rpc_call *call, size_t len);

// The request's bytes, in one piece, in the arena. ERR_QUEUE_FULL if calls keep too many already;
// ERR_INVALID_ARGUMENT with *out_fault; ERR_NO_MEMORY.
MUST_CHECK enum err rpc_call_request(struct rpc_call *call, struct bytes *out,
                                     struct rpc_fault *out_fault);
void rpc_call_request_free(struct rpc_call *call);

// Starts watching for the client's going away; `gone` is then called.
void rpc_call_watch_close(struct rpc_call *call);

// Answers a unary call.
void rpc_call_reply(struct rpc_call *call, const struct rpc_reply *reply);
// Sends one message of a stream; `sent` follows.
void rpc_call_send(struct rpc_call *call, const struct rpc_reply *reply);
// Ends a call with an error, or a stream with ERR_OK (cause NULL).
void rpc_call_end(struct rpc_call *call, const struct rpc_status_cause *cause);

// Ends a call that nothing came of; fault tells of an invalid argument and may else be NULL.
void rpc_call_refuse(struct rpc_call *call, enum err err, const struct rpc_fault *fault);

// Takes and gives back a hold. The last one recycles the call.
void rpc_call_hold(struct rpc_call *call);
void rpc_call_drop(struct rpc_call *call);

// Frees a call that was never handed to the library, or is on the free list.
void rpc_call_destroy(struct rpc_call *call);
