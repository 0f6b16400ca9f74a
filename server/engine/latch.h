// Per-key latches: a striped table with a bounded first-in-first-out queue on each stripe.
//
// A latch is held from the read of a key until its change is applied, so that two commands on one
// key never overlap. The first node of a stripe's queue holds it. Two keys may share a stripe; that
// only makes one wait for the other. Engine thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct latch_node {
    struct latch_node *next;
};

struct latch_stripe {
    struct latch_node *first; // holds the latch
    struct latch_node *last;
    uint32_t count;
    uint64_t applied_position; // of the last group that changed a key of this stripe
};

struct latch_table {
    struct latch_stripe *stripes;
};

MUST_CHECK enum err latch_table_init(struct latch_table *table);
void latch_table_deinit(struct latch_table *table);

enum latch_answer { LATCH_HELD, LATCH_QUEUED, LATCH_FULL };

// Takes the latch of the hash's stripe, or queues for it. LATCH_FULL after LIMIT_LATCH_QUEUE_MAX.
enum latch_answer latch_acquire(struct latch_table *table, uint64_t hash, struct latch_node *node);

// Gives the latch back; returns the node that holds it now, or NULL.
struct latch_node *latch_release(struct latch_table *table, uint64_t hash, struct latch_node *node);

struct latch_stripe *latch_stripe_of(const struct latch_table *table, uint64_t hash);
