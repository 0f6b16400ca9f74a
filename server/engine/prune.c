// One thread walks; the engine deletes. The two hand a chunk back and forth:
//
//   thread: fill the chunk -> post it -> wait for may_go
//   engine: start an operation for each candidate -> all done -> report -> may_go
// After its last chunk the thread gives space back to the disk and posts its exit; the engine
// joins.
#include "engine/prune.h"

#include <pthread.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/record_codec.h"
#include "engine/engine_private.h"
#include "store/store_scan.h"

#define PRUNE_REPORT_RECORDS 65536  // progress is shown at least this often
#define PRUNE_COMPACT_RECORDS 10000 // fewer are not worth rewriting files for

struct candidate {
    struct engine_op op;
    struct prune *prune;
    uint32_t consumer_number;
    size_t id_offset; // into the chunk's bytes: message ID, then the stored record
    size_t id_len;
    size_t value_len;
};

struct prune {
    struct prune *next;
    struct engine *engine;
    struct prune_request *request; // NULL: retention, or the request has had its last report
    struct claim_command command;
    bool dry_run;
    uint32_t *numbers; // consumers to walk; NULL: all of them
    uint32_t number_count;
    pthread_t thread;
    struct job job;

    pthread_mutex_t mutex; // guards the two flags
    pthread_cond_t changed;
    bool may_go;
    bool stopping;

    // The thread's until a chunk is posted, the engine's until may_go.
    struct candidate candidates[LIMIT_PRUNE_CHUNK_RECORDS];
    uint32_t candidate_count;
    struct buf bytes;
    uint64_t scan_position;
    uint64_t scanned_count;
    uint64_t removed_count;
    uint64_t damaged_count;
    struct optional_store_ms next_due; // of the records seen that stay
    bool ended;
    enum err err; // the first one met, by either

    // The engine's.
    uint32_t ops_out;
    bool paused; // reported, waits for prune_continue
    struct optional_store_ms due_elsewhere;
};

// --- the thread ---------------------------------------------------------------------------------

static bool is_stopping(struct prune *prune) {
    pthread_mutex_lock(&prune->mutex);
    bool stopping = prune->stopping;
    pthread_mutex_unlock(&prune->mutex);
    return stopping;
}

static void chunk_arrived(struct job *job, void *context);

static void hand_over(struct prune *prune, bool ended) {
    prune->ended = ended;
    pthread_mutex_lock(&prune->mutex);
    prune->may_go = false;
    pthread_mutex_unlock(&prune->mutex);
    prune->job = (struct job){.finish = chunk_arrived};
    jobs_post_done(&prune->engine->jobs, &prune->job);
    pthread_mutex_lock(&prune->mutex);
    while (!prune->may_go) pthread_cond_wait(&prune->changed, &prune->mutex);
    pthread_mutex_unlock(&prune->mutex);
    prune->candidate_count = 0;
    buf_reset(&prune->bytes, SIZE_MAX);
}

static void due_merge(struct optional_store_ms *into, struct optional_store_ms due) {
    if (due.present && (!into->present || due.at.ms < into->at.ms)) *into = due;
}

static enum err candidate_add(struct prune *prune, struct bytes key, struct bytes value) {
    struct candidate *candidate = &prune->candidates[prune->candidate_count];
    memset(candidate, 0, sizeof *candidate);
    candidate->prune = prune;
    candidate->id_offset = prune->bytes.len;
    enum err err = keyspace_parse_claim(key, &candidate->consumer_number, &prune->bytes);
    if (err != ERR_OK) return err;
    candidate->id_len = prune->bytes.len - candidate->id_offset;
    candidate->value_len = value.len;
    buf_put(&prune->bytes, value.data, value.len);
    if (prune->bytes.failed) return ERR_NO_MEMORY;
    prune->candidate_count++;
    return ERR_OK;
}

