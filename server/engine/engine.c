// The engine's life: creation, the turn of its loop, groups, time, draining.
#include "engine/engine.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/effect_codec.h"
#include "commit/commit_local.h"
#include "engine/engine_private.h"

#define GROUP_FRAME_KEEP_BYTES (1024 * 1024)
#define NS_PER_MS INT64_C(1000000)

const char *engine_verb_name(enum claim_verb verb) {
    static const char *const names[CLAIM_VERBS] = {
        "Begin",    "Complete", "Reject",  "Fail", "Renew",  "Release",
        "Register", "Cancel",   "Resolve", "Get",  "Settle", "Prune",
    };
    CHECK((unsigned)verb < CLAIM_VERBS);
    return names[verb];
}

// --- time ---------------------------------------------------------------------------------------

struct store_ms engine_store_now_rest(const struct engine *engine, int64_t *out_rest_ms) {
    struct boot_ns boot = time_boot(&engine->options.time);
    int64_t elapsed_ns = boot.ns - engine->base_boot.ns;
    *out_rest_ms = elapsed_ns % NS_PER_MS == 0 ? 0 : 1;
    return (struct store_ms){time_add_ms(engine->base_store.ms, elapsed_ns / NS_PER_MS)};
}

struct store_ms engine_store_now(const struct engine *engine) {
    int64_t rest_ms;
    return engine_store_now_rest(engine, &rest_ms);
}

struct wall_ms engine_wall_now(const struct engine *engine) {
    return time_wall(&engine->options.time);
}

static struct boot_ns boot_of(const struct engine *engine, struct store_ms at) {
    int64_t ahead_ms = time_sub_ms(at.ms, engine->base_store.ms);
    int64_t ahead_ns;
    if (__builtin_mul_overflow(ahead_ms, NS_PER_MS, &ahead_ns) ||
        __builtin_add_overflow(ahead_ns, engine->base_boot.ns, &ahead_ns)) {
        ahead_ns = INT64_MAX;
    }
    return (struct boot_ns){ahead_ns};
}

static void timer_set(struct engine *engine, struct timer *timer, struct store_ms at) {
    // The heap has room for the engine's own timers since engine_create.
    enum err err = timers_set(&engine->timers, timer, at);
    CHECK(err == ERR_OK);
}

static void timer_set_after(struct engine *engine, struct timer *timer, int64_t delay_ms) {
    timer_set(engine, timer, (struct store_ms){time_add_ms(engine_store_now(engine).ms, delay_ms)});
}

static void mark_fire(struct timer *timer, void *context) {
    (void)timer;
    struct engine *engine = context;
    engine->mark_due = true;
}

static void mark_schedule(struct engine *engine) {
    bool busy = engine->runs_until.ms > engine->mark.ms;
    int64_t interval_ms = busy ? LIMIT_MARK_BUSY_MS : LIMIT_MARK_IDLE_MS;
    timer_set(engine, &engine->mark_timer,
              (struct store_ms){time_add_ms(engine->mark.ms, interval_ms)});
}

void engine_retention_at(struct engine *engine, struct store_ms due) {
    struct timer *timer = &engine->retention_timer;
    if (due.ms < engine->retention_not_before.ms) due = engine->retention_not_before;
    if (engine->retention != NULL) {
        prune_retention_due(engine->retention, due);
        return;
    }
    if (timer->slot == 0 || due.ms < timer->at.ms) timer_set(engine, timer, due);
}

void engine_note_deadlines(struct engine *engine, const struct claim_record *record,
                           const struct identity *identity, bool renewed) {
    struct optional_store_ms runs_until = claim_runs_until(record);
    if (runs_until.present && runs_until.at.ms > engine->runs_until.ms) {
        engine->runs_until = runs_until.at;
    }
    struct optional_store_ms due = claim_settle_due(record);
    if (!due.present) return;
    if (claim_state_is_final(record->state)) {
        engine_retention_at(engine, due.at);
    } else if (!renewed) {
        sweep_add(engine, due.at, record->token, identity);
    }
}

static void retention_fire(struct timer *timer, void *context) {
    (void)timer;
    prune_retention_start(context);
}

