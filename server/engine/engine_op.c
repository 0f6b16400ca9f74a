// One operation's way through the engine.
//
//   QUEUED -> RUNNABLE -> [READING] -> [STALLED] -> decide
//   decide -> PARKED -> QUEUED again                        (Begin that may wait)
//          -> [LOADING] -> GROUPED -> applied -> READY       (something changes)
//          -> [LOADING] -> READY                             (nothing changes)
// The latch is held from RUNNABLE until READY or PARKED.
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/record_codec.h"
#include "engine/change.h"
#include "engine/engine_private.h"

#define OP_BUFFER_KEEP_BYTES 4096

void op_list_push(struct op_list *list, struct engine_op_private *op) {
    op->next = NULL;
    if (list->last == NULL) {
        list->first = op;
    } else {
        list->last->next = op;
    }
    list->last = op;
}

struct engine_op_private *op_list_pop(struct op_list *list) {
    struct engine_op_private *op = list->first;
    if (op == NULL) return NULL;
    list->first = op->next;
    if (list->first == NULL) list->last = NULL;
    op->next = NULL;
    return op;
}

static uint64_t op_hash(const struct identity *identity) {
    // Three independent hashes, folded so that moving a byte between the fields changes the sum.
    return (identity_hash(identity->tenant) * 31 + identity_hash(identity->consumer)) * 31 +
           identity_hash(identity->message_id);
}

static void wait_fire(struct timer *timer, void *context) {
    (void)context;
    engine_op_unpark(CONTAINER_OF(timer, struct engine_op_private, timer), ERR_OK);
}

struct engine_op_private *engine_op_prepare(struct engine *engine, struct engine_op *op) {
    struct engine_op_private *private = op_list_pop(&engine->free_ops);
    if (private != NULL) {
        engine->free_op_count--;
    } else {
        private = mem_zalloc(sizeof *private);
        if (private == NULL) return NULL;
        private->engine = engine;
        private->timer.fire = wait_fire;
    }
    private->op = op;
    private->hash = op_hash(&op->identity);
    private->cancelled = false;
    private->holds_latch = false;
    private->has_stored = false;
    private->wait_until.present = false;
    private->preread = (struct bytes){0};
    memset(private->body_wanted, 0, sizeof private->body_wanted);
    op->engine = private;
    engine->op_count++;
    return private;
}

void engine_op_destroy(struct engine_op_private *private) {
    buf_deinit(&private->key);
    buf_deinit(&private->record_bytes);
    for (int i = 0; i < OP_BODIES; i++) buf_deinit(&private->bodies[i]);
    mem_free(private);
}

void engine_op_release(struct engine *engine, struct engine_op *op) {
    struct engine_op_private *private = op->engine;
    if (private == NULL) return; // it was refused before it had one
    op->engine = NULL;
    if (engine->free_op_count >= LIMIT_FREE_OPS_MAX) {
        engine_op_destroy(private); // after a burst, its memory goes back
        return;
    }
    engine->free_op_count++;
    buf_reset(&private->key, OP_BUFFER_KEEP_BYTES);
    buf_reset(&private->record_bytes, OP_BUFFER_KEEP_BYTES);
    for (int i = 0; i < OP_BODIES; i++) buf_reset(&private->bodies[i], OP_BUFFER_KEEP_BYTES);
    op_list_push(&engine->free_ops, private);
}

// --- the ends of the way ------------------------------------------------------------------------

static void op_unlatch(struct engine_op_private *private) {
    struct engine *engine = private->engine;
    if (!private->holds_latch) return;
    private->holds_latch = false;
    struct latch_node *next = latch_release(&engine->latches, private->hash, &private->latch);
    if (next == NULL) return;
    struct engine_op_private *holder = CONTAINER_OF(next, struct engine_op_private, latch);
    holder->holds_latch = true;
    holder->stage = OP_RUNNABLE;
    op_list_push(&engine->runnable, holder);
}

