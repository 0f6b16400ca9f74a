// An engine on a store of its own, driven by hand under a clock that stands still.
//
// Nothing happens by itself: a test submits, moves the clock, and lets the engine take turns until
// something is so. Waiting is for the engine's own threads only (they wake the fixture), within a
// bound that is generous and ends the test when it is passed. Everything here ends the test when it
// does not work. One thread.
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "engine/engine.h"
#include "fake_clock.h"
#include "temp_dir.h"

#define FIXTURE_FIRST_TOKEN UINT64_C(1000)
#define FIXTURE_CONSUMER "billing/capture"

struct engine_fixture {
    struct temp_dir temp;
    unsigned dir_number;
    char dir[TEMP_DIR_PATH_BYTES_MAX + 16]; // the data directory, within temp
    struct fake_clock clock;
    struct policy policy; // everybody's; may be changed between commands
    struct store_options store_options;
    struct engine_options options;
    struct store *store;     // NULL while closed
    struct engine *engine;   // NULL while closed
    struct boot_ns turn_due; // what the last turn returned
    struct arena answers;    // what answers borrow from
    uint64_t done_count;     // calls answered so far

    pthread_mutex_t mutex; // guards `wakes`
    pthread_cond_t woken;
    uint64_t wakes;
    uint64_t wakes_seen;
};

// Creates the store and opens it. The policy is the default one.
void fixture_init(struct engine_fixture *fixture);
// The same, but nothing is opened yet: for tests that change options or the store first.
void fixture_init_closed(struct engine_fixture *fixture);
// The same on a store that is there already, and stays.
void fixture_init_on(struct engine_fixture *fixture, const char *dir);
void fixture_deinit(struct engine_fixture *fixture);

void fixture_open(struct engine_fixture *fixture);
// Tries to open; what was opened half is closed again.
enum err fixture_try_open(struct engine_fixture *fixture, struct error_detail *detail);
// Drains and stops, as a clean shutdown does.
void fixture_close(struct engine_fixture *fixture);
// A clean restart.
void fixture_reopen(struct engine_fixture *fixture);
// A restart after kill -9: the files as they are at this moment, with no clean stop written.
void fixture_crash(struct engine_fixture *fixture);
// The first half of it: the files as they are at this moment, and nothing opened.
void fixture_crash_closed(struct engine_fixture *fixture);

// Copies the files as they are at this moment to a directory that is not there yet.
void fixture_copy_files(struct engine_fixture *fixture, const char *to);

// One turn of the engine.
void fixture_turn(struct engine_fixture *fixture);
// Turns until `is_so(arg)`, waiting for the engine's threads between.
void fixture_turn_until(struct engine_fixture *fixture, bool (*is_so)(void *arg), void *arg);
// Waits, without a turn, for a thread of the engine to wake it.
void fixture_wait_for_wake(struct engine_fixture *fixture);
// Waits, without a turn, until a thread of the engine has handed in what nobody has taken in yet.
void fixture_wait_for_job(struct engine_fixture *fixture);
// Turns until nothing more can happen before the clock moves or a test acts: every call is answered
// or parked, every group applied, no retention pass under way.
void fixture_settle(struct engine_fixture *fixture);
// Turns until nothing is left at all, threads of prunes and retention included: engine_is_idle.
void fixture_become_idle(struct engine_fixture *fixture);
// Moves the clock and settles.
void fixture_advance(struct engine_fixture *fixture, int64_t ms);

struct store_ms fixture_now(const struct engine_fixture *fixture);
struct engine_stats fixture_stats(const struct engine_fixture *fixture);

// Makes RocksDB write its memtables to files, so that reads have something to miss.
void fixture_flush(struct engine_fixture *fixture);

// Damage on purpose, while the fixture is closed: removes a key, or puts a value in its place.
void fixture_edit_delete(struct engine_fixture *fixture, enum keyspace_family family,
                         struct bytes key);
void fixture_edit_put(struct engine_fixture *fixture, enum keyspace_family family, struct bytes key,
                      struct bytes value);

// Called from any thread as engine_options.wake; for tests that make options of their own.
void fixture_wake(void *self);
