#include "handler.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <claimd.h>
#include <jansson.h>

#include "sink.h"
#include "trail.h"

#define CONSUMER "billing/capture"
/* How long Begin may wait for another attempt to end, before the message is requeued. */
#define WAIT_MS 1000
/* The library repeats a call while claimd is away: as long as a restart may take. */
#define CALL_TIMEOUT_MS 60000

struct handler {
    const struct settings *settings;
    claimd_client *client;
    struct sink *sink;
    uint32_t started; /* effects that this process began */
};

/* One payment event, and its identity. */
struct event {
    json_t *json; /* owns the texts */
    const char *intent;
    const char *type;
    int64_t amount_cents;
    char *message_id;
};

static void handler_trail_repeat(void *context, const struct claimd_error *error,
                                 int64_t delay_ms) {
    (void)context;
    (void)delay_ms;
    trail_write("repeat\t\t%s", claimd_status_name(error->status));
}

struct handler *handler_create(const struct settings *settings) {
    struct handler *handler = calloc(1, sizeof *handler);
    if (handler == NULL) return NULL;
    handler->settings = settings;

    struct claimd_options options = CLAIMD_OPTIONS_INIT;
    struct claimd_error error;
    options.target = settings->claimd;
    options.timeout_ms = CALL_TIMEOUT_MS;
    options.on_retry = handler_trail_repeat;
    if (claimd_client_open(&options, &handler->client, &error) != CLAIMD_OK) {
        fprintf(stderr, "consumer: claimd: %s\n", error.message);
        goto fail;
    }
    handler->sink = sink_open(settings->ledger);
    if (handler->sink == NULL) goto fail;
    return handler;
fail:
    handler_destroy(handler);
    return NULL;
}

void handler_destroy(struct handler *handler) {
    if (handler == NULL) return;
    sink_close(handler->sink);
    claimd_client_close(handler->client);
    free(handler);
}

static void handler_free_event(struct event *event) {
    claimd_free(event->message_id);
    json_decref(event->json);
}

/* The message ID is the producer's natural key, not the broker's delivery. */
static bool handler_read_event(const void *body, size_t body_bytes, struct event *out_event) {
    struct event event = {.json = json_loadb(body, body_bytes, 0, NULL)};
    json_int_t amount_cents = 0;
    if (json_unpack(event.json, "{s:s, s:s, s:I}", "intent", &event.intent, "type", &event.type,
                    "amount_cents", &amount_cents) != 0) {
        fprintf(stderr, "consumer: a message that is no payment event\n");
        handler_free_event(&event);
        return false;
    }
    event.amount_cents = amount_cents;
    const char *parts[] = {event.intent, event.type};
    event.message_id = claimd_key_join(parts, 2);
    if (event.message_id == NULL) {
        fprintf(stderr, "consumer: joining the key: %s\n", strerror(errno));
        handler_free_event(&event);
        return false;
    }
    *out_event = event;
    return true;
}

/* The demo's orders to die here. SIGKILL: nothing is cleaned up, nothing is told to anybody. */
static void handler_maybe_die(const struct handler *handler, const char *point) {
    if (strcmp(point, handler->settings->die_at) == 0 &&
        handler->started >= handler->settings->die_after) {
        trail_write("die\t%s", point);
        kill(getpid(), SIGKILL);
    }
}

static int64_t handler_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool handler_begin(struct handler *handler, const struct event *event,
                          claimd_begin_result **out_claim) {
    /* No request_id of our own: the library makes one for this call and its repeats. */
    struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
    struct claimd_error error;
    begin.consumer = CONSUMER;
    begin.message_id = event->message_id;
    begin.owner = handler->settings->owner;
    begin.lease_ms = handler->settings->lease_ms;
    begin.wait_ms = WAIT_MS;
    int64_t sent_ms = handler_now_ms();
    if (claimd_begin(handler->client, &begin, out_claim, &error) != CLAIMD_OK) {
        fprintf(stderr, "consumer: begin %s: %s %s: %s\n", event->message_id,
                claimd_status_name(error.status), error.reason, error.message);
        return false;
    }
    const claimd_takeover *takeover = claimd_begin_result_takeover(*out_claim);
    trail_write(
        "begin\t%s\t%s\t%" PRIu32 "\t%" PRIu64 "\t%s\t%" PRId64 "\t%" PRId64, event->message_id,
        claimd_begin_outcome_name(claimd_begin_result_outcome(*out_claim)),
        claimd_begin_result_attempt(*out_claim), claimd_begin_result_token(*out_claim),
        claimd_attempt_end_name(claimd_takeover_previous_end(takeover)), sent_ms, handler_now_ms());
    return true;
}