static enum err record_look(struct prune *prune, struct bytes key, struct bytes value) {
    struct claim_record record;
    struct claim_decision decision;
    enum err err = record_codec_decode(value, &record);
    if (err != ERR_OK) {
        // One damaged record must not keep the ones behind it for ever; the end reports it.
        prune->damaged_count++;
        return ERR_OK;
    }
    struct claim_context context = {.now = engine_store_now(prune->engine),
                                    .wall_now = engine_wall_now(prune->engine),
                                    .policy = prune->engine->options.policy};
    err = claim_decide(&record, &prune->command, &context, &decision);
    if (err != ERR_OK) return err;
    prune->scanned_count++;
    if (decision.change != CLAIM_REMOVED) {
        due_merge(&prune->next_due, record.expires_at);
        return ERR_OK;
    }
    if (prune->dry_run) {
        prune->removed_count++;
        return ERR_OK;
    }
    return candidate_add(prune, key, value);
}

static enum err walk(struct prune *prune, struct bytes prefix) {
    struct store_scan *scan;
    struct bytes key;
    struct bytes value;
    enum err err = store_scan_open(prune->engine->options.store, KEYSPACE_DONE, prefix, &scan);
    if (err != ERR_OK) return err;
    prune->scan_position = store_scan_position(scan);
    while ((err = store_scan_next(scan, &key, &value)) == ERR_OK) {
        err = record_look(prune, key, value);
        if (err != ERR_OK) break;
        bool report = prune->scanned_count % PRUNE_REPORT_RECORDS == 0;
        if (prune->candidate_count == LIMIT_PRUNE_CHUNK_RECORDS || report) hand_over(prune, false);
        err = is_stopping(prune) ? ERR_CANCELLED : prune->err;
        if (err != ERR_OK) break;
    }
    // What is left belongs to this view and its position.
    if (err == ERR_NOT_FOUND && prune->candidate_count > 0) hand_over(prune, false);
    store_scan_close(scan);
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static enum err walk_all(struct prune *prune) {
    if (prune->numbers == NULL) return walk(prune, (struct bytes){0});
    struct buf prefix = {0};
    enum err err = ERR_OK;
    for (uint32_t i = 0; i < prune->number_count && err == ERR_OK; i++) {
        buf_reset(&prefix, SIZE_MAX);
        keyspace_put_consumer_prefix(&prefix, prune->numbers[i]);
        err = prefix.failed ? ERR_NO_MEMORY : walk(prune, buf_bytes(&prefix));
    }
    buf_deinit(&prefix);
    return err;
}

static void thread_exited(struct job *job, void *context);

// The disk has its space back when files are rewritten, which is worth it for many records, and
// where room is short: claims may wait for it.
static bool is_worth_compacting(struct prune *prune) {
    const struct engine_options *options = &prune->engine->options;
    uint64_t free_bytes;
    if (prune->dry_run || prune->removed_count == 0 || is_stopping(prune)) return false;
    if (prune->removed_count >= PRUNE_COMPACT_RECORDS) return true;
    return store_disk_free(options->store, &free_bytes) == ERR_OK &&
           free_bytes < options->disk_soft_reserve_bytes;
}

static void *prune_main(void *self) {
    struct prune *prune = self;
    struct engine *engine = prune->engine;
    enum err err = walk_all(prune);
    if (err == ERR_OK && prune->damaged_count > 0) err = ERR_CORRUPT;
    if (prune->err == ERR_OK) prune->err = err; // the engine may have met one already
    prune->candidate_count = 0;                 // of a walk that failed
    hand_over(prune, true);
    if (is_worth_compacting(prune)) {
        store_compact(engine->options.store, KEYSPACE_BLOB);
        store_compact(engine->options.store, KEYSPACE_DONE);
    }
    prune->job = (struct job){.finish = thread_exited};
    jobs_post_done(&engine->jobs, &prune->job);
    return NULL;
}

// --- the engine's side --------------------------------------------------------------------------

static void let_go(struct prune *prune) {
    pthread_mutex_lock(&prune->mutex);
    prune->may_go = true;
    pthread_cond_signal(&prune->changed);
    pthread_mutex_unlock(&prune->mutex);
}

static void retention_ended(struct prune *prune) {
    struct engine *engine = prune->engine;
    if (prune->removed_count > 0) {
        log_info("retention: removed %llu of %llu final records",
                 (unsigned long long)prune->removed_count,
                 (unsigned long long)prune->scanned_count);
    }
    if (prune->err != ERR_OK && prune->err != ERR_CANCELLED) {
        log_error("retention: not all could be removed (%s, %llu damaged records); it tries again",
                  error_reason(prune->err), (unsigned long long)prune->damaged_count);
        due_merge(&prune->next_due, (struct optional_store_ms){true, engine_store_now(engine)});
    }
    due_merge(&prune->next_due, prune->due_elsewhere);
    engine->retention = NULL;
    engine->retention_not_before.ms =
        time_add_ms(engine_store_now(engine).ms, LIMIT_RETENTION_PAUSE_MS);
    if (prune->next_due.present) engine_retention_at(engine, prune->next_due.at);
}

static void chunk_finished(struct prune *prune) {
    struct prune_progress progress = {.scanned_count = prune->scanned_count,
                                      .removed_count = prune->removed_count,
                                      .done = prune->ended,
                                      .err = prune->err};
    struct prune_request *request = prune->request;
    if (request == NULL) {
        if (prune->ended && prune->engine->retention == prune) retention_ended(prune);
        let_go(prune);
        return;
    }
    if (!prune->ended && is_stopping(prune)) {
        let_go(prune); // nobody is there to continue it; the last report comes next
        return;
    }
    prune->paused = !prune->ended;
    if (prune->ended) {
        prune->request = NULL; // the caller's again
        request->prune = NULL;
        let_go(prune);
    }
    request->progress(request, &progress);
}

static void candidate_done(struct engine_op *op) {
    struct candidate *candidate = CONTAINER_OF(op, struct candidate, op);
    struct prune *prune = candidate->prune;
    if (op->err == ERR_OK) {
        prune->removed_count += op->decision.change == CLAIM_REMOVED;
    } else if (prune->err == ERR_OK) {
        prune->err = op->err;
    }
    engine_op_release(prune->engine, op);
    if (--prune->ops_out == 0) chunk_finished(prune);
}

static void candidate_start(struct prune *prune, struct candidate *candidate) {
    struct engine *engine = prune->engine;
    const struct consumer *consumer = consumers_at(&engine->consumers, candidate->consumer_number);
    const uint8_t *id = prune->bytes.data + candidate->id_offset;
    if (consumer == NULL) {
        prune->err = ERR_CORRUPT;
        return;
    }
    candidate->op.identity = (struct identity){.tenant = consumer_tenant(consumer),
                                               .consumer = consumer_name(consumer),
                                               .message_id = {id, candidate->id_len}};
    candidate->op.command = prune->command;
    candidate->op.done = candidate_done;
    struct engine_op_private *private = engine_op_prepare(engine, &candidate->op);
    if (private == NULL) {
        prune->err = ERR_NO_MEMORY;
        return;
    }
    private->preread = (struct bytes){id + candidate->id_len, candidate->value_len};
    private->preread_position = prune->scan_position;
    prune->ops_out++;
    engine_op_start(private);
}

static void chunk_arrived(struct job *job, void *context) {
    (void)context;
    struct prune *prune = CONTAINER_OF(job, struct prune, job);
    prune->ops_out = 1; // held until all are started
    for (uint32_t i = 0; i < prune->candidate_count; i++) {
        candidate_start(prune, &prune->candidates[i]);
    }
    if (--prune->ops_out == 0) chunk_finished(prune);
}

static void prune_free(struct prune *prune) {
    pthread_cond_destroy(&prune->changed);
    pthread_mutex_destroy(&prune->mutex);
    buf_deinit(&prune->bytes);
    mem_free(prune->numbers);
    mem_free(prune);
}

static void thread_exited(struct job *job, void *context) {
    struct engine *engine = context;
    struct prune *prune = CONTAINER_OF(job, struct prune, job);
    pthread_join(prune->thread, NULL);
    for (struct prune **link = &engine->prunes; *link != NULL; link = &(*link)->next) {
        if (*link == prune) {
            *link = prune->next;
            break;
        }
    }
    engine->prune_count--;
    prune_free(prune);
}

static struct prune *prune_create(struct engine *engine) {
    struct prune *prune = mem_zalloc(sizeof *prune);
    if (prune == NULL) return NULL;
    prune->engine = engine;
    pthread_mutex_init(&prune->mutex, NULL);
    pthread_cond_init(&prune->changed, NULL);
    return prune;
}

static enum err prune_run(struct prune *prune) {
    struct engine *engine = prune->engine;
    if (pthread_create(&prune->thread, NULL, prune_main, prune) != 0) {
        prune_free(prune);
        return ERR_NO_MEMORY;
    }
    prune->next = engine->prunes;
    engine->prunes = prune;
    engine->prune_count++;
    return ERR_OK;
}

static enum err select_consumers(struct prune *prune, const struct prune_request *request) {
    const struct consumers *consumers = &prune->engine->consumers;
    prune->numbers = mem_alloc((consumers->count + 1) * sizeof *prune->numbers);
    if (prune->numbers == NULL) return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < consumers->count; i++) {
        const struct consumer *consumer = consumers->by_number[i];
        bool wanted =
            bytes_equal(consumer_tenant(consumer), request->tenant) &&
            (request->consumer.len == 0 || bytes_equal(consumer_name(consumer), request->consumer));
        if (wanted) prune->numbers[prune->number_count++] = i;
    }
    return prune->number_count == 0 && request->consumer.len > 0 ? ERR_NOT_FOUND : ERR_OK;
}

