// The engine: takes commands, holds one key's latch from decision to durable, answers each once.
//
// An operation's way: latch -> read -> core decides -> (changed? group -> commit -> applied) ->
// done. Reads that miss the cache go to the readers and come back; operations that may wait are
// parked off the latch. The engine never does I/O on its own thread, save for writing a lone small
// group.
//
// Threads: one engine thread calls everything here, except where said. `wake` may be called from
// any thread and must make the engine thread call engine_turn soon.
#pragma once

#include "base/time.h"
#include "core/claim.h"
#include "core/identity.h"
#include "store/store.h"

struct engine;
struct engine_op_private;

// One command under way. Embedded in its owner's call object; zero-initialise, fill in, submit.
struct engine_op {
    // The caller fills these in. Views must live until `done`.
    struct identity identity;
    struct claim_command command;
    struct optional_ms wait; // Begin: park on IN_FLIGHT and NOT_YET for at most this long
    bool replay;             // Begin: counted apart when CLAIMED
    bool include_bodies;     // Get: load result, checkpoint and payload
    void (*done)(struct engine_op *op);

    // The engine fills these in before `done`. Views live until engine_op_release.
    enum err err;
    struct claim_decision decision;
    struct store_ms now; // of the decision, rounded down: deadlines are shown relative to it
    int64_t now_rest_ms; // 1 if it was rounded, else 0
    struct wall_ms wall_now;

    struct engine_op_private *engine;
};

struct engine_options {
    struct store *store;
    struct time_source time;
    const struct policy *policy; // until policies are stored objects: everybody's
    bool store_is_relaxed; // a power cut may have taken the last tokens back: start above them
    void (*wake)(void *self);
    void *wake_self;
    uint32_t group_inline_ops_max; // LIMIT_GROUP_INLINE_OPS_MAX
    uint64_t disk_soft_reserve_bytes;
    uint64_t disk_hard_reserve_bytes;
    uint64_t random_seed;
};

// Loads the store's names, counts, clock and open deadlines; starts the writer and the readers.
// ERR_CORRUPT, ERR_IO, ERR_NO_MEMORY, with detail.
MUST_CHECK enum err engine_create(const struct engine_options *options, struct engine **out_engine,
                                  struct error_detail *detail);

// Everything must be drained. Writes the durable time mark and stops the threads. NULL is fine.
void engine_destroy(struct engine *engine);

// Takes an operation. Its `done` runs exactly once, from engine_turn, never inside this call; also
// when it is refused (QUEUE_FULL, DISK_RESERVE, DRAINING). ERR_NO_MEMORY: not taken, `done` never
// runs.
MUST_CHECK enum err engine_submit(struct engine *engine, struct engine_op *op);

// The caller's client went away: a parked operation ends now with ERR_CANCELLED, others go on. Not
// after `done`.
void engine_cancel(struct engine *engine, struct engine_op *op);

// Frees what the engine keeps for a finished operation. Call once after `done`, before reuse.
void engine_op_release(struct engine *engine, struct engine_op *op);

// Does all that is due: takes in finished groups and reads, closes and submits a group, wakes
// waiters, runs deadlines, calls `done`. Call after each batch of submits, when woken, and no later
// than the boot time returned.
struct boot_ns engine_turn(struct engine *engine);

// From now on everything new is refused with ERR_DRAINING and parked operations are answered.
void engine_drain(struct engine *engine);

// True if no operation is under way and every group is applied.
bool engine_is_idle(const struct engine *engine);

struct engine_stats {
    struct store_ms store_time;
    uint64_t position;
    uint64_t records_by_state[CLAIM_STATES];
    uint64_t begins_by_outcome[CLAIM_OUTCOMES]; // since start, under claim_outcome
    uint64_t begins_refused;                    // Begins that ended in an error, since start
    uint64_t replays_claimed;
    uint64_t verbs_accepted[CLAIM_VERBS]; // since start, not replayed, under claim_verb
    uint64_t lapses_counted;
    uint64_t dead_lettered; // records that became DEAD_LETTERED, since start
    uint64_t groups;
    uint64_t reads_missed; // reads that went to the readers
    bool disk_reserve_reached;
};
void engine_stats(const struct engine *engine, struct engine_stats *out);

// The store's and the wall's time as the engine has them now.
struct store_ms engine_store_now(const struct engine *engine);

// The name of a verb, for logs.
const char *engine_verb_name(enum claim_verb verb);
