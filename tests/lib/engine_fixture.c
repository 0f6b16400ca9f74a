#define _GNU_SOURCE // nftw
#include "engine_fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

#include "base/check.h"
#include "base/scope.h"
#include "core/identity.h"
#include "engine/engine_private.h"

// The longest that any wait for a thread of the engine may take. Passing it means "never".
#define WAIT_SECONDS_MAX 60

void fixture_wake(void *self) {
    struct engine_fixture *fixture = self;
    pthread_mutex_lock(&fixture->mutex);
    fixture->wakes++;
    pthread_cond_signal(&fixture->woken);
    pthread_mutex_unlock(&fixture->mutex);
}

void fixture_wait_for_wake(struct engine_fixture *fixture) {
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_sec += WAIT_SECONDS_MAX;
    int status = 0;
    pthread_mutex_lock(&fixture->mutex);
    while (fixture->wakes == fixture->wakes_seen && status == 0) {
        status = pthread_cond_timedwait(&fixture->woken, &fixture->mutex, &until);
    }
    fixture->wakes_seen = fixture->wakes;
    pthread_mutex_unlock(&fixture->mutex);
    ck_assert_msg(status == 0, "what the test waits for did not happen");
}

// --- opening and closing ------------------------------------------------------------------------

void fixture_init_on(struct engine_fixture *fixture, const char *dir) {
    *fixture =
        (struct engine_fixture){.policy = policy_default, .store_options = store_options_default()};
    fake_clock_init(&fixture->clock);
    pthread_mutex_init(&fixture->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&fixture->woken, &attributes);
    pthread_condattr_destroy(&attributes);
    fixture->options = (struct engine_options){
        .time = fake_clock_source(&fixture->clock),
        .policy = &fixture->policy,
        .wake = fixture_wake,
        .wake_self = fixture,
        .group_inline_ops_max = LIMIT_GROUP_INLINE_OPS_MAX,
        .disk_soft_reserve_bytes = 0, // the disk of the machine at hand is no part of a test
        .disk_hard_reserve_bytes = 0,
        .random_seed = 1,
    };
    (void)snprintf(fixture->dir, sizeof fixture->dir, "%s", dir);
}

void fixture_init_closed(struct engine_fixture *fixture) {
    struct temp_dir temp;
    temp_dir_create(TEMP_DIR_ON_DISK, &temp);
    fixture_init_on(fixture, temp_dir_join(temp.path, "data"));
    fixture->temp = temp;
    struct error_detail detail = {0};
    enum err err = store_create(fixture->dir, FIXTURE_FIRST_TOKEN, &detail);
    ck_assert_msg(err == ERR_OK, "create: %s: %s", error_reason(err), detail.text);
}

void fixture_init(struct engine_fixture *fixture) {
    fixture_init_closed(fixture);
    fixture_open(fixture);
}

enum err fixture_try_open(struct engine_fixture *fixture, struct error_detail *detail) {
    CHECK(fixture->store == NULL);
    enum err err = store_open(fixture->dir, &fixture->store_options, &fixture->store, detail);
    if (err != ERR_OK) return err;
    fixture->options.store = fixture->store;
    err = engine_create(&fixture->options, &fixture->engine, detail);
    if (err != ERR_OK) {
        store_close(fixture->store);
        fixture->store = NULL;
    }
    return err;
}

void fixture_open(struct engine_fixture *fixture) {
    struct error_detail detail = {0};
    enum err err = fixture_try_open(fixture, &detail);
    ck_assert_msg(err == ERR_OK, "open: %s: %s", error_reason(err), detail.text);
    fixture_settle(fixture); // the first retention pass is over
}

static bool is_idle(void *arg) {
    const struct engine_fixture *fixture = arg;
    return engine_is_idle(fixture->engine);
}

void fixture_become_idle(struct engine_fixture *fixture) {
    fixture_turn_until(fixture, is_idle, fixture);
}

void fixture_close(struct engine_fixture *fixture) {
    if (fixture->engine == NULL) return;
    engine_drain(fixture->engine);
    fixture_become_idle(fixture);
    engine_destroy(fixture->engine);
    fixture->engine = NULL;
    store_close(fixture->store);
    fixture->store = NULL;
}

void fixture_reopen(struct engine_fixture *fixture) {
    fixture_close(fixture);
    fixture_open(fixture);
}

// nftw hands its callback no context.
static uint64_t look_of_files;

static int look_at_entry(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)walk;
    if (type == FTW_NS) return 1; // gone since it was listed
    int64_t words[] = {(int64_t)info->st_ino, info->st_size, info->st_mtim.tv_sec,
                       info->st_mtim.tv_nsec};
    look_of_files += identity_hash(bytes_of(path)) ^
                     identity_hash((struct bytes){(const uint8_t *)words, sizeof words});
    return 0;
}

// Sums up names, sizes and times of all files; false if they change meanwhile.
static bool look_at_files(const char *dir, uint64_t *out_look) {
    look_of_files = 0;
    if (nftw(dir, look_at_entry, 8, FTW_PHYS) != 0) return false;
    *out_look = look_of_files;
    return true;
}

static bool copy_files(const char *from, const char *to) {
    char words[4][sizeof((struct engine_fixture *)0)->dir] = {"cp", "-a"};
    (void)snprintf(words[2], sizeof words[2], "%s", from);
    (void)snprintf(words[3], sizeof words[3], "%s", to);
    char *const arguments[] = {words[0], words[1], words[2], words[3], NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0);
    CHECK(posix_spawnp(&pid, "cp", &actions, NULL, arguments, environ) == 0);
    CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    return status == 0;
}

