// Wiring only: options, signals, the store, the server; torn down in reverse.
#include <signal.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/rand.h"
#include "config/config.h"
#include "rpc/rpc_server.h"
#include "store/store.h"

enum { EXIT_CLEAN = 0, EXIT_CANNOT_START = 1, EXIT_USAGE = 2 };

// Tokens rise over the whole life of a deployment, also over a store that was lost and made anew.
static uint64_t initial_token(const struct time_source *time) {
    struct wall_ms now = time_wall(time);
    return now.ms < 1 ? 1 : (uint64_t)now.ms * 1000;
}

static int init(const struct config *config, const struct time_source *time) {
    struct error_detail detail = {0};
    if (store_create(config->data_dir, initial_token(time), &detail) != ERR_OK) {
        fprintf(stderr, "claimd init: %s\n", detail.text);
        return EXIT_CANNOT_START;
    }
    printf("created an empty store in %s\n", config->data_dir);
    return EXIT_CLEAN;
}

static enum err store_ready(const struct config *config, const struct time_source *time,
                            struct store **out_store, struct error_detail *detail) {
    struct store_options options = store_options_default();
    options.relaxed = config->durability_relaxed;
    enum err err = store_open(config->data_dir, &options, out_store, detail);
    if (err != ERR_NOT_FOUND || !config->create) return err;
    err = store_create(config->data_dir, initial_token(time), detail);
    if (err != ERR_OK) return err;
    log_info("created an empty store in %s", config->data_dir);
    return store_open(config->data_dir, &options, out_store, detail);
}

static enum err server_ready(const struct config *config, const struct time_source *time,
                             struct store *store, struct rpc_server **out_server,
                             struct error_detail *detail) {
    struct rand rand = rand_from_kernel();
    struct rpc_server_options options = {
        .listen = config->listen,
        .allow_insecure = config->insecure,
        .version = CLAIMD_VERSION,
        .durability_relaxed = config->durability_relaxed,
        .engine = {.store = store,
                   .time = *time,
                   .policy = &policy_default,
                   .store_is_relaxed = config->durability_relaxed,
                   .group_inline_ops_max = LIMIT_GROUP_INLINE_OPS_MAX,
                   .disk_soft_reserve_bytes = config->disk_soft_reserve_bytes,
                   .disk_hard_reserve_bytes = config->disk_hard_reserve_bytes,
                   .random_seed = rand_u64(&rand)},
    };
    return rpc_server_start(&options, out_server, detail);
}

static int serve(const struct config *config, const struct time_source *time) {
    struct error_detail detail = {0};
    struct store *store = NULL;
    struct rpc_server *server = NULL;
    sigset_t stops;
    int signal_number = 0;

    // Before any thread, so that all inherit it and only this one takes the signals.
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &stops, NULL);
    (void)signal(SIGPIPE, SIG_IGN);

    if (store_ready(config, time, &store, &detail) != ERR_OK ||
        server_ready(config, time, store, &server, &detail) != ERR_OK) {
        store_close(store);
        log_error("cannot start: %s", detail.text);
        return EXIT_CANNOT_START;
    }
    if (config->durability_relaxed) {
        log_warn("durability is relaxed: a reply may come before the change is on disk");
    }
    log_info("claimd %s listens on %s (port %d), data in %s", CLAIMD_VERSION, config->listen,
             rpc_server_port(server), config->data_dir);

    (void)sigwait(&stops, &signal_number);
    log_info("%s: stopping", signal_number == SIGTERM ? "SIGTERM" : "SIGINT");
    rpc_server_drain(server);
    store_close(store);
    log_info("stopped");
    return EXIT_CLEAN;
}

int main(int argc, char **argv) {
    struct config config;
    struct error_detail detail = {0};
    struct time_source time = time_source_real();
    if (config_read(argc, argv, &config, &detail) != ERR_OK) {
        fprintf(stderr, "claimd: %s\nTry 'claimd --help'.\n", detail.text);
        return EXIT_USAGE;
    }
    switch (config.command) {
    case CONFIG_SERVE:
        return serve(&config, &time);
    case CONFIG_INIT:
        return init(&config, &time);
    case CONFIG_HELP:
        config_print_help();
        return EXIT_CLEAN;
    case CONFIG_VERSION:
        printf("claimd %s\n", CLAIMD_VERSION);
        return EXIT_CLEAN;
    }
    return EXIT_USAGE;
}
