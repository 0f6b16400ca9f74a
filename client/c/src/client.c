#include "client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/grpc_security.h>
#if defined(__has_include)
#if __has_include(<grpc/credentials.h>)
#include <grpc/credentials.h> // where newer versions of gRPC declare credentials
#endif
#endif

#include "error.h"
#include "request.h"

#define TIMEOUT_MS_DEFAULT 10000
#define USER_AGENT_BYTES 256

// A reply is at most a claim with all its bodies: 1 MiB of result, 256 KiB of payload, small parts.
#define MESSAGE_BYTES_MAX (8 * 1024 * 1024)

// A silent peer is noticed after time + timeout. Above the service's least ping interval (10 s).
#define KEEPALIVE_TIME_MS 15000
#define KEEPALIVE_TIMEOUT_MS 5000

// A service that restarts is back within a second or two: look for it often, but not busily.
#define CONNECT_BACKOFF_FIRST_MS 100
#define CONNECT_BACKOFF_MAX_MS 1000
#define CONNECT_TIMEOUT_MS 5000

// As many queues are kept for reuse; more than that many calls at once make theirs anew.
#define QUEUES_KEPT 64

struct claimd_client {
    struct claimd__behaviour behaviour;
    grpc_channel *channel;
    void *methods[CLAIMD__METHOD_COUNT];

    pthread_mutex_t lock; // guards the two below; nothing is called while it is held
    grpc_completion_queue *queues[QUEUES_KEPT];
    size_t queues_count;
};

static const char *const method_paths[CLAIMD__METHOD_COUNT] = {
#define METHOD_PATH(name, path) [CLAIMD__METHOD_##name] = (path),
    CLAIMD__METHODS(METHOD_PATH)
#undef METHOD_PATH
};

static bool options_check(const struct claimd_options *options, struct claimd_error *error) {
    if (options->target == NULL || options->target[0] == '\0') {
        claimd__error_argument(error, "target", "target is missing: give \"host:port\"");
        return false;
    }
    if (options->timeout_ms != CLAIMD_UNSET_MS && options->timeout_ms < 1) {
        claimd__error_argument(error, "timeout_ms", "timeout_ms must be at least 1");
        return false;
    }
    return true;
}

static grpc_arg arg_integer(const char *key, int value) {
    grpc_arg arg;
    memset(&arg, 0, sizeof arg);
    arg.type = GRPC_ARG_INTEGER;
    arg.key = (char *)(uintptr_t)key; // gRPC does not write to keys; its type predates const
    arg.value.integer = value;
    return arg;
}

static grpc_arg arg_string(const char *key, char *value) {
    grpc_arg arg;
    memset(&arg, 0, sizeof arg);
    arg.type = GRPC_ARG_STRING;
    arg.key = (char *)(uintptr_t)key;
    arg.value.string = value;
    return arg;
}

static grpc_channel *channel_create(const struct claimd_options *options) {
    char user_agent[USER_AGENT_BYTES];
    snprintf(user_agent, sizeof user_agent, "%s%slibclaimd/%s",
             options->user_agent != NULL ? options->user_agent : "",
             options->user_agent != NULL ? " " : "", CLAIMD_VERSION_STRING);
    grpc_arg args[] = {
        arg_string(GRPC_ARG_PRIMARY_USER_AGENT_STRING, user_agent),
        arg_integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_BYTES_MAX),
        arg_integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, MESSAGE_BYTES_MAX),
        arg_integer(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_TIME_MS),
        arg_integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS),
        // A parked Begin sends nothing for a minute; it must go on pinging all the same.
        arg_integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        arg_integer(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, CONNECT_BACKOFF_FIRST_MS),
        arg_integer(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, CONNECT_BACKOFF_MAX_MS),
        arg_integer(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_TIMEOUT_MS),
        // Channels with equal settings would share one connection, also between clients.
        arg_integer(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        // A proxy of the environment is for the web, not for this; no DNS look-ups for settings.
        arg_integer(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        arg_integer(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
    };
    grpc_channel_args all = {sizeof args / sizeof args[0], args};
    grpc_channel_credentials *plaintext = grpc_insecure_credentials_create();
    grpc_channel *channel = grpc_channel_create(options->target, plaintext, &all);
    grpc_channel_credentials_release(plaintext);
    return channel;
}

enum claimd_status claimd_client_open(const struct claimd_options *given,
                                      claimd_client **out_client, struct claimd_error *error) {
    struct claimd_error spare;
    error = claimd__error_begin(error, &spare);
    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    if (!claimd__request_take(&options, sizeof options, given, error)) return error->status;
    if (out_client == NULL) {
        return claimd__error_argument(error, "out_client", "out_client is missing");
    }
    if (!options_check(&options, error)) return error->status;

    claimd_client *client = calloc(1, sizeof *client);
    if (client == NULL || pthread_mutex_init(&client->lock, NULL) != 0) {
        free(client);
        return claimd__error_memory(error);
    }
    client->behaviour = (struct claimd__behaviour){
        .timeout_ms =
            options.timeout_ms == CLAIMD_UNSET_MS ? TIMEOUT_MS_DEFAULT : options.timeout_ms,
        .no_retry = options.no_retry,
        .on_retry = options.on_retry,
        .on_retry_context = options.on_retry_context,
    };
    grpc_init();
    client->channel = channel_create(&options);
    for (size_t i = 0; i < CLAIMD__METHOD_COUNT; i++) {
        client->methods[i] =
            grpc_channel_register_call(client->channel, method_paths[i], NULL, NULL);
    }
    *out_client = client;
    return CLAIMD_OK;
}

static void queue_destroy(grpc_completion_queue *queue) {
    // No tag is outstanding, so a queue that is shut down has nothing left to deliver.
    grpc_completion_queue_shutdown(queue);
    grpc_completion_queue_destroy(queue);
}

void claimd_client_close(claimd_client *client) {
    if (client == NULL) return;
    for (size_t i = 0; i < client->queues_count; i++) queue_destroy(client->queues[i]);
    grpc_channel_destroy(client->channel);
    grpc_shutdown();
    pthread_mutex_destroy(&client->lock);
    free(client);
}

const struct claimd__behaviour *claimd__client_behaviour(const claimd_client *client) {
    return &client->behaviour;
}

grpc_completion_queue *claimd__client_queue_take(claimd_client *client) {
    grpc_completion_queue *queue = NULL;
    pthread_mutex_lock(&client->lock);
    if (client->queues_count > 0) queue = client->queues[--client->queues_count];
    pthread_mutex_unlock(&client->lock);
    return queue != NULL ? queue : grpc_completion_queue_create_for_pluck(NULL);
}

void claimd__client_queue_put(claimd_client *client, grpc_completion_queue *queue) {
    bool kept = false;
    pthread_mutex_lock(&client->lock);
    if (client->queues_count < QUEUES_KEPT) {
        client->queues[client->queues_count++] = queue;
        kept = true;
    }
    pthread_mutex_unlock(&client->lock);
    if (!kept) queue_destroy(queue);
}

grpc_call *claimd__client_call_create(claimd_client *client, enum claimd__method method,
                                      grpc_completion_queue *queue, gpr_timespec deadline) {
    return grpc_channel_create_registered_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                               queue, client->methods[method], deadline, NULL);
}