// RocksDB moves files in the background: a copy counts only if nothing moved while it was made,
// since a process that is killed leaves one moment behind.
static void copy_moment(const char *from, const char *to) {
    for (int tries = 0; tries < 1000; tries++) {
        uint64_t before;
        uint64_t after;
        temp_dir_remove_path(to);
        if (look_at_files(from, &before) && copy_files(from, to) && look_at_files(from, &after) &&
            before == after) {
            return;
        }
    }
    ck_abort_msg("no moment without change in %s", from);
}

void fixture_copy_files(struct engine_fixture *fixture, const char *to) {
    fixture_settle(fixture);
    copy_moment(fixture->dir, to);
}

void fixture_crash_closed(struct engine_fixture *fixture) {
    char from[sizeof fixture->dir];
    char to[sizeof fixture->dir];
    (void)snprintf(from, sizeof from, "%s", fixture->dir);
    (void)snprintf(to, sizeof to, "%s/data%u", fixture->temp.path, ++fixture->dir_number);
    fixture_copy_files(fixture, to);
    (void)snprintf(fixture->dir, sizeof fixture->dir, "%s", to);
    fixture_close(fixture);
    temp_dir_remove_path(from);
}

void fixture_crash(struct engine_fixture *fixture) {
    fixture_crash_closed(fixture);
    fixture_open(fixture);
}

void fixture_deinit(struct engine_fixture *fixture) {
    fixture_close(fixture);
    arena_deinit(&fixture->answers);
    temp_dir_remove(&fixture->temp);
    pthread_cond_destroy(&fixture->woken);
    pthread_mutex_destroy(&fixture->mutex);
}

// --- turns --------------------------------------------------------------------------------------

void fixture_turn(struct engine_fixture *fixture) {
    fixture->turn_due = engine_turn(fixture->engine);
    // A turn does all that is due: nobody may have to call it again for what was due already.
    ck_assert_int_gt(fixture->turn_due.ns, time_boot(&fixture->options.time).ns);
}

void fixture_turn_until(struct engine_fixture *fixture, bool (*is_so)(void *arg), void *arg) {
    for (;;) {
        fixture_turn(fixture);
        if (is_so(arg)) return;
        fixture_wait_for_wake(fixture);
    }
}

void fixture_wait_for_job(struct engine_fixture *fixture) {
    struct jobs *jobs = &fixture->engine->jobs;
    for (bool posted = false; !posted;) {
        fixture_wait_for_wake(fixture);
        pthread_mutex_lock(&jobs->mutex);
        posted = jobs->done_first != NULL;
        pthread_mutex_unlock(&jobs->mutex);
    }
}

static bool is_settled(void *arg) {
    const struct engine_fixture *fixture = arg;
    const struct engine *engine = fixture->engine;
    return engine->op_count == engine->waiters.count && engine->flying == NULL &&
           engine->forming->commit.op_count == 0 && engine->retention == NULL;
}

void fixture_settle(struct engine_fixture *fixture) {
    fixture_turn_until(fixture, is_settled, fixture);
}

void fixture_advance(struct engine_fixture *fixture, int64_t ms) {
    fake_clock_advance(&fixture->clock, ms);
    fixture_settle(fixture);
}

struct store_ms fixture_now(const struct engine_fixture *fixture) {
    return engine_store_now(fixture->engine);
}

struct engine_stats fixture_stats(const struct engine_fixture *fixture) {
    struct engine_stats stats;
    engine_stats(fixture->engine, &stats);
    return stats;
}

void fixture_flush(struct engine_fixture *fixture) {
    // Compaction starts with a flush, and what it writes is not in the cache.
    store_compact(fixture->store, KEYSPACE_OPEN);
    store_compact(fixture->store, KEYSPACE_DONE);
    store_compact(fixture->store, KEYSPACE_BLOB);
}

// One group, written past the engine: value.data NULL deletes.
static void edit(struct engine_fixture *fixture, enum keyspace_family family, struct bytes key,
                 struct bytes value) {
    SCOPE_BUF struct buf head = {0};
    struct error_detail detail = {0};
    struct store *store;
    CHECK(fixture->store == NULL);
    enum err err = store_open(fixture->dir, &fixture->store_options, &store, &detail);
    ck_assert_msg(err == ERR_OK, "open: %s: %s", error_reason(err), detail.text);
    struct store_batch *batch = store_batch_create();
    uint64_t position = store_position(store) + 1;
    keyspace_put_head(&head, &(struct keyspace_head){.position = position});
    store_batch_put(batch, store, KEYSPACE_META, keyspace_head_key(), buf_bytes(&head));
    if (value.data == NULL) {
        store_batch_delete(batch, store, family, key);
    } else {
        store_batch_put(batch, store, family, key, value);
    }
    ck_assert_int_eq(store_write(store, batch, position), ERR_OK);
    store_batch_destroy(batch);
    store_close(store);
}

void fixture_edit_delete(struct engine_fixture *fixture, enum keyspace_family family,
                         struct bytes key) {
    edit(fixture, family, key, (struct bytes){0});
}

void fixture_edit_put(struct engine_fixture *fixture, enum keyspace_family family, struct bytes key,
                      struct bytes value) {
    CHECK(value.data != NULL);
    edit(fixture, family, key, value);
}
