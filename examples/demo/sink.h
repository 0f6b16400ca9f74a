/*
 * The payment service's own database: the inbox and the ledger, in one SQLite file that all
 * consumers share (schema.sql).
 * Threads: one sink belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sink;

/* One charge to make. Borrowed during the call. */
struct charge {
    const char *consumer;
    const char *message_id;
    uint64_t token;
    const char *intent;
    const char *event_type;
    int64_t amount_cents;
    const char *charged_by;
    bool use_inbox; /* false only to show what happens without it */
};

/* Opens the database, which must exist. NULL: it cannot be opened; stderr says why. */
struct sink *sink_open(const char *path);
void sink_close(struct sink *sink);

/* Whether the effect of this message is already there. False: the database failed. */
bool sink_find(struct sink *sink, const char *consumer, const char *message_id, bool *out_found);

/* Makes the charge, and notes it in the inbox, in one transaction: both or neither. If the inbox
 * knows the message, nothing is charged and *out_charged is false. False: the database failed;
 * nothing happened. */
bool sink_charge(struct sink *sink, const struct charge *charge, bool *out_charged);
