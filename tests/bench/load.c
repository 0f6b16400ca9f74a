// A closed-loop load generator for the benchmarks: K unary calls outstanding, one thread.
//
//   load --target HOST:PORT --mode begin|noop|pairs --outstanding K --calls N [--connections C]
//        [--prefix TEXT]
//
// Prints one JSON object: calls, errors, seconds, rate, latency percentiles in microseconds. Fresh
// keys in every run: the prefix is random unless given. It uses gRPC's C core directly, so that
// what is measured is the server and as little client as can be.
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "claimd/v1/claims.pb-c.h"

enum load_mode { LOAD_BEGIN, LOAD_NOOP, LOAD_PAIRS };

struct load_options {
    const char *target;
    enum load_mode mode;
    unsigned outstanding;
    unsigned connections;
    uint64_t calls;
    char prefix[64];
};

struct load_call {
    grpc_call *call;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_byte_buffer *request;
    grpc_byte_buffer *reply;
    grpc_status_code status;
    grpc_slice details;
    uint64_t started_ns;
    uint64_t id;
    uint64_t token; // pairs: of the Begin; 0 while it runs
    unsigned channel;
};

struct load {
    struct load_options options;
    grpc_channel *channels[64];
    void *method_begin[64];
    void *method_complete[64];
    grpc_completion_queue *queue;
    uint64_t started;
    uint64_t finished;
    uint64_t errors;
    uint32_t *latency_us;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "load: %s\n", what);
    exit(2);
}

static grpc_byte_buffer *packed(const ProtobufCMessage *message) {
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

static ProtobufCBinaryData text(const char *value) {
    return (ProtobufCBinaryData){strlen(value), (uint8_t *)(uintptr_t)value};
}

static grpc_byte_buffer *begin_request(const struct load *load, const struct load_call *call) {
    char id[128];
    char request_id[32];
    snprintf(id, sizeof id, "%s-%012" PRIu64, load->options.prefix, call->id);
    snprintf(request_id, sizeof request_id, "r%015" PRIu64, call->id);
    Claimd__V1__BeginRequest request = CLAIMD__V1__BEGIN_REQUEST__INIT;
    request.consumer = text("billing/capture");
    request.message_id = text(id);
    request.owner = text("worker-1");
    request.request_id = text(request_id);
    return packed(&request.base);
}

static grpc_byte_buffer *complete_request(const struct load *load, const struct load_call *call) {
    char id[128];
    snprintf(id, sizeof id, "%s-%012" PRIu64, load->options.prefix, call->id);
    Claimd__V1__CompleteRequest request = CLAIMD__V1__COMPLETE_REQUEST__INIT;
    request.consumer = text("billing/capture");
    request.message_id = text(id);
    request.token = call->token;
    return packed(&request.base);
}

static void call_start(struct load *load, struct load_call *call) {
    bool completes = call->token != 0;
    void *method =
        completes ? load->method_complete[call->channel] : load->method_begin[call->channel];
    call->call = grpc_channel_create_registered_call(load->channels[call->channel], NULL,
                                                     GRPC_PROPAGATE_DEFAULTS, load->queue, method,
                                                     gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    call->request = completes ? complete_request(load, call) : begin_request(load, call);
    call->reply = NULL;
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    grpc_op ops[6];
    memset(ops, 0, sizeof ops);
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = call->request;
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &call->initial;
    ops[4].op = GRPC_OP_RECV_MESSAGE;
    ops[4].data.recv_message.recv_message = &call->reply;
    ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    ops[5].data.recv_status_on_client.trailing_metadata = &call->trailing;
    ops[5].data.recv_status_on_client.status = &call->status;
    ops[5].data.recv_status_on_client.status_details = &call->details;
    if (!completes) call->started_ns = now_ns();
    if (grpc_call_start_batch(call->call, ops, 6, call, NULL) != GRPC_CALL_OK) die("start_batch");
}

// The token of a CLAIMED answer; 0 if it is anything else.
static uint64_t claimed_token(const struct load_call *call) {
    grpc_byte_buffer_reader reader;
    if (!grpc_byte_buffer_reader_init(&reader, call->reply)) return 0;
    grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
    Claimd__V1__BeginResponse *response = claimd__v1__begin_response__unpack(
        NULL, GRPC_SLICE_LENGTH(slice), GRPC_SLICE_START_PTR(slice));
    uint64_t token = 0;
    if (response != NULL && response->outcome == CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_CLAIMED) {
        token = response->token;
    }
    claimd__v1__begin_response__free_unpacked(response, NULL);
    grpc_slice_unref(slice);
    grpc_byte_buffer_reader_destroy(&reader);
    return token;
}

static void call_free(struct load_call *call) {
    grpc_byte_buffer_destroy(call->request);
    if (call->reply != NULL) grpc_byte_buffer_destroy(call->reply);
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    grpc_slice_unref(call->details);
    grpc_call_unref(call->call);
}

static bool next_id(struct load *load, struct load_call *call) {
    if (load->started == load->options.calls) return false;
    call->id = load->started++;
    call->token = 0;
    return true;
}

static void call_done(struct load *load, struct load_call *call) {
    bool was_complete = call->token != 0;
    bool ok = call->status == GRPC_STATUS_OK && call->reply != NULL;
    uint64_t token = 0;
    if (ok && !was_complete && load->options.mode != LOAD_NOOP) {
        token = claimed_token(call);
        ok = token != 0; // on fresh keys every Begin is CLAIMED
    }
    if (!ok && load->errors++ == 0) {
        char *details = grpc_slice_to_c_string(call->details);
        fprintf(stderr, "load: first error: status %d %s\n", (int)call->status, details);
        gpr_free(details);
    }
    call_free(call);
    if (ok && !was_complete && load->options.mode == LOAD_PAIRS) {
        call->token = token;
        call_start(load, call);
        return;
    }
    uint64_t took_us = (now_ns() - call->started_ns) / 1000;
    load->latency_us[load->finished++] = took_us > UINT32_MAX ? UINT32_MAX : (uint32_t)took_us;
    if (next_id(load, call)) call_start(load, call);
}

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint64_t number(const char *value) {
    uint64_t parsed = 0;
    for (const char *at = value; *at != '\0'; at++) {
        bool fits = *at >= '0' && *at <= '9' && parsed < UINT64_MAX / 10;
        if (!fits) die("a number above 0 is wanted");
        parsed = parsed * 10 + (uint64_t)(*at - '0');
    }
    if (parsed == 0) die("a number above 0 is wanted");
    return parsed;
}

static enum load_mode mode_of(const char *name) {
    if (strcmp(name, "begin") == 0) return LOAD_BEGIN;
    if (strcmp(name, "noop") == 0) return LOAD_NOOP;
    if (strcmp(name, "pairs") == 0) return LOAD_PAIRS;
    die("mode is begin, noop or pairs");
    return LOAD_NOOP;
}

static struct load_options options_of(int argc, char **argv) {
    struct load_options options = {.target = "127.0.0.1:7420",
                                   .mode = LOAD_BEGIN,
                                   .outstanding = 64,
                                   .connections = 4,
                                   .calls = 100000};
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) die("getrandom");
    snprintf(options.prefix, sizeof options.prefix, "pi_%016" PRIx64 "-capture", random);
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i];
        if (i + 1 == argc) die("every option has a value");
        const char *value = argv[i + 1];
        if (strcmp(name, "--target") == 0) {
            options.target = value;
        } else if (strcmp(name, "--mode") == 0) {
            options.mode = mode_of(value);
        } else if (strcmp(name, "--outstanding") == 0) {
            options.outstanding = (unsigned)number(value);
        } else if (strcmp(name, "--connections") == 0) {
            options.connections = (unsigned)number(value);
        } else if (strcmp(name, "--calls") == 0) {
            options.calls = number(value);
        } else if (strcmp(name, "--prefix") == 0) {
            snprintf(options.prefix, sizeof options.prefix, "%s", value);
        } else {
            die("unknown option");
        }
    }
    if (options.connections > options.outstanding) options.connections = options.outstanding;
    if (options.connections > 64) die("at most 64 connections");
    return options;
}