// --- housekeeping -------------------------------------------------------------------------------

static void disk_look(struct engine *engine) {
    uint64_t free_bytes;
    if (store_disk_free(engine->options.store, &free_bytes) != ERR_OK) return; // it has logged
    bool soft = free_bytes < engine->options.disk_soft_reserve_bytes;
    if (soft != engine->disk_soft_reached) {
        log_warn("disk: %llu MiB free, soft reserve %s: new claims are %s",
                 (unsigned long long)(free_bytes >> 20), soft ? "reached" : "left",
                 soft ? "refused" : "taken again");
    }
    engine->disk_soft_reached = soft;
    engine->disk_hard_reached = free_bytes < engine->options.disk_hard_reserve_bytes;
}

static void high_water_run(struct job *job) {
    struct engine *engine = CONTAINER_OF(job, struct engine, high_water_job);
    // A failed sync of the mark loses no claim; the store logs it, the next one may succeed, and
    // the mark then covers less until it does.
    enum err err = store_sync_high_water(engine->options.store);
    (void)err;
}

static void high_water_finish(struct job *job, void *context) {
    (void)job;
    struct engine *engine = context;
    engine->high_water_job_out = false;
}

static void housekeeping_fire(struct timer *timer, void *context) {
    struct engine *engine = context;
    disk_look(engine);
    if (!engine->high_water_job_out && engine->high_water_position != engine->position) {
        engine->high_water_position = engine->position;
        engine->high_water_job_out = true;
        engine->high_water_job = (struct job){.run = high_water_run, .finish = high_water_finish};
        jobs_submit(&engine->jobs, &engine->high_water_job);
    }
    timer_set_after(engine, timer, LIMIT_HOUSEKEEPING_MS);
}

// --- groups -------------------------------------------------------------------------------------

static void group_open(struct group *group) {
    buf_reset(&group->commit.frame, GROUP_FRAME_KEEP_BYTES);
    effect_begin(&group->commit.frame);
    group->commit.op_count = 0;
    group->effect_count = 0;
    group->ops = (struct op_list){0};
}

// Adds what rides in every group, and seals it. False without memory: it stays open, for later.
static bool group_seal(struct engine *engine, struct group *group) {
    struct buf *frame = &group->commit.frame;
    size_t frame_len = frame->len;
    struct keyspace_clock clock = {.token_next = engine->token_next,
                                   .mark = engine_store_now(engine)};
    buf_reset(&engine->scratch, SIZE_MAX);
    keyspace_put_clock(&engine->scratch, &clock);
    uint32_t effects = 1 + consumers_put_changes(&engine->consumers, frame);
    effect_put(frame, KEYSPACE_META, keyspace_clock_key(), buf_bytes(&engine->scratch));
    if (frame->failed || engine->scratch.failed) {
        frame->failed = false;
        frame->len = frame_len;
        return false;
    }
    effect_end(frame, group->effect_count + effects);
    consumers_changes_taken(&engine->consumers);
    engine->mark = clock.mark;
    engine->mark_due = false;
    mark_schedule(engine);
    return true;
}

static bool group_is_wanted(const struct engine *engine) {
    return engine->flying == NULL && (engine->forming->commit.op_count > 0 || engine->mark_due);
}

static void group_submit(struct engine *engine) {
    struct group *group = engine->forming;
    if (group->commit.frame.failed) group_open(group); // had no memory to open, holds nothing
    if (group->commit.frame.failed || !group_seal(engine, group)) return;
    group->commit.position = ++engine->position;
    engine->stats.groups++;
    engine->flying = group;
    engine->forming = group == &engine->groups[0] ? &engine->groups[1] : &engine->groups[0];
    commit_submit(engine->commit, &group->commit);
    // There is a group with room again, which forms while this one is written.
    struct engine_op_private *private;
    while ((private = op_list_pop(&engine->stalled)) != NULL) {
        private->stage = OP_RUNNABLE;
        op_list_push(&engine->runnable, private);
    }
}