enum err prune_start(struct engine *engine, struct prune_request *request) {
    int64_t window_ms = engine->options.policy->redelivery_window_ms;
    int64_t before_max_ms = time_sub_ms(engine_wall_now(engine).ms, window_ms);
    if (engine->draining) return ERR_DRAINING;
    if (!request->force && request->before.ms > before_max_ms) return ERR_WINDOW_VIOLATION;
    if (engine->prune_count >= LIMIT_PRUNES_RUNNING_MAX) return ERR_QUEUE_FULL;
    struct prune *prune = prune_create(engine);
    if (prune == NULL) return ERR_NO_MEMORY;
    enum err err = select_consumers(prune, request);
    if (err != ERR_OK) {
        prune_free(prune);
        return err;
    }
    prune->command = (struct claim_command){
        .verb = CLAIM_PRUNE,
        .prune_before = request->before,
        .prune_final_age_min = {!request->force, window_ms},
    };
    prune->dry_run = request->dry_run;
    prune->request = request;
    err = prune_run(prune);
    if (err == ERR_OK) request->prune = prune;
    return err;
}

void prune_continue(struct prune_request *request) {
    struct prune *prune = request->prune;
    if (prune == NULL || !prune->paused) return;
    prune->paused = false;
    let_go(prune);
}