static void op_finish(struct engine_op_private *private, enum err err) {
    private->op->err = err;
    op_unlatch(private);
    private->stage = OP_READY;
    op_list_push(&private->engine->ready, private);
}

void engine_op_start(struct engine_op_private *private) {
    struct engine *engine = private->engine;
    switch (latch_acquire(&engine->latches, private->hash, &private->latch)) {
    case LATCH_HELD:
        private
        ->holds_latch = true;
        private->stage = OP_RUNNABLE;
        op_list_push(&engine->runnable, private);
        return;
    case LATCH_QUEUED:
        private
        ->stage = OP_QUEUED;
        return;
    case LATCH_FULL:
        op_finish(private, ERR_QUEUE_FULL);
        return;
    }
}

// --- reading ------------------------------------------------------------------------------------

// The record is in one family or the other: open ones are looked for first, being the hot set.
static enum err record_read(struct engine_op_private *private, enum store_tier tier) {
    struct store *store = private->engine->options.store;
    struct bytes key = buf_bytes(&private->key);
    buf_reset(&private->record_bytes, SIZE_MAX);
    enum err err = store_get(store, KEYSPACE_OPEN, key, tier, &private->record_bytes);
    if (err == ERR_NOT_FOUND) {
        err = store_get(store, KEYSPACE_DONE, key, tier, &private->record_bytes);
    }
    return err;
}

static void record_job_run(struct job *job) {
    struct engine_op_private *private = CONTAINER_OF(job, struct engine_op_private, job);
    private->job_err = record_read(private, STORE_MAY_READ);
}

static void op_decide(struct engine_op_private *private);

// What the read brought, as `stored`; then the decision.
static void op_read_done(struct engine_op_private *private, enum err err) {
    if (err == ERR_OK) {
        private->has_stored = true;
        err = record_codec_decode(buf_bytes(&private->record_bytes), &private->stored);
        if (err != ERR_OK) {
            log_error(
                "a stored record does not decode: consumer=%u key bytes=%zu: restore a backup",
                private->consumer->number, private->key.len);
        }
    } else if (err == ERR_NOT_FOUND) {
        private->has_stored = false;
        err = ERR_OK;
    }
    if (err == ERR_OK) {
        op_decide(private);
    } else {
        op_finish(private, err);
    }
}

static void record_job_finish(struct job *job, void *context) {
    (void)context;
    struct engine_op_private *private = CONTAINER_OF(job, struct engine_op_private, job);
    op_read_done(private, private->job_err);
}

static bool preread_holds(const struct engine_op_private *private) {
    const struct latch_stripe *stripe = latch_stripe_of(&private->engine->latches, private->hash);
    return private->preread.len > 0 && stripe->applied_position <= private->preread_position;
}

void engine_op_run(struct engine_op_private *private) {
    struct engine *engine = private->engine;
    const struct identity *identity = &private->op->identity;
    if (private->cancelled && private->op->command.verb == CLAIM_BEGIN) {
        op_finish(private, ERR_CANCELLED); // nobody is there to hold the claim
        return;
    }
    private->consumer = consumers_find(&engine->consumers, identity->tenant, identity->consumer);
    if (private->consumer == NULL) {
        op_read_done(private, ERR_NOT_FOUND);
        return;
    }
    buf_reset(&private->key, SIZE_MAX);
    keyspace_put_claim(&private->key, private->consumer->number, identity->message_id);
    if (private->key.failed) {
        op_finish(private, ERR_NO_MEMORY);
        return;
    }
    if (preread_holds(private)) {
        buf_reset(&private->record_bytes, SIZE_MAX);
        buf_put(&private->record_bytes, private->preread.data, private->preread.len);
        op_read_done(private, private->record_bytes.failed ? ERR_NO_MEMORY : ERR_OK);
        return;
    }
    enum err err = record_read(private, STORE_CACHE_ONLY);
    if (err == ERR_WOULD_BLOCK) {
        engine->stats.reads_missed++;
        private->stage = OP_READING;
        private->job = (struct job){.run = record_job_run, .finish = record_job_finish};
        jobs_submit(&engine->jobs, &private->job);
        return;
    }
    op_read_done(private, err);
}

