// Parked operations, by key: off the latch, out of every queue, waiting for their key to change.
//
// Woken in the order they were parked. Two keys may share a hash; that only wakes one for nothing.
// Engine thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct waiter {
    struct waiter *next;
    struct waiter *prev;
    uint64_t hash;
    bool parked;
};

struct waiter_bucket {
    struct waiter *first;
    struct waiter *last;
};

struct waiters {
    struct waiter_bucket *buckets;
    uint32_t count;
};

MUST_CHECK enum err waiters_init(struct waiters *waiters);
void waiters_deinit(struct waiters *waiters);

// Parks. False if LIMIT_WAITERS_MAX or LIMIT_WAITERS_PER_KEY_MAX is reached.
bool waiters_park(struct waiters *waiters, uint64_t hash, struct waiter *waiter);
void waiters_unpark(struct waiters *waiters, struct waiter *waiter);

// Takes out the longest parked of a key; NULL if there is none.
struct waiter *waiters_take(struct waiters *waiters, uint64_t hash);
// Takes out any; NULL if there is none.
struct waiter *waiters_take_any(struct waiters *waiters);
