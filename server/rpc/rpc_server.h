// The gRPC server: one completion queue, one thread, and that thread is the engine's.
//
// Owns the port, every call, and the thread. Creates nothing in the store: the engine is made by
// rpc_server_start, since it wakes through the completion queue. Start and drain are called by
// main's thread; everything else happens inside.
#pragma once

#include "engine/engine.h"

struct rpc_server;

struct rpc_server_options {
    const char *listen;  // HOST:PORT; port 0: the kernel chooses
    bool allow_insecure; // also on addresses that are not loopback
    const char *version;
    bool durability_relaxed;
    struct engine_options engine; // wake and wake_self are filled in here
};

// Opens the port and serves. ERR_INVALID_ARGUMENT (address), ERR_IO (port taken), or what
// engine_create says; detail says what to do.
MUST_CHECK enum err rpc_server_start(const struct rpc_server_options *options,
                                     struct rpc_server **out_server, struct error_detail *detail);

// The port that is listened on.
int rpc_server_port(const struct rpc_server *server);

// Clean stop, bounded: health says NOT_SERVING, beginnings are refused and ends still taken for
// LIMIT_DRAIN_NOTICE_MS, the port is closed, running calls have LIMIT_DRAIN_MS to end. Frees the
// server.
void rpc_server_drain(struct rpc_server *server);