// --- bodies -------------------------------------------------------------------------------------

static struct claim_body *body_of(struct claim_record *record, enum op_body which) {
    switch (which) {
    case OP_BODY_RESULT:
        return &record->result;
    case OP_BODY_CHECKPOINT:
        return &record->checkpoint;
    case OP_BODY_PAYLOAD:
        break;
    }
    return &record->payload;
}

static enum keyspace_blob blob_of(enum op_body which) {
    switch (which) {
    case OP_BODY_RESULT:
        return KEYSPACE_BLOB_RESULT;
    case OP_BODY_CHECKPOINT:
        return KEYSPACE_BLOB_CHECKPOINT;
    case OP_BODY_PAYLOAD:
        break;
    }
    return KEYSPACE_BLOB_PAYLOAD;
}

// Notes which bodies the answer carries that are not at hand; true if there is one.
static bool bodies_want(struct engine_op_private *private) {
    struct engine_op *op = private->op;
    struct claim_decision *decision = &op->decision;
    bool all = op->command.verb == CLAIM_GET && op->include_bodies;
    bool takeover = decision->outcome == CLAIM_CLAIMED && decision->record.attempt_count > 1;
    bool wanted[OP_BODIES] = {
        [OP_BODY_RESULT] = all || decision->outcome == CLAIM_DUPLICATE,
        [OP_BODY_CHECKPOINT] = all || takeover || decision->outcome == CLAIM_OUTCOME_UNKNOWN,
        [OP_BODY_PAYLOAD] = all,
    };
    bool any = false;
    for (int i = 0; i < OP_BODIES; i++) {
        const struct claim_body *body = body_of(&decision->record, (enum op_body)i);
        private->body_wanted[i] = wanted[i] && body->present && body->in_blob;
        any = any || private->body_wanted[i];
    }
    return any;
}

static enum err bodies_load(struct engine_op_private *private, enum store_tier tier) {
    struct buf key = {0};
    enum err err = ERR_OK;
    for (int i = 0; i < OP_BODIES && err == ERR_OK; i++) {
        if (!private->body_wanted[i]) continue;
        buf_reset(&key, SIZE_MAX);
        buf_reset(&private->bodies[i], SIZE_MAX);
        keyspace_put_blob(&key, buf_bytes(&private->key), blob_of((enum op_body)i));
        err = key.failed ? ERR_NO_MEMORY
                         : store_get(private->engine->options.store, KEYSPACE_BLOB, buf_bytes(&key),
                                     tier, &private->bodies[i]);
        const struct claim_body *body = body_of(&private->op->decision.record, (enum op_body)i);
        if (err == ERR_OK && private->bodies[i].len != body->size_bytes) err = ERR_CORRUPT;
    }
    buf_deinit(&key);
    // A mark without its body is damage: they were written in one batch.
    return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
}

// Shows the loaded bodies in the answer; only now, so that they are not taken for new ones.
static void bodies_show(struct engine_op_private *private) {
    for (int i = 0; i < OP_BODIES; i++) {
        if (!private->body_wanted[i]) continue;
        struct claim_body *body = body_of(&private->op->decision.record, (enum op_body)i);
        body->data = buf_bytes(&private->bodies[i]);
        body->in_blob = false;
    }
}

// --- deciding -----------------------------------------------------------------------------------

static bool group_is_full(const struct engine *engine) {
    const struct group *group = engine->forming;
    return group->commit.op_count >= LIMIT_GROUP_OPS_MAX ||
           group->commit.frame.len >= LIMIT_GROUP_BYTES_MAX;
}

