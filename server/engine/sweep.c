// The sweep: writes down what time alone has made of open records.
//
// Each grant whose lapse would be a transition, and each dead letter that expires, has a deadline
// in the engine's timers; when it comes, a CLAIM_SETTLE goes the way of every operation. There is
// one for each grant: renewals add none, the sweep finds the newer deadline when it looks. A
// deadline that finds no memory is no loss of truth: whoever reads the record sees the transition
// all the same.
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/engine_private.h"

// Small, since there may be as many as open records.
struct sweep_due {
    struct timer timer;
    uint64_t token; // of the attempt
    uint32_t tenant_len;
    uint32_t consumer_len;
    uint32_t message_id_len;
    uint8_t bytes[]; // tenant, consumer, message ID
};

// A deadline that has come, on its way through the engine.
struct sweep_run {
    struct engine_op op;
    struct engine *engine;
    struct sweep_due *due;
};

static void look_again(struct engine *engine, struct sweep_due *due, struct store_ms at) {
    if (timers_set(&engine->timers, &due->timer, at) != ERR_OK) mem_free(due);
}

static struct store_ms soon(const struct engine *engine) {
    return (struct store_ms){time_add_ms(engine_store_now(engine).ms, LIMIT_HOUSEKEEPING_MS)};
}

static void run_done(struct engine_op *op) {
    struct sweep_run *run = CONTAINER_OF(op, struct sweep_run, op);
    struct engine *engine = run->engine;
    struct sweep_due *due = run->due;
    const struct claim_record *record = &op->decision.record;
    struct optional_store_ms again = {.present = false};
    if (op->err != ERR_OK) {
        // What has no room now (memory, the disk) is written when there is.
        again = (struct optional_store_ms){error_is_retryable(op->err), soon(engine)};
    } else if (op->decision.exists && record->state == CLAIM_PROCESSING &&
               record->token == due->token) {
        again = claim_settle_due(record);
    }
    engine_op_release(engine, op);
    mem_free(run);
    if (again.present) {
        look_again(engine, due, again.at);
    } else {
        mem_free(due);
    }
}

static void due_fire(struct timer *timer, void *context) {
    struct engine *engine = context;
    struct sweep_due *due = CONTAINER_OF(timer, struct sweep_due, timer);
    const uint8_t *consumer = due->bytes + due->tenant_len;
    struct sweep_run *run = mem_zalloc(sizeof *run);
    if (run == NULL) {
        look_again(engine, due, soon(engine));
        return;
    }
    run->engine = engine;
    run->due = due;
    run->op.command.verb = CLAIM_SETTLE;
    run->op.done = run_done;
    run->op.identity =
        (struct identity){.tenant = {due->bytes, due->tenant_len},
                          .consumer = {consumer, due->consumer_len},
                          .message_id = {consumer + due->consumer_len, due->message_id_len}};
    struct engine_op_private *private = engine_op_prepare(engine, &run->op);
    if (private == NULL) {
        mem_free(run);
        look_again(engine, due, soon(engine));
        return;
    }
    engine_op_start(private);
}

void sweep_add(struct engine *engine, struct store_ms at, uint64_t token,
               const struct identity *identity) {
    struct bytes parts[] = {identity->tenant, identity->consumer, identity->message_id};
    struct sweep_due *due = mem_alloc(sizeof *due + parts[0].len + parts[1].len + parts[2].len);
    if (due == NULL) return;
    *due = (struct sweep_due){.timer = {.fire = due_fire},
                              .token = token,
                              .tenant_len = (uint32_t)parts[0].len,
                              .consumer_len = (uint32_t)parts[1].len,
                              .message_id_len = (uint32_t)parts[2].len};
    uint8_t *end = due->bytes;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].len > 0) memcpy(end, parts[i].data, parts[i].len);
        end += parts[i].len;
    }
    look_again(engine, due, at);
}

void sweep_free_all(struct engine *engine) {
    for (size_t i = 1; i <= engine->timers.count; i++) {
        struct timer *timer = engine->timers.heap[i];
        if (timer->fire == due_fire) mem_free(CONTAINER_OF(timer, struct sweep_due, timer));
    }
}
