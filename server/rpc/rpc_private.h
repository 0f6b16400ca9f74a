// What the files of rpc/ that hold the server together share.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "rpc/rpc_call.h"
#include "rpc/rpc_server.h"

enum rpc_phase {
    RPC_SERVING,
    RPC_NOTICE,  // health says NOT_SERVING, beginnings are refused
    RPC_CLOSING, // the port is closed, running calls end
    RPC_STOPPED,
};

struct rpc_server {
    struct rpc_server_options options;
    struct rpc_server_info info;
    grpc_server *server;
    grpc_completion_queue *queue;
    struct engine *engine;
    struct time_source time;
    int port;
    pthread_t thread;

    // Any thread may wake the loop: an empty batch on a call that goes nowhere posts its tag.
    grpc_channel *wake_channel;
    grpc_call *wake_call;
    struct rpc_tag wake_tag;
    atomic_bool wake_pending;
    atomic_bool stop_wanted;

    enum rpc_phase phase;
    struct boot_ns phase_until;
    struct rpc_tag shutdown_tag;
    bool shutdown_done;
    bool cancelled_all;
    uint32_t calls_live; // handed to the library or running; not on the free list
    struct rpc_call *free_calls;
    uint32_t free_count;
    size_t held_bytes;         // see LIMIT_HELD_BYTES_MAX
    struct rpc_call *watchers; // open Health.Watch streams
    uint32_t watcher_count;
};

// The table of methods, ended by one without handle. rpc_methods.c
extern const struct rpc_method rpc_methods[];

// Handlers, one per kind of method.
void rpc_unary_handle(struct rpc_call *call);   // rpc_unary.c: an engine operation
void rpc_status_handle(struct rpc_call *call);  // rpc_unary.c: GetStatus
void rpc_unknown_handle(struct rpc_call *call); // rpc_unary.c
#ifdef CLAIMD_BENCH
void rpc_noop_handle(struct rpc_call *call); // rpc_unary.c
#endif
void rpc_prune_handle(struct rpc_call *call);    // rpc_prune.c
void health_check_handle(struct rpc_call *call); // health.c
void health_watch_handle(struct rpc_call *call); // health.c

// Tells every watcher the server's status as it is now; ends them once the port is closed.
void health_announce(struct rpc_server *server);