// Whether the disk reserve forbids the change. What begins is refused first, what ends goes on.
static bool disk_forbids(const struct engine_op_private *private) {
    const struct engine *engine = private->engine;
    const struct claim_decision *decision = &private->op->decision;
    if (engine->disk_hard_reached) return decision->change == CLAIM_WRITTEN;
    if (!engine->disk_soft_reached) return false;
    return decision->granted || (decision->change == CLAIM_WRITTEN && !private->has_stored);
}

static enum err consumer_ensure(struct engine_op_private *private) {
    struct engine *engine = private->engine;
    const struct identity *identity = &private->op->identity;
    if (private->consumer != NULL) return ERR_OK;
    struct consumer *consumer =
        consumers_find(&engine->consumers, identity->tenant, identity->consumer);
    if (consumer == NULL) {
        enum err err =
            consumers_add(&engine->consumers, identity->tenant, identity->consumer, &consumer);
        if (err != ERR_OK) return err;
    }
    buf_reset(&private->key, SIZE_MAX);
    keyspace_put_claim(&private->key, consumer->number, identity->message_id);
    if (private->key.failed) return ERR_NO_MEMORY;
    private->consumer = consumer;
    return ERR_OK;
}

// Puts the change into the forming group. On an error the group is as it was.
static enum err op_join_group(struct engine_op_private *private) {
    struct engine *engine = private->engine;
    struct group *group = engine->forming;
    struct claim_decision *decision = &private->op->decision;
    if (disk_forbids(private)) return ERR_DISK_RESERVE;
    enum err err = consumer_ensure(private);
    if (err != ERR_OK) return err;

    // Only now, since another grant may have joined while this one loaded bodies.
    if (decision->granted) {
        if (engine->token_next > LIMIT_TOKEN_MAX) return ERR_TOKENS_EXHAUSTED;
        decision->record.token = engine->token_next;
    }

    struct buf *frame = &group->commit.frame;
    size_t frame_len = frame->len;
    const struct claim_record *stored = private->has_stored ? &private->stored : NULL;
    const struct claim_record *after = decision->change == CLAIM_WRITTEN ? &decision->record : NULL;
    uint32_t effects = change_put(frame, &engine->scratch, buf_bytes(&private->key), stored, after);
    if (frame->failed) {
        frame->failed = false;
        frame->len = frame_len;
        return ERR_NO_MEMORY;
    }
    group->effect_count += effects;
    group->commit.op_count++;
    if (decision->granted) engine->token_next++;
    consumers_count(&engine->consumers, private->consumer, stored ? (int)stored->state : 0,
                    after ? (int)after->state : 0);
    if (after != NULL) {
        engine_note_deadlines(engine, after, &private->op->identity,
                              private->op->command.verb == CLAIM_RENEW);
    }
    private->stage = OP_GROUPED;
    op_list_push(&group->ops, private);
    return ERR_OK;
}

// The decision stands and its bodies are loaded.
static void op_conclude(struct engine_op_private *private) {
    if (private->op->decision.change == CLAIM_UNCHANGED) {
        bodies_show(private);
        op_finish(private, ERR_OK);
        return;
    }
    enum err err = op_join_group(private);
    if (err != ERR_OK) op_finish(private, err);
}

static void bodies_job_run(struct job *job) {
    struct engine_op_private *private = CONTAINER_OF(job, struct engine_op_private, job);
    private->job_err = bodies_load(private, STORE_MAY_READ);
}

static void bodies_job_finish(struct job *job, void *context) {
    (void)context;
    struct engine_op_private *private = CONTAINER_OF(job, struct engine_op_private, job);
    if (private->job_err != ERR_OK) {
        op_finish(private, private->job_err);
    } else {
        op_conclude(private);
    }
}

