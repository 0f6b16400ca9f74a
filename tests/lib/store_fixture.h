// A store in a directory of its own, and the few calls that tests of stored state repeat.
//
// Everything here ends the test (a failed ck_assert) when it does not work. One thread.
#pragma once

#include "store/store.h"
#include "temp_dir.h"

#define STORE_FIXTURE_FIRST_TOKEN 1000

struct store_fixture {
    struct temp_dir temp;
    char dir[TEMP_DIR_PATH_BYTES_MAX + 8]; // the data directory, within temp
    struct store_options options;
    struct store *store; // NULL while closed
    struct store_batch *batch;
};

// A directory on a disk, and the default options; no store yet.
void store_fixture_init(struct store_fixture *fixture);
// Closes the store if it is open and removes the directory.
void store_fixture_deinit(struct store_fixture *fixture);

void store_fixture_create(struct store_fixture *fixture);
void store_fixture_open(struct store_fixture *fixture);
void store_fixture_close(struct store_fixture *fixture);
// Tries to open; the store stays closed unless the answer is ERR_OK.
enum err store_fixture_try_open(struct store_fixture *fixture, struct error_detail *detail);

// Adds to the batch of the next group.
void store_fixture_put(struct store_fixture *fixture, enum keyspace_family family, const char *key,
                       const char *value);
void store_fixture_delete(struct store_fixture *fixture, enum keyspace_family family,
                          const char *key);
// Writes the batch with its head row as the next group, and returns the position.
uint64_t store_fixture_commit(struct store_fixture *fixture);

// Asserts that the key has this value; NULL: that there is none. From files, if need be.
void store_fixture_expect(struct store_fixture *fixture, enum keyspace_family family,
                          const char *key, const char *value);

// The path of a file or directory within the data directory; good for a few calls.
const char *store_fixture_path(const struct store_fixture *fixture, const char *name);