static void connect_all(struct load *load) {
    const char *begin = load->options.mode == LOAD_NOOP ? "/claimd.bench.v1.BenchService/Noop"
                                                        : "/claimd.v1.ClaimService/Begin";
    for (unsigned i = 0; i < load->options.connections; i++) {
        grpc_arg arg;
        memset(&arg, 0, sizeof arg);
        arg.type = GRPC_ARG_INTEGER;
        arg.key = (char *)(uintptr_t)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL; // a connection each
        arg.value.integer = 1;
        grpc_channel_args args = {1, &arg};
        grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
        load->channels[i] = grpc_channel_create(load->options.target, credentials, &args);
        grpc_channel_credentials_release(credentials);
        load->method_begin[i] = grpc_channel_register_call(load->channels[i], begin, NULL, NULL);
        load->method_complete[i] = grpc_channel_register_call(
            load->channels[i], "/claimd.v1.ClaimService/Complete", NULL, NULL);
    }
}

static void report(const struct load *load, double seconds) {
    qsort(load->latency_us, load->finished, sizeof load->latency_us[0], compare_u32);
    const uint32_t *sorted = load->latency_us;
    uint64_t count = load->finished;
    printf("{\"calls\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"seconds\": %.4f, \"rate\": %.1f, "
           "\"p50_us\": %u, \"p99_us\": %u, \"p999_us\": %u, \"max_us\": %u}\n",
           count, load->errors, seconds, (double)count / seconds, sorted[count / 2],
           sorted[count * 99 / 100], sorted[count * 999 / 1000], sorted[count - 1]);
}

int main(int argc, char **argv) {
    static struct load load;
    load.options = options_of(argc, argv);
    load.latency_us = calloc(load.options.calls, sizeof load.latency_us[0]);
    struct load_call *calls = calloc(load.options.outstanding, sizeof *calls);
    if (load.latency_us == NULL || calls == NULL) die("no memory");
    grpc_init();
    load.queue = grpc_completion_queue_create_for_next(NULL);
    connect_all(&load);
    uint64_t start_ns = now_ns();
    unsigned running = 0;
    for (; running < load.options.outstanding && next_id(&load, &calls[running]); running++) {
        calls[running].channel = running % load.options.connections;
        call_start(&load, &calls[running]);
    }
    while (load.finished < load.options.calls) {
        grpc_event event =
            grpc_completion_queue_next(load.queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type != GRPC_OP_COMPLETE) die("the queue ended");
        call_done(&load, event.tag);
    }
    report(&load, (double)(now_ns() - start_ns) / 1e9);
    return load.errors == 0 ? 0 : 1;
}