// Parks a Begin that may wait; false if it may not.
static bool op_park(struct engine_op_private *private, struct store_ms now) {
    struct engine *engine = private->engine;
    const struct claim_decision *decision = &private->op->decision;
    bool waits = decision->outcome == CLAIM_IN_FLIGHT || decision->outcome == CLAIM_NOT_YET;
    if (!waits || !private->wait_until.present || private->cancelled || engine->draining ||
        now.ms >= private->wait_until.at.ms) {
        return false;
    }
    struct store_ms look_again = decision->outcome == CLAIM_IN_FLIGHT
                                     ? decision->record.lease_expires_at
                                     : decision->record.next_attempt_at;
    if (look_again.ms > private->wait_until.at.ms) look_again = private->wait_until.at;
    if (!waiters_park(&engine->waiters, private->hash, &private->waiter)) return false;
    if (timers_set(&engine->timers, &private->timer, look_again) != ERR_OK) {
        waiters_unpark(&engine->waiters, &private->waiter);
        return false;
    }
    op_unlatch(private);
    private->stage = OP_PARKED;
    return true;
}

static void op_decide(struct engine_op_private *private) {
    struct engine *engine = private->engine;
    struct engine_op *op = private->op;
    if (group_is_full(engine)) {
        private->stage = OP_STALLED;
        op_list_push(&engine->stalled, private);
        return;
    }
    op->now = engine_store_now_rest(engine, &op->now_rest_ms);
    op->wall_now = engine_wall_now(engine);
    struct claim_context context = {
        .now = op->now,
        .now_rest_ms = op->now_rest_ms,
        .wall_now = op->wall_now,
        .policy = engine->options.policy,
        .token_next = engine->token_next,
        .random = rand_u64(&engine->rand),
    };
    enum err err = claim_decide(private->has_stored ? &private->stored : NULL, &op->command,
                                &context, &op->decision);
    if (err != ERR_OK) {
        op_finish(private, err);
        return;
    }
    if (op_park(private, op->now)) return;
    if (bodies_want(private)) {
        err = bodies_load(private, STORE_CACHE_ONLY);
        if (err == ERR_WOULD_BLOCK) {
            engine->stats.reads_missed++;
            private->stage = OP_LOADING;
            private->job = (struct job){.run = bodies_job_run, .finish = bodies_job_finish};
            jobs_submit(&engine->jobs, &private->job);
            return;
        }
        if (err != ERR_OK) {
            op_finish(private, err);
            return;
        }
    }
    op_conclude(private);
}

// --- after the commit ---------------------------------------------------------------------------

// A renewal answers nobody who waits; any other change may. A grant as well: an owner that reclaims
// may end its lease sooner than the one that they wait for.
static bool wakes_waiters(const struct claim_decision *decision) {
    return decision->change == CLAIM_REMOVED || decision->granted ||
           decision->record.state != CLAIM_PROCESSING;
}

void engine_op_applied(struct engine_op_private *private, uint64_t position) {
    struct engine *engine = private->engine;
    latch_stripe_of(&engine->latches, private->hash)->applied_position = position;
    if (wakes_waiters(&private->op->decision)) {
        struct waiter *waiter;
        while ((waiter = waiters_take(&engine->waiters, private->hash)) != NULL) {
            struct engine_op_private *woken =
                CONTAINER_OF(waiter, struct engine_op_private, waiter);
            timers_unset(&engine->timers, &woken->timer);
            engine_op_start(woken);
        }
    }
    bodies_show(private);
    op_finish(private, ERR_OK);
}

void engine_op_unpark(struct engine_op_private *private, enum err err) {
    struct engine *engine = private->engine;
    CHECK(private->stage == OP_PARKED);
    if (private->waiter.parked) waiters_unpark(&engine->waiters, &private->waiter);
    timers_unset(&engine->timers, &private->timer);
    if (err == ERR_OK) {
        engine_op_start(private);
    } else {
        op_finish(private, err);
    }
}
