// What the engine's own files share; nobody outside engine/ includes it.
#pragma once

#include "base/arena.h"
#include "base/rand.h"
#include "commit/commit.h"
#include "engine/apply.h"
#include "engine/consumers.h"
#include "engine/engine.h"
#include "engine/jobs.h"
#include "engine/latch.h"
#include "engine/timers.h"
#include "engine/waiters.h"

// Where an operation is on its way. Moves: see engine_op.c.
enum op_stage {
    OP_QUEUED,   // waits for its latch
    OP_RUNNABLE, // holds its latch; on the runnable list
    OP_READING,  // a job reads its record
    OP_STALLED,  // holds its latch; the forming group is full
    OP_LOADING,  // a job loads bodies
    OP_GROUPED,  // its change is in a group
    OP_PARKED,   // waits off the latch
    OP_READY,    // finished; `done` comes next
};

enum op_body { OP_BODY_RESULT, OP_BODY_CHECKPOINT, OP_BODY_PAYLOAD };
#define OP_BODIES 3

struct engine_op_private {
    struct engine *engine;
    struct engine_op *op;
    struct engine_op_private *next; // of whichever list the stage says
    enum op_stage stage;
    uint64_t hash;
    struct latch_node latch;
    struct waiter waiter;
    struct timer timer;                  // parked: when to look again
    struct optional_store_ms wait_until; // present: may park until then
    struct job job;
    enum err job_err;
    bool cancelled;
    bool holds_latch;
    struct consumer *consumer; // NULL: the name is not known
    struct buf key;            // claim key, if the consumer is known
    struct buf record_bytes;   // as read; `stored` borrows from it
    bool has_stored;
    struct claim_record stored;
    bool body_wanted[OP_BODIES];
    struct buf bodies[OP_BODIES];
    // Prune: the record as the scan saw it, good if the stripe has not changed since.
    struct bytes preread;
    uint64_t preread_position;
};

// An intrusive first-in-first-out list of operations.
struct op_list {
    struct engine_op_private *first;
    struct engine_op_private *last;
};
void op_list_push(struct op_list *list, struct engine_op_private *op);
struct engine_op_private *op_list_pop(struct op_list *list);

struct group {
    struct commit_group commit; // the frame is open while the group forms
    uint32_t effect_count;
    struct op_list ops;
};

struct prune;

struct engine {
    struct engine_options options;
    struct latch_table latches;
    struct waiters waiters;
    struct timers timers;
    struct consumers consumers;
    struct jobs jobs;
    struct apply apply;
    struct commit *commit;
    struct rand rand;

    // Store time: base + boot time since.
    struct store_ms base_store;
    struct boot_ns base_boot;
    struct store_ms runs_until; // no lease or delay runs beyond this
    struct store_ms mark;       // the last one put in a group
    uint64_t token_next;
    uint64_t position; // of the last group submitted

    struct group groups[2];
    struct group *forming;
    struct group *flying; // NULL: none
    struct buf scratch;
    struct op_list runnable;
    struct op_list stalled;
    struct op_list ready;
    struct op_list free_ops;
    uint32_t free_op_count;
    uint32_t op_count; // submitted and not done, internal ones included

    struct timer mark_timer;
    struct timer housekeeping_timer;
    struct timer retention_timer;
    struct store_ms retention_not_before;
    bool mark_due;
    struct job high_water_job;
    bool high_water_job_out;
    uint64_t high_water_position;
    struct prune *prunes; // running, retention included
    uint32_t prune_count;
    struct prune *retention;
    bool disk_soft_reached;
    bool disk_hard_reached;
    bool draining;
    struct engine_stats stats;
};

// --- engine.c -----------------------------------------------------------------------------------
struct wall_ms engine_wall_now(const struct engine *engine);
// The store's time, rounded down; the rest is 1 if it was not a whole millisecond, else 0.
struct store_ms engine_store_now_rest(const struct engine *engine, int64_t *out_rest_ms);
// Notes what a stored record's deadlines mean for marks, the sweep and retention. renewed: it is
// the same attempt as before, whose deadline has been noted and only lies further off now.
void engine_note_deadlines(struct engine *engine, const struct claim_record *record,
                           const struct identity *identity, bool renewed);
// The next retention pass comes no later than this, nor sooner than LIMIT_RETENTION_PAUSE_MS after
// the last one.
void engine_retention_at(struct engine *engine, struct store_ms due);

// --- sweep.c ------------------------------------------------------------------------------------
// Looks at the record once its deadline has come; token is the attempt's.
void sweep_add(struct engine *engine, struct store_ms at, uint64_t token,
               const struct identity *identity);
// At the end of the engine.
void sweep_free_all(struct engine *engine);

// --- engine_op.c --------------------------------------------------------------------------------
// A private part for an operation, from the free list or fresh; NULL without memory.
struct engine_op_private *engine_op_prepare(struct engine *engine, struct engine_op *op);
// Sends a prepared operation on its way to its latch.
void engine_op_start(struct engine_op_private *op);
// Runs one operation that is on the runnable list.
void engine_op_run(struct engine_op_private *op);
// Its group is applied: gives back the latch, wakes the key's waiters.
void engine_op_applied(struct engine_op_private *op, uint64_t position);
// Ends a parked operation with this error, or lets it look once more for its last answer (ERR_OK).
void engine_op_unpark(struct engine_op_private *op, enum err err);
void engine_op_destroy(struct engine_op_private *op);

// --- engine_start.c -----------------------------------------------------------------------------
// Loads clock, names, counts and the deadlines of open records.
enum err engine_load(struct engine *engine, struct error_detail *detail);

// --- prune.c ------------------------------------------------------------------------------------
// Starts the background removal of expired records, if it is not running.
void prune_retention_start(struct engine *engine);
// A record that the running pass may not see expires then: the next pass comes no later.
void prune_retention_due(struct prune *retention, struct store_ms due);
// Tells all that run to end soon.
void prune_stop_all(struct engine *engine);
