// Prune and retention: remove final records by walking them in key order, off the engine thread.
//
// A scan thread walks the done family under one view and hands candidates, a chunk at a time, to
// the engine, which deletes each under its latch; a record that changed since the view is read
// again. One chunk is under way at a time: that paces it.
#pragma once

#include "engine/engine.h"

struct prune;

struct prune_progress {
    uint64_t scanned_count;
    uint64_t removed_count;
    bool done;
    enum err err; // meaningful iff done
};

// Owned by the caller until `done` was reported.
struct prune_request {
    struct bytes tenant;
    struct bytes consumer; // empty: every consumer of the tenant
    struct wall_ms before;
    bool dry_run;
    bool force;
    // Called from engine_turn after each chunk, and last with progress.done. The engine goes on
    // with the next chunk only after prune_continue, so that a slow reader slows its own prune.
    void (*progress)(struct prune_request *request, const struct prune_progress *progress);
    struct prune *prune;
};

// Starts a prune. ERR_WINDOW_VIOLATION (unless force), ERR_NOT_FOUND (no such consumer),
// ERR_QUEUE_FULL (LIMIT_PRUNES_RUNNING_MAX), ERR_DRAINING; then `progress` never runs.
MUST_CHECK enum err prune_start(struct engine *engine, struct prune_request *request);
// After a progress that was not the last.
void prune_continue(struct prune_request *request);
// The client went away: the last progress comes soon, with ERR_CANCELLED.
void prune_cancel(struct prune_request *request);