static void stop(struct prune *prune) {
    pthread_mutex_lock(&prune->mutex);
    prune->stopping = true;
    pthread_mutex_unlock(&prune->mutex);
}

void prune_cancel(struct prune_request *request) {
    if (request->prune == NULL) return;
    stop(request->prune);
    prune_continue(request);
}

void prune_retention_due(struct prune *retention, struct store_ms due) {
    due_merge(&retention->due_elsewhere, (struct optional_store_ms){true, due});
}

void prune_retention_start(struct engine *engine) {
    if (engine->retention != NULL || engine->draining) return;
    struct prune *prune = prune_create(engine);
    if (prune != NULL) {
        prune->command = (struct claim_command){.verb = CLAIM_SETTLE};
        engine->retention = prune;
        if (prune_run(prune) == ERR_OK) return;
        engine->retention = NULL;
    }
    log_warn("retention: no memory or thread to run; it tries again");
    engine_retention_at(engine, (struct store_ms){time_add_ms(engine_store_now(engine).ms,
                                                              LIMIT_RETENTION_PAUSE_MS)});
}

void prune_stop_all(struct engine *engine) {
    for (struct prune *prune = engine->prunes; prune != NULL; prune = prune->next) {
        stop(prune);
        if (prune->request != NULL) prune_continue(prune->request);
    }
    // Giving space back may take minutes; the next prune does it.
    if (engine->prune_count > 0) store_compact_stop(engine->options.store);
}
