/*
 * What the driver tells a consumer, from the environment (fleet.py sets it).
 * Owns nothing: the texts are the environment's own and live as long as the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct settings {
    const char *queue;
    const char *claimd; /* host:port */
    const char *ledger; /* path of the SQLite file */
    const char *trail;  /* path of this consumer's log */
    const char *owner;  /* who claims, for people */
    const char *die_at; /* where to kill itself; "" for nowhere */
    uint32_t amqp_port;
    uint32_t lease_ms;
    uint32_t work_ms;
    uint32_t die_after; /* not before this many claims */
    /* The guards, all on unless the demo is to be seen failing. */
    bool use_claim;
    bool use_inbox;
    bool ack_last; /* acknowledge after the effect, not before */
};

/* Reads all of it. False: something is missing or not a number; a line on stderr says what. */
bool settings_read(struct settings *out_settings);
