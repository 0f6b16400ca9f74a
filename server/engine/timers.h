// A heap of deadlines in store time. Equal deadlines fire in the order they were set.
//
// Nodes are embedded in what they belong to. Engine thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"

struct timer {
    struct store_ms at;
    uint64_t sequence;
    size_t slot; // place in the heap, from 1; 0: not set
    void (*fire)(struct timer *timer, void *context);
};

struct timers {
    struct timer **heap; // from index 1
    size_t count;
    size_t cap;
    uint64_t sequence_next;
};

void timers_deinit(struct timers *timers);

// Sets or moves a timer. ERR_NO_MEMORY leaves it unset.
MUST_CHECK enum err timers_set(struct timers *timers, struct timer *timer, struct store_ms at);
void timers_unset(struct timers *timers, struct timer *timer);

// The earliest deadline; false if none is set.
bool timers_next(const struct timers *timers, struct store_ms *out_at);

// Takes out and fires every timer whose deadline has come (at <= now), earliest first.
void timers_run(struct timers *timers, struct store_ms now, void *context);