static bool group_take_done(struct engine *engine) {
    struct commit_group *done = commit_take_done(engine->commit);
    if (done == NULL) return false;
    struct group *group = CONTAINER_OF(done, struct group, commit);
    CHECK(group == engine->flying);
    engine->flying = NULL;
    struct engine_op_private *private;
    while ((private = op_list_pop(&group->ops)) != NULL) {
        engine_op_applied(private, done->position);
    }
    group_open(group);
    return true;
}

static void commit_wake(void *self) {
    struct engine *engine = self;
    engine->options.wake(engine->options.wake_self);
}

static enum err commit_apply(void *self, uint64_t position, struct bytes frame) {
    struct engine *engine = self;
    return apply_group(&engine->apply, position, frame);
}

// --- the turn -----------------------------------------------------------------------------------

static void account(struct engine *engine, const struct engine_op *op) {
    const struct claim_decision *decision = &op->decision;
    struct engine_stats *stats = &engine->stats;
    if (op->command.verb == CLAIM_BEGIN) {
        if (op->err == ERR_OK) {
            stats->begins_by_outcome[decision->outcome]++;
            bool replayed_claim = op->replay && decision->granted;
            stats->replays_claimed += replayed_claim;
        } else {
            stats->begins_refused++;
        }
    }
    if (op->err != ERR_OK || decision->change == CLAIM_UNCHANGED) return;
    stats->verbs_accepted[op->command.verb]++;
    stats->lapses_counted += decision->lapse_counted;
    const struct engine_op_private *private = op->engine;
    bool was_dead = private->has_stored && private->stored.state == CLAIM_DEAD_LETTERED;
    bool is_dead = decision->exists && decision->record.state == CLAIM_DEAD_LETTERED;
    stats->dead_lettered += is_dead && !was_dead;
}

static void deliver(struct engine *engine) {
    struct engine_op_private *private;
    while ((private = op_list_pop(&engine->ready)) != NULL) {
        CHECK(engine->op_count > 0);
        engine->op_count--;
        account(engine, private->op);
        private->op->done(private->op);
    }
}

static void take_in(struct engine *engine) {
    struct job *job = jobs_take_done(&engine->jobs);
    while (job != NULL) {
        struct job *next = job->next;
        job->finish(job, engine);
        job = next;
    }
}

static void run(struct engine *engine) {
    struct engine_op_private *private;
    while ((private = op_list_pop(&engine->runnable)) != NULL) engine_op_run(private);
}

struct boot_ns engine_turn(struct engine *engine) {
    take_in(engine);
    do {
        timers_run(&engine->timers, engine_store_now(engine), engine);
        run(engine);
        if (group_is_wanted(engine)) {
            // A small group is written here and now: first let those go who need not wait for it.
            bool here = engine->forming->commit.op_count <= engine->options.group_inline_ops_max;
            if (here) deliver(engine);
            group_submit(engine);
        }
        deliver(engine);
    } while (group_take_done(engine) || engine->runnable.first != NULL);
    deliver(engine);

    struct store_ms next;
    return timers_next(&engine->timers, &next) ? boot_of(engine, next)
                                               : (struct boot_ns){INT64_MAX};
}

// --- submitting ---------------------------------------------------------------------------------

static bool begins_something(enum claim_verb verb) {
    return verb == CLAIM_BEGIN || verb == CLAIM_REGISTER || verb == CLAIM_CANCEL;
}

static enum err admission(const struct engine *engine, enum claim_verb verb) {
    bool begins = begins_something(verb);
    if (begins && engine->draining) return ERR_DRAINING;
    uint32_t limit = begins ? LIMIT_OPS_BEGIN_MAX : LIMIT_OPS_MAX;
    // What is parked takes no place from the others; it has a limit of its own.
    return engine->op_count - engine->waiters.count >= limit ? ERR_QUEUE_FULL : ERR_OK;
}

enum err engine_submit(struct engine *engine, struct engine_op *op) {
    enum err err = admission(engine, op->command.verb);
    struct engine_op_private *private = engine_op_prepare(engine, op);
    if (private == NULL) return ERR_NO_MEMORY;
    if (err != ERR_OK) {
        op->err = err;
        private->stage = OP_READY;
        op_list_push(&engine->ready, private);
        return ERR_OK;
    }
    if (op->wait.present) {
        int64_t until_ms = time_add_ms(engine_store_now(engine).ms, op->wait.ms);
        private->wait_until = (struct optional_store_ms){true, {until_ms}};
    }
    engine_op_start(private);
    return ERR_OK;
}

