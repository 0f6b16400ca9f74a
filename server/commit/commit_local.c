#include "commit/commit_local.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"

struct commit_local {
    struct commit commit;
    struct commit_sink sink;
    uint32_t inline_ops_max;
    pthread_t writer;
    bool under_way;                      // submitted and not yet taken back; engine thread only
    _Atomic(struct commit_group *) done; // written, not yet taken back
    pthread_mutex_t mutex;               // guards what follows
    pthread_cond_t work;
    struct commit_group *queued; // submitted, not yet being written
    bool stopping;
};

static struct commit_local *local_of(struct commit *commit) {
    return CONTAINER_OF(commit, struct commit_local, commit);
}

static void group_write(struct commit_local *local, const struct commit_group *group) {
    enum err err =
        local->sink.apply(local->sink.apply_self, group->position, buf_bytes(&group->frame));
    if (err != ERR_OK) {
        // Whether the group is on disk is unknown: nothing may be answered, nothing retried.
        log_fatal(
            "cannot write the store (%s) at position %llu: stopping; the last line above says "
            "why. Every acknowledged change is safe; restart when the disk is well",
            error_reason(err), (unsigned long long)group->position);
    }
}

static void *writer_main(void *self) {
    struct commit_local *local = self;
    pthread_mutex_lock(&local->mutex);
    for (;;) {
        while (local->queued == NULL && !local->stopping) {
            pthread_cond_wait(&local->work, &local->mutex);
        }
        struct commit_group *group = local->queued;
        if (group == NULL) break;
        local->queued = NULL;
        pthread_mutex_unlock(&local->mutex);
        group_write(local, group);
        atomic_store_explicit(&local->done, group, memory_order_release);
        // The engine may take the group back before this; it is not torn down before the join.
        local->sink.wake(local->sink.wake_self);
        pthread_mutex_lock(&local->mutex);
    }
    pthread_mutex_unlock(&local->mutex);
    return NULL;
}

static void local_submit(struct commit *commit, struct commit_group *group) {
    struct commit_local *local = local_of(commit);
    CHECK(!local->under_way);
    local->under_way = true;
    if (group->op_count <= local->inline_ops_max) {
        group_write(local, group);
        atomic_store_explicit(&local->done, group, memory_order_release);
        return;
    }
    pthread_mutex_lock(&local->mutex);
    local->queued = group;
    pthread_cond_signal(&local->work);
    pthread_mutex_unlock(&local->mutex);
}

static struct commit_group *local_take_done(struct commit *commit) {
    struct commit_local *local = local_of(commit);
    if (!local->under_way) return NULL;
    struct commit_group *group = atomic_exchange_explicit(&local->done, NULL, memory_order_acquire);
    if (group != NULL) local->under_way = false;
    return group;
}

static bool local_is_idle(const struct commit *commit) {
    const struct commit_local *local =
        (const struct commit_local *)((const char *)commit - offsetof(struct commit_local, commit));
    return !local->under_way;
}

static void local_destroy(struct commit *commit) {
    struct commit_local *local = local_of(commit);
    pthread_mutex_lock(&local->mutex);
    local->stopping = true;
    pthread_cond_signal(&local->work);
    pthread_mutex_unlock(&local->mutex);
    pthread_join(local->writer, NULL);
    pthread_cond_destroy(&local->work);
    pthread_mutex_destroy(&local->mutex);
    mem_free(local);
}

static const struct commit_vtable local_vtable = {
    .submit = local_submit,
    .take_done = local_take_done,
    .is_idle = local_is_idle,
    .destroy = local_destroy,
};

enum err commit_local_create(const struct commit_sink *sink, uint32_t inline_ops_max,
                             struct commit **out_commit) {
    struct commit_local *local = mem_zalloc(sizeof *local);
    if (local == NULL) return ERR_NO_MEMORY;
    local->commit.vtable = &local_vtable;
    local->sink = *sink;
    local->inline_ops_max = inline_ops_max;
    pthread_mutex_init(&local->mutex, NULL);
    pthread_cond_init(&local->work, NULL);
    if (pthread_create(&local->writer, NULL, writer_main, local) != 0) {
        pthread_cond_destroy(&local->work);
        pthread_mutex_destroy(&local->mutex);
        mem_free(local);
        return ERR_IO;
    }
    *out_commit = &local->commit;
    return ERR_OK;
}
