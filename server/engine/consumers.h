// The consumers by name: their numbers in keys, and the exact counts of their records by state.
//
// In memory whole; every change rides in the group that caused it. Engine thread only.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "codec/keyspace.h"

struct consumer {
    uint32_t number; // place in the table and in keys, from 0
    uint64_t hash;
    struct buf names; // tenant, then name
    size_t tenant_len;
    struct keyspace_counts counts;
    bool is_new;     // the name is not in any group yet
    bool is_counted; // the counts changed since the last group was closed
    struct consumer *next_changed;
    struct consumer *next_same_bucket;
};

struct consumers {
    struct consumer **by_number;
    uint32_t count;
    uint32_t cap;
    struct consumer **buckets;
    struct consumer *changed; // to be written with the group that is forming
};

MUST_CHECK enum err consumers_init(struct consumers *consumers);
void consumers_deinit(struct consumers *consumers);

struct bytes consumer_tenant(const struct consumer *consumer);
struct bytes consumer_name(const struct consumer *consumer);

// NULL if there is none of that name.
struct consumer *consumers_find(const struct consumers *consumers, struct bytes tenant,
                                struct bytes name);
// NULL if there is none of that number.
struct consumer *consumers_at(const struct consumers *consumers, uint32_t number);

// Adds one read from the store. ERR_CORRUPT if the numbers do not run on from 0; ERR_NO_MEMORY.
MUST_CHECK enum err consumers_load(struct consumers *consumers, uint32_t number,
                                   const struct keyspace_consumer *names);
// Adds a new name. ERR_CONSUMER_QUOTA at LIMIT_CONSUMERS_PER_TENANT_MAX; ERR_NO_MEMORY.
MUST_CHECK enum err consumers_add(struct consumers *consumers, struct bytes tenant,
                                  struct bytes name, struct consumer **out_consumer);

// Moves a record between states in the counts; 0 stands for "no record".
void consumers_count(struct consumers *consumers, struct consumer *consumer, int from_state,
                     int to_state);

// Appends what changed since the last group to a frame; returns how many ops that were. A memory
// failure shows in frame->failed. The changes stay pending until consumers_changes_taken.
uint32_t consumers_put_changes(const struct consumers *consumers, struct buf *frame);
// The group that carries them is on its way.
void consumers_changes_taken(struct consumers *consumers);

// Sums the counts of all consumers.
void consumers_total(const struct consumers *consumers, uint64_t out_by_state[CLAIM_STATES]);
