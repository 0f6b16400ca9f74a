// The RocksDB store of one node: opened once, read from any thread, written by one at a time.
//
// Owns the data directory:
//   DIR/claimd.store   what this directory is: written last by store_create, checked by store_open
//   DIR/db/            RocksDB
//   DIR/position       the high-water mark (high_water.h)
// It never creates a store by opening one, never retries a failed write, and knows nothing of
// claims beyond the families' names. Errors from RocksDB are logged here (they are texts) and
// returned as ERR_IO or ERR_CORRUPT; a failed write is for the caller to treat as fatal.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "codec/keyspace.h"

struct store;

struct store_options {
    size_t cache_bytes;        // block cache, index and filters included
    size_t write_buffer_bytes; // one memtable of the open and done families
    bool relaxed;              // do not sync: a reply may come before the change is on disk
};
struct store_options store_options_default(void);

// Creates an empty store in dir (made if absent, mode 0700; must be empty). initial_token is what
// the token counter starts at. Errors: ERR_EXISTS (there is a store), ERR_INVALID_ARGUMENT (dir
// holds other files), ERR_IO; detail says what and how to mend it. A crash half-way leaves a
// directory that store_open refuses, naming the remedy.
MUST_CHECK enum err store_create(const char *dir, uint64_t initial_token,
                                 struct error_detail *detail);

// Opens the store. Errors: ERR_NOT_FOUND (no store: names `claimd init`), ERR_LOCKED (another
// process has it), ERR_CORRUPT (damaged, or it ends before the high-water mark: acknowledged groups
// are missing), ERR_IO; detail names the file and the remedy.
MUST_CHECK enum err store_open(const char *dir, const struct store_options *options,
                               struct store **out_store, struct error_detail *detail);

// Closes it; flushes nothing that was not committed. NULL is fine. All scans must be closed before.
void store_close(struct store *store);

enum store_tier {
    STORE_CACHE_ONLY, // ERR_WOULD_BLOCK instead of reading from a file
    STORE_MAY_READ,
};

// Appends the value to out. ERR_NOT_FOUND; ERR_WOULD_BLOCK; ERR_CORRUPT; ERR_IO; ERR_NO_MEMORY.
// Thread-safe.
MUST_CHECK enum err store_get(struct store *store, enum keyspace_family family, struct bytes key,
                              enum store_tier tier, struct buf *out);

// One atomic write. Not thread-safe; reused by its owner.
struct store_batch;
MUST_CHECK struct store_batch *store_batch_create(void);
void store_batch_destroy(struct store_batch *batch); // NULL is fine
void store_batch_clear(struct store_batch *batch);
void store_batch_put(struct store_batch *batch, struct store *store, enum keyspace_family family,
                     struct bytes key, struct bytes value);
void store_batch_delete(struct store_batch *batch, struct store *store, enum keyspace_family family,
                        struct bytes key);

// Writes the batch and syncs it, then notes position in the high-water mark; relaxed, both are left
// to store_sync_high_water. Any error is fatal: what is on disk is then unknown and this process
// must not go on; later writes are refused. One thread at a time.
MUST_CHECK enum err store_write(struct store *store, struct store_batch *batch, uint64_t position);

// Reads of the last position noted by store_write; any thread.
uint64_t store_position(const struct store *store);

// Flushes the high-water mark to disk; called about once a second by a background thread. Relaxed,
// it syncs the log before, so that this is how much a power cut can take. An error is fatal.
MUST_CHECK enum err store_sync_high_water(struct store *store);

// Bytes free to this process on the store's file system. ERR_IO.
MUST_CHECK enum err store_disk_free(const struct store *store, uint64_t *out_bytes);

// Rewrites a family so that space of deleted records comes back. Slow; any background thread.
void store_compact(struct store *store, enum keyspace_family family);
// At a stop: compactions that run end soon, with what they have not come to left as it is, and new
// ones do nothing.
void store_compact_stop(struct store *store);