/* The effect, in one transaction with its inbox row. */
static bool handler_charge(struct handler *handler, const struct event *event, uint64_t token) {
    /* The card network takes its time. */
    uint32_t work_us = arc4random_uniform(2 * handler->settings->work_ms * 1000 + 1);
    nanosleep(&(struct timespec){.tv_sec = work_us / 1000000,
                                 .tv_nsec = (long)(work_us % 1000000) * 1000},
              NULL);
    struct charge charge = {
        .consumer = CONSUMER,
        .message_id = event->message_id,
        .token = token,
        .intent = event->intent,
        .event_type = event->type,
        .amount_cents = event->amount_cents,
        .charged_by = handler->settings->owner,
        .use_inbox = handler->settings->use_inbox,
    };
    bool charged = false;
    if (!sink_charge(handler->sink, &charge, &charged)) return false;
    handler_maybe_die(handler, "after-commit");
    trail_write("effect\t%s\t%s", event->message_id, charged ? "charged" : "refused");
    return true;
}

static enum handler_verdict handler_complete(struct handler *handler, const struct event *event,
                                             uint64_t token) {
    char result[64];
    snprintf(result, sizeof result, "{\"charged_cents\": %" PRId64 "}", event->amount_cents);
    struct claimd_complete_request complete = CLAIMD_COMPLETE_REQUEST_INIT;
    struct claimd_error error;
    complete.consumer = CONSUMER;
    complete.message_id = event->message_id;
    complete.token = token;
    complete.result = claimd_bytes_of(result);
    if (claimd_complete(handler->client, &complete, NULL, &error) != CLAIMD_OK) {
        if (error.status == CLAIMD_FAILED_PRECONDITION) {
            /* We outlived our lease and somebody took over: the claim is theirs to complete. */
            trail_write("fenced\t%s\t%s", event->message_id, error.reason);
            return HANDLER_REQUEUE;
        }
        fprintf(stderr, "consumer: complete %s: %s %s: %s\n", event->message_id,
                claimd_status_name(error.status), error.reason, error.message);
        return HANDLER_BROKEN;
    }
    trail_write("complete\t%s\tSUCCEEDED", event->message_id);
    handler_maybe_die(handler, "after-complete");
    return HANDLER_ACK;
}

/* We hold the claim: have the effect, once, and say so. */
static enum handler_verdict handler_do(struct handler *handler, const struct event *event,
                                       const claimd_begin_result *claim) {
    uint64_t token = claimd_begin_result_token(claim);
    handler->started++;
    handler_maybe_die(handler, "after-begin");
    bool done = false;
    /* Somebody was here before us and may have got as far as the commit: look before we leap. */
    if (claimd_begin_result_attempt(claim) > 1 && handler->settings->use_inbox &&
        !sink_find(handler->sink, CONSUMER, event->message_id, &done)) {
        return HANDLER_BROKEN;
    }
    if (done) {
        trail_write("effect\t%s\treconciled", event->message_id);
    } else if (!handler_charge(handler, event, token)) {
        return HANDLER_BROKEN;
    }
    return handler_complete(handler, event, token);
}

static enum handler_verdict handler_claim(struct handler *handler, const struct event *event) {
    claimd_begin_result *claim = NULL;
    if (!handler_begin(handler, event, &claim)) return HANDLER_BROKEN;
    enum handler_verdict verdict = HANDLER_REQUEUE;
    switch (claimd_begin_result_outcome(claim)) {
    case CLAIMD_BEGIN_CLAIMED:
        verdict = handler_do(handler, event, claim);
        break;
    case CLAIMD_BEGIN_DUPLICATE:     /* final: the broker may forget it */
    case CLAIMD_BEGIN_DEAD_LETTERED: /* safe in claimd, for a person to look at */
        verdict = HANDLER_ACK;
        break;
    case CLAIMD_BEGIN_IN_FLIGHT: /* we waited, and it may yet need a delivery */
    case CLAIMD_BEGIN_NOT_YET:
    case CLAIMD_BEGIN_OUTCOME_UNKNOWN:
    case CLAIMD_BEGIN_OUT_OF_ORDER:
    case CLAIMD_BEGIN_UNSPECIFIED:
        verdict = HANDLER_REQUEUE;
        break;
    }
    claimd_begin_result_free(claim);
    return verdict;
}

enum handler_verdict handler_handle(struct handler *handler, const void *body, size_t body_bytes) {
    struct event event;
    if (!handler_read_event(body, body_bytes, &event)) return HANDLER_BROKEN;
    trail_write("deliver\t%s", event.message_id);
    enum handler_verdict verdict = HANDLER_ACK;
    if (handler->settings->use_claim) {
        verdict = handler_claim(handler, &event);
    } else {
        handler->started++;
        if (!handler_charge(handler, &event, 0)) verdict = HANDLER_BROKEN;
    }
    handler_free_event(&event);
    return verdict;
}
