#include "rpc/rpc_server.h"

#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#if __has_include(<grpc/credentials.h>)
#include <grpc/credentials.h>
#endif

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/rpc_address.h"
#include "rpc/rpc_private.h"

#define NS_PER_MS INT64_C(1000000)

// --- waking -------------------------------------------------------------------------------------

static void wake_arrived(struct rpc_tag *tag, bool ok) {
    (void)ok;
    struct rpc_server *server = CONTAINER_OF(tag, struct rpc_server, wake_tag);
    // Read as well as written: what the last caller did before it found a tag under way is seen.
    (void)atomic_exchange(&server->wake_pending, false);
}

// Any thread. One tag is under way at a time, however many call.
static void wake(void *self) {
    struct rpc_server *server = self;
    if (atomic_exchange(&server->wake_pending, true)) return;
    grpc_call_error error =
        grpc_call_start_batch(server->wake_call, NULL, 0, &server->wake_tag, NULL);
    CHECK(error == GRPC_CALL_OK);
}

// --- the loop -----------------------------------------------------------------------------------

static struct boot_ns after_ms(const struct rpc_server *server, int64_t delay_ms) {
    return (struct boot_ns){time_boot(&server->time).ns + delay_ms * NS_PER_MS};
}

static gpr_timespec deadline_of(const struct rpc_server *server, struct boot_ns at) {
    int64_t now_ns = time_boot(&server->time).ns;
    int64_t left_ns = at.ns > now_ns ? at.ns - now_ns : 0;
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left_ns, GPR_TIMESPAN));
}

static void shutdown_arrived(struct rpc_tag *tag, bool ok) {
    (void)ok;
    struct rpc_server *server = CONTAINER_OF(tag, struct rpc_server, shutdown_tag);
    server->shutdown_done = true;
}

// Moves the drain on; true when everything has ended.
static bool drain_step(struct rpc_server *server) {
    bool due = time_boot(&server->time).ns >= server->phase_until.ns;
    switch (server->phase) {
    case RPC_SERVING:
        if (!atomic_load(&server->stop_wanted)) return false;
        log_info("draining: new claims are refused, running ones may end");
        server->phase = RPC_NOTICE;
        server->phase_until = after_ms(server, LIMIT_DRAIN_NOTICE_MS);
        health_announce(server);
        engine_drain(server->engine);
        return false;
    case RPC_NOTICE:
        if (!due) return false;
        server->phase = RPC_CLOSING;
        server->phase_until = after_ms(server, LIMIT_DRAIN_MS);
        server->shutdown_tag.arrived = shutdown_arrived;
        grpc_server_shutdown_and_notify(server->server, server->queue, &server->shutdown_tag);
        health_announce(server);
        return false;
    case RPC_CLOSING:
        if (due && !server->cancelled_all) {
            log_warn("draining: calls still run after %lld ms: cancelled",
                     (long long)LIMIT_DRAIN_MS);
            grpc_server_cancel_all_calls(server->server);
            server->cancelled_all = true;
            server->phase_until.ns = INT64_MAX;
        }
        if (!server->shutdown_done || server->calls_live > 0 || !engine_is_idle(server->engine)) {
            return false;
        }
        server->phase = RPC_STOPPED;
        return true;
    case RPC_STOPPED:
        break;
    }
    return true;
}

static void *serve(void *self) {
    struct rpc_server *server = self;
    const gpr_timespec past = gpr_inf_past(GPR_CLOCK_MONOTONIC);
    struct boot_ns next_turn = {0};
    uint32_t drained = 1; // the first turn comes at once
    for (;;) {
        gpr_timespec deadline = past;
        if (drained == 0) {
            struct boot_ns until = next_turn;
            if (server->phase != RPC_SERVING && server->phase_until.ns < until.ns) {
                until = server->phase_until;
            }
            deadline = deadline_of(server, until);
        }
        grpc_event event = grpc_completion_queue_next(server->queue, deadline, NULL);
        if (event.type == GRPC_OP_COMPLETE) {
            struct rpc_tag *tag = event.tag;
            tag->arrived(tag, event.success != 0);
            if (++drained < LIMIT_DRAIN_CALLS_MAX) continue;
        }
        // The queue is drained, or enough has come together: one turn for all of it.
        enum rpc_phase before = server->phase;
        next_turn = engine_turn(server->engine);
        if (drain_step(server)) return NULL;
        // A step of the drain answers parked calls and ends prunes: that wants a turn at once.
        drained = server->phase == before ? 0 : 1;
    }
}

// --- life ---------------------------------------------------------------------------------------

static grpc_arg int_arg(const char *key, int value) {
    grpc_arg arg;
    memset(&arg, 0, sizeof arg);
    arg.type = GRPC_ARG_INTEGER;
    arg.key = (char *)(uintptr_t)key; // the library does not write to it
    arg.value.integer = value;
    return arg;
}

