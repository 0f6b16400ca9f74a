/*
 * A payment consumer in C: RabbitMQ (librabbitmq), claimd (libclaimd), SQLite. consumer.py is the
 * same consumer in Python; both read the same environment and write the same log. This file talks
 * to the broker; handler.c has what is done with a message.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <amqp.h>
#include <amqp_tcp_socket.h>

#include "handler.h"
#include "settings.h"
#include "trail.h"

#define CHANNEL 1
#define PREFETCH 4
#define HEARTBEAT_S 60
#define FRAME_BYTES_MAX 131072
/* How long a stop may go unnoticed while there are no messages. */
#define POLL_US 200000

static volatile sig_atomic_t consumer_stop_wanted = 0;

static void consumer_ask_to_stop(int number) {
    (void)number;
    consumer_stop_wanted = 1;
}

static bool consumer_rpc_failed(amqp_rpc_reply_t reply, const char *what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return false;
    fprintf(stderr, "consumer: broker: %s: %s\n", what,
            reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION
                ? amqp_error_string2(reply.library_error)
                : "refused");
    return true;
}

/* Connects, and asks for messages with acknowledgements of our own. */
static bool consumer_connect(amqp_connection_state_t broker, const struct settings *settings) {
    amqp_socket_t *socket = amqp_tcp_socket_new(broker);
    if (socket == NULL || amqp_socket_open(socket, "127.0.0.1", (int)settings->amqp_port) != 0) {
        fprintf(stderr, "consumer: broker: cannot connect to port %u\n", settings->amqp_port);
        return false;
    }
    if (consumer_rpc_failed(amqp_login(broker, "/", 0, FRAME_BYTES_MAX, HEARTBEAT_S,
                                       AMQP_SASL_METHOD_PLAIN, "guest", "guest"),
                            "logging in")) {
        return false;
    }
    amqp_channel_open(broker, CHANNEL);
    if (consumer_rpc_failed(amqp_get_rpc_reply(broker), "opening a channel")) return false;
    amqp_basic_qos(broker, CHANNEL, 0, PREFETCH, 0);
    if (consumer_rpc_failed(amqp_get_rpc_reply(broker), "setting the prefetch")) return false;
    amqp_basic_consume(broker, CHANNEL, amqp_cstring_bytes(settings->queue), amqp_empty_bytes, 0, 0,
                       0, amqp_empty_table);
    return !consumer_rpc_failed(amqp_get_rpc_reply(broker), "consuming");
}

/* Tells the broker what became of a delivery. */
static bool consumer_answer(amqp_connection_state_t broker, uint64_t delivery_tag,
                            enum handler_verdict verdict) {
    int status = AMQP_STATUS_OK;
    switch (verdict) {
    case HANDLER_ACK:
        status = amqp_basic_ack(broker, CHANNEL, delivery_tag, 0);
        trail_write("ack");
        break;
    case HANDLER_REQUEUE:
        status = amqp_basic_nack(broker, CHANNEL, delivery_tag, 0, 1);
        trail_write("requeue");
        break;
    case HANDLER_BROKEN:
        return false;
    }
    if (status != AMQP_STATUS_OK) {
        fprintf(stderr, "consumer: broker: answering: %s\n", amqp_error_string2(status));
    }
    return status == AMQP_STATUS_OK;
}

/* Takes one delivery, if one comes in time. False: no use going on. */
static bool consumer_take_one(amqp_connection_state_t broker, const struct settings *settings,
                              struct handler *handler) {
    amqp_envelope_t envelope;
    struct timeval patience = {.tv_usec = POLL_US};
    amqp_maybe_release_buffers(broker);
    amqp_rpc_reply_t reply = amqp_consume_message(broker, &envelope, &patience, 0);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        reply.library_error == AMQP_STATUS_TIMEOUT) {
        return true;
    }
    if (consumer_rpc_failed(reply, "waiting for a message")) return false;

    bool good = true;
    if (!settings->ack_last) good = consumer_answer(broker, envelope.delivery_tag, HANDLER_ACK);
    enum handler_verdict verdict =
        handler_handle(handler, envelope.message.body.bytes, envelope.message.body.len);
    if (settings->ack_last) good = consumer_answer(broker, envelope.delivery_tag, verdict);
    if (verdict == HANDLER_BROKEN) good = false;
    amqp_destroy_envelope(&envelope);
    return good;
}

int main(void) {
    struct settings settings;
    if (!settings_read(&settings)) return EXIT_FAILURE;
    if (!trail_open(settings.trail)) {
        fprintf(stderr, "consumer: %s: %s\n", settings.trail, strerror(errno));
        return EXIT_FAILURE;
    }
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = consumer_ask_to_stop}, NULL);

    bool good = false;
    amqp_connection_state_t broker = amqp_new_connection();
    struct handler *handler = handler_create(&settings);
    if (broker != NULL && handler != NULL && consumer_connect(broker, &settings)) {
        trail_write("start\t%s", settings.owner);
        good = true;
        while (good && !consumer_stop_wanted) {
            good = consumer_take_one(broker, &settings, handler);
        }
        /* Closing gives back whatever was delivered and not yet handled. */
        if (good) amqp_connection_close(broker, AMQP_REPLY_SUCCESS);
    }
    handler_destroy(handler);
    if (broker != NULL) amqp_destroy_connection(broker);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
