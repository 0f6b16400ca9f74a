#include "engine/timers.h"

#include "base/check.h"
#include "base/mem.h"

#define TIMERS_SPARE 16

void timers_deinit(struct timers *timers) {
    mem_free(timers->heap);
    *timers = (struct timers){0};
}

static bool comes_before(const struct timer *a, const struct timer *b) {
    if (a->at.ms != b->at.ms) return a->at.ms < b->at.ms;
    return a->sequence < b->sequence;
}

static void place(struct timers *timers, size_t slot, struct timer *timer) {
    timers->heap[slot] = timer;
    timer->slot = slot;
}

static void sift_up(struct timers *timers, size_t slot) {
    struct timer *timer = timers->heap[slot];
    while (slot > 1 && comes_before(timer, timers->heap[slot / 2])) {
        place(timers, slot, timers->heap[slot / 2]);
        slot /= 2;
    }
    place(timers, slot, timer);
}

static void sift_down(struct timers *timers, size_t slot) {
    struct timer *timer = timers->heap[slot];
    for (;;) {
        size_t child = slot * 2;
        if (child > timers->count) break;
        if (child < timers->count && comes_before(timers->heap[child + 1], timers->heap[child])) {
            child++;
        }
        if (!comes_before(timers->heap[child], timer)) break;
        place(timers, slot, timers->heap[child]);
        slot = child;
    }
    place(timers, slot, timer);
}

void timers_unset(struct timers *timers, struct timer *timer) {
    size_t slot = timer->slot;
    if (slot == 0) return;
    CHECK(timers->heap[slot] == timer);
    struct timer *last = timers->heap[timers->count--];
    timer->slot = 0;
    if (last == timer) return;
    place(timers, slot, last);
    sift_up(timers, slot);
    sift_down(timers, last->slot);
}

static bool timers_grow(struct timers *timers) {
    size_t cap = timers->cap == 0 ? 64 : timers->cap * 2;
    struct timer **heap = mem_realloc(timers->heap, cap * sizeof *heap);
    if (heap == NULL) return false;
    timers->heap = heap;
    timers->cap = cap;
    return true;
}

enum err timers_set(struct timers *timers, struct timer *timer, struct store_ms at) {
    timers_unset(timers, timer);
    // Grown ahead of need, so that the few timers that must not fail find room (TIMERS_SPARE).
    if (timers->count + TIMERS_SPARE >= timers->cap && !timers_grow(timers) &&
        timers->count + 1 >= timers->cap) {
        return ERR_NO_MEMORY;
    }
    timer->at = at;
    timer->sequence = timers->sequence_next++;
    place(timers, ++timers->count, timer);
    sift_up(timers, timers->count);
    return ERR_OK;
}

bool timers_next(const struct timers *timers, struct store_ms *out_at) {
    if (timers->count == 0) return false;
    *out_at = timers->heap[1]->at;
    return true;
}

void timers_run(struct timers *timers, struct store_ms now, void *context) {
    while (timers->count > 0 && timers->heap[1]->at.ms <= now.ms) {
        struct timer *timer = timers->heap[1];
        timers_unset(timers, timer);
        timer->fire(timer, context);
    }
}