static void server_create(struct rpc_server *server) {
    grpc_resource_quota *quota = grpc_resource_quota_create("claimd");
    grpc_resource_quota_resize(quota, LIMIT_GRPC_MEMORY_BYTES);
    grpc_arg quota_arg;
    memset(&quota_arg, 0, sizeof quota_arg);
    quota_arg.type = GRPC_ARG_POINTER;
    quota_arg.key = (char *)(uintptr_t)GRPC_ARG_RESOURCE_QUOTA;
    quota_arg.value.pointer.p = quota;
    quota_arg.value.pointer.vtable = grpc_resource_quota_arg_vtable();
    grpc_arg args[] = {
        int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0), // else a second process shares the port in silence
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, LIMIT_REQUEST_BYTES_MAX),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, LIMIT_REQUEST_BYTES_MAX),
        int_arg(GRPC_ARG_MAX_METADATA_SIZE, LIMIT_METADATA_BYTES_MAX),
        int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, LIMIT_STREAMS_PER_CONNECTION),
        int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000),
        int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, 60000),
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000),
        int_arg(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000),
        int_arg(GRPC_ARG_ENABLE_CHANNELZ, 0),
        // The library inflates a message whole before it looks at its length: 500 KB would become
        // 500 MB. A compressed request is UNIMPLEMENTED, as gRPC has it for what is not supported.
        int_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE),
        int_arg(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        quota_arg,
    };
    grpc_channel_args channel_args = {sizeof args / sizeof args[0], args};
    server->queue = grpc_completion_queue_create_for_next(NULL);
    server->server = grpc_server_create(&channel_args, NULL);
    grpc_server_register_completion_queue(server->server, server->queue, NULL);
    grpc_resource_quota_unref(quota);

    server->wake_tag.arrived = wake_arrived;
    server->wake_channel = grpc_lame_client_channel_create("wake", GRPC_STATUS_UNAVAILABLE, "wake");
    server->wake_call = grpc_channel_create_call(
        server->wake_channel, NULL, GRPC_PROPAGATE_DEFAULTS, server->queue,
        grpc_slice_from_static_string("/wake"), NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
}

// The library removes a socket file that is there and binds anew: two servers with two stores would
// then have one address, and the first be out of reach.
static bool socket_is_served(const char *listen) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = listen + strlen("unix:");
    if (strncmp(listen, "unix:", strlen("unix:")) != 0) return false;
    if (strlen(path) >= sizeof address.sun_path) return false; // the library refuses it
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool served = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return served;
}

static enum err port_open(struct rpc_server *server, struct error_detail *detail) {
    const char *listen = server->options.listen;
    enum err err = rpc_address_check(listen, server->options.allow_insecure, detail);
    if (err != ERR_OK) return err;
    if (!socket_is_served(listen)) {
        grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
        server->port = grpc_server_add_http2_port(server->server, listen, credentials);
        grpc_server_credentials_release(credentials);
    }
    if (server->port == 0) {
        error_detail_set(detail,
                         "cannot listen on %s: another process has the port, or the address "
                         "is not one of this machine",
                         listen);
        return ERR_IO;
    }
    return ERR_OK;
}

static void methods_post(struct rpc_server *server, void *const *registered) {
    for (size_t i = 0; rpc_methods[i].handle != NULL; i++) {
        for (uint32_t n = 0; n < rpc_methods[i].posted; n++) {
            (void)rpc_call_post(server, &rpc_methods[i], registered[i]);
        }
    }
}

static void queue_empty(struct rpc_server *server) {
    grpc_completion_queue_shutdown(server->queue);
    grpc_event event;
    do {
        event =
            grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_OP_COMPLETE) {
            struct rpc_tag *tag = event.tag;
            tag->arrived(tag, event.success != 0);
        }
    } while (event.type != GRPC_QUEUE_SHUTDOWN);
}

// After the loop has ended, or never began.
static void server_destroy(struct rpc_server *server) {
    engine_destroy(server->engine);
    if (!server->shutdown_done) {
        server->shutdown_tag.arrived = shutdown_arrived;
        grpc_server_shutdown_and_notify(server->server, server->queue, &server->shutdown_tag);
    }
    grpc_call_unref(server->wake_call);
    grpc_channel_destroy(server->wake_channel);
    queue_empty(server);
    grpc_server_destroy(server->server);
    grpc_completion_queue_destroy(server->queue);
    while (server->free_calls != NULL) {
        struct rpc_call *call = server->free_calls;
        server->free_calls = call->next;
        rpc_call_destroy(call);
    }
    mem_free(server);
    grpc_shutdown();
}

enum err rpc_server_start(const struct rpc_server_options *options, struct rpc_server **out_server,
                          struct error_detail *detail) {
    struct rpc_server *server = mem_zalloc(sizeof *server);
    if (server == NULL) return ERR_NO_MEMORY;
    grpc_init();
    server->options = *options;
    server->options.engine.wake = wake;
    server->options.engine.wake_self = server;
    server->time = options->engine.time;
    server->info = (struct rpc_server_info){.version = options->version,
                                            .started_at = time_wall(&server->time),
                                            .durability_relaxed = options->durability_relaxed,
                                            .policy = options->engine.policy};
    server_create(server);
    void *registered[64] = {0};
    for (size_t i = 0; rpc_methods[i].handle != NULL; i++) {
        CHECK(i < sizeof registered / sizeof registered[0]);
        if (rpc_methods[i].path == NULL) continue;
        registered[i] = grpc_server_register_method(server->server, rpc_methods[i].path, NULL,
                                                    GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
    }
    enum err err = port_open(server, detail);
    if (err == ERR_OK) err = engine_create(&server->options.engine, &server->engine, detail);
    if (err != ERR_OK) {
        grpc_server_start(server->server); // a server that never started cannot be shut down
        server_destroy(server);
        return err;
    }
    grpc_server_start(server->server);
    methods_post(server, registered);
    if (pthread_create(&server->thread, NULL, serve, server) != 0) {
        error_detail_set(detail, "cannot start threads");
        server_destroy(server);
        return ERR_IO;
    }
    *out_server = server;
    return ERR_OK;
}

int rpc_server_port(const struct rpc_server *server) { return server->port; }

void rpc_server_drain(struct rpc_server *server) {
    atomic_store(&server->stop_wanted, true);
    wake(server);
    pthread_join(server->thread, NULL);
    server_destroy(server);
}
