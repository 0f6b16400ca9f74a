// Commit: makes groups durable, in order, exactly once each. It knows nothing of claims.
//
// The engine closes a group and submits it; commit orders it, makes it durable through the sink's
// apply (one node: one synced write; a cluster: a log entry on a majority, then the same write) and
// hands it back through commit_take_done. One group is under way at a time; the next one forms
// behind it. Failing to write ends the process: nothing that it believes could be relied on
// afterwards.
//
// Threads: submit and take_done belong to the engine thread; apply is called from whichever thread
// writes, one call at a time, in position order; wake may be called from any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct commit_group {
    uint64_t position; // consecutive over the life of the store
    struct buf frame;  // as effect_codec writes it
    uint32_t op_count; // operations that wait for it; what "small" is judged by
    struct commit_group *next;
};

// What commit calls.
struct commit_sink {
    // Writes the frame and its position in one atomic, durable batch; skips a position that is
    // already applied. An error is fatal to the process.
    enum err (*apply)(void *self, uint64_t position, struct bytes frame);
    void *apply_self;
    // Tells the engine thread that commit_take_done has something.
    void (*wake)(void *self);
    void *wake_self;
};

struct commit;

struct commit_vtable {
    void (*submit)(struct commit *commit, struct commit_group *group);
    struct commit_group *(*take_done)(struct commit *commit);
    bool (*is_idle)(const struct commit *commit);
    void (*destroy)(struct commit *commit);
};

struct commit {
    const struct commit_vtable *vtable;
};

// Takes the group, which stays untouched until commit_take_done returns it. Only while idle.
static inline void commit_submit(struct commit *commit, struct commit_group *group) {
    commit->vtable->submit(commit, group);
}

// The group that has become durable and applied, or NULL. The caller owns it again.
static inline struct commit_group *commit_take_done(struct commit *commit) {
    return commit->vtable->take_done(commit);
}

// True if no group is under way or waiting to be taken back.
static inline bool commit_is_idle(const struct commit *commit) {
    return commit->vtable->is_idle(commit);
}

// Finishes what is under way and frees it. NULL is fine.
static inline void commit_destroy(struct commit *commit) {
    if (commit != NULL) commit->vtable->destroy(commit);
}