void engine_cancel(struct engine *engine, struct engine_op *op) {
    (void)engine;
    struct engine_op_private *private = op->engine;
    private->cancelled = true;
    if (private->stage == OP_PARKED) engine_op_unpark(private, ERR_CANCELLED);
}

void engine_drain(struct engine *engine) {
    engine->draining = true;
    struct waiter *waiter;
    while ((waiter = waiters_take_any(&engine->waiters)) != NULL) {
        engine_op_unpark(CONTAINER_OF(waiter, struct engine_op_private, waiter), ERR_OK);
    }
    prune_stop_all(engine);
}

bool engine_is_idle(const struct engine *engine) {
    return engine->op_count == 0 && engine->flying == NULL && engine->prune_count == 0;
}

void engine_stats(const struct engine *engine, struct engine_stats *out) {
    *out = engine->stats;
    out->store_time = engine_store_now(engine);
    out->position = store_position(engine->options.store);
    out->disk_reserve_reached = engine->disk_soft_reached;
    consumers_total(&engine->consumers, out->records_by_state);
}

// --- creation -----------------------------------------------------------------------------------

static enum err engine_init(struct engine *engine, struct error_detail *detail) {
    enum err err = latch_table_init(&engine->latches);
    if (err == ERR_OK) err = waiters_init(&engine->waiters);
    if (err == ERR_OK) err = consumers_init(&engine->consumers);
    if (err == ERR_OK) err = apply_init(&engine->apply, engine->options.store);
    if (err == ERR_OK) err = engine_load(engine, detail);
    if (err != ERR_OK) return err;
    engine->mark_timer.fire = mark_fire;
    engine->housekeeping_timer.fire = housekeeping_fire;
    engine->retention_timer.fire = retention_fire;
    err = timers_set(&engine->timers, &engine->housekeeping_timer, engine_store_now(engine));
    if (err != ERR_OK) return err;
    mark_schedule(engine);
    engine_retention_at(engine, engine_store_now(engine));
    group_open(&engine->groups[0]);
    group_open(&engine->groups[1]);
    disk_look(engine);
    struct commit_sink sink = {
        .apply = commit_apply, .apply_self = engine, .wake = commit_wake, .wake_self = engine};
    return commit_local_create(&sink, engine->options.group_inline_ops_max, &engine->commit);
}

enum err engine_create(const struct engine_options *options, struct engine **out_engine,
                       struct error_detail *detail) {
    struct engine *engine = mem_zalloc(sizeof *engine);
    if (engine == NULL) return ERR_NO_MEMORY;
    engine->options = *options;
    engine->rand = rand_from_seed(options->random_seed);
    engine->base_boot = time_boot(&options->time);
    engine->forming = &engine->groups[0];
    enum err err = jobs_init(&engine->jobs, options->wake, options->wake_self);
    if (err != ERR_OK) {
        error_detail_set(detail, "cannot start threads");
        mem_free(engine);
        return err;
    }
    err = engine_init(engine, detail);
    if (err != ERR_OK) {
        engine_destroy(engine);
        return err;
    }
    *out_engine = engine;
    return ERR_OK;
}

void engine_destroy(struct engine *engine) {
    if (engine == NULL) return;
    if (engine->commit != NULL) {
        CHECK(engine_is_idle(engine));
        engine->mark_due = true; // a clean stop loses no store time
        group_submit(engine);
        commit_destroy(engine->commit);
    }
    jobs_deinit(&engine->jobs);
    struct engine_op_private *private;
    while ((private = op_list_pop(&engine->free_ops)) != NULL) engine_op_destroy(private);
    sweep_free_all(engine);
    for (int i = 0; i < 2; i++) buf_deinit(&engine->groups[i].commit.frame);
    buf_deinit(&engine->scratch);
    apply_deinit(&engine->apply);
    consumers_deinit(&engine->consumers);
    waiters_deinit(&engine->waiters);
    latch_table_deinit(&engine->latches);
    timers_deinit(&engine->timers);
    mem_free(engine);
}
