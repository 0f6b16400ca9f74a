#include "engine/waiters.h"

#include <stddef.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

#define WAITERS_BUCKETS 4096u

enum err waiters_init(struct waiters *waiters) {
    waiters->count = 0;
    waiters->buckets = mem_zalloc(WAITERS_BUCKETS * sizeof *waiters->buckets);
    return waiters->buckets == NULL ? ERR_NO_MEMORY : ERR_OK;
}

void waiters_deinit(struct waiters *waiters) {
    mem_free(waiters->buckets);
    waiters->buckets = NULL;
}

static struct waiter_bucket *bucket_of(const struct waiters *waiters, uint64_t hash) {
    // The low bits choose the latch stripe; others here, so that the tables do not fill alike.
    return &waiters->buckets[(hash >> 32) & (WAITERS_BUCKETS - 1)];
}

bool waiters_park(struct waiters *waiters, uint64_t hash, struct waiter *waiter) {
    CHECK(!waiter->parked);
    if (waiters->count >= LIMIT_WAITERS_MAX) return false;
    struct waiter_bucket *bucket = bucket_of(waiters, hash);
    uint32_t same_key = 0;
    for (const struct waiter *other = bucket->first; other != NULL; other = other->next) {
        same_key += other->hash == hash;
    }
    if (same_key >= LIMIT_WAITERS_PER_KEY_MAX) return false;
    *waiter = (struct waiter){.prev = bucket->last, .hash = hash, .parked = true};
    if (bucket->last == NULL) {
        bucket->first = waiter;
    } else {
        bucket->last->next = waiter;
    }
    bucket->last = waiter;
    waiters->count++;
    return true;
}

void waiters_unpark(struct waiters *waiters, struct waiter *waiter) {
    CHECK(waiter->parked);
    struct waiter_bucket *bucket = bucket_of(waiters, waiter->hash);
    if (waiter->prev == NULL) {
        bucket->first = waiter->next;
    } else {
        waiter->prev->next = waiter->next;
    }
    if (waiter->next == NULL) {
        bucket->last = waiter->prev;
    } else {
        waiter->next->prev = waiter->prev;
    }
    waiter->parked = false;
    waiters->count--;
}

struct waiter *waiters_take(struct waiters *waiters, uint64_t hash) {
    if (waiters->count == 0) return NULL;
    for (struct waiter *waiter = bucket_of(waiters, hash)->first; waiter != NULL;
         waiter = waiter->next) {
        if (waiter->hash == hash) {
            waiters_unpark(waiters, waiter);
            return waiter;
        }
    }
    return NULL;
}

struct waiter *waiters_take_any(struct waiters *waiters) {
    for (uint32_t i = 0; waiters->count > 0 && i < WAITERS_BUCKETS; i++) {
        struct waiter *waiter = waiters->buckets[i].first;
        if (waiter == NULL) continue;
        waiters_unpark(waiters, waiter);
        return waiter;
    }
    return NULL;
}
