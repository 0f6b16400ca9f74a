// What the files of the store share: its innards, and one pair of open and close of RocksDB.
#pragma once

#include <stdatomic.h>

#include <rocksdb/c.h>

#include "store/high_water.h"
#include "store/rocks_options.h"
#include "store/store.h"
#include "store/store_io.h"

// RocksDB with its families. Every handle is destroyed before the database: this library aborts
// otherwise.
struct store_rocks {
    rocksdb_t *database;
    rocksdb_column_family_handle_t *family[ROCKS_FAMILIES];
};

struct store {
    struct store_rocks rocks;
    // Made once: reads are on the path of every command.
    rocksdb_readoptions_t *read_cached;
    rocksdb_readoptions_t *read_any;
    rocksdb_writeoptions_t *write_options;
    struct high_water mark;
    int lock_fd;
    bool relaxed;
    _Atomic bool failed; // a write failed: nothing is written any more
    _Atomic uint64_t position;
    char dir[STORE_IO_PATH_BYTES_MAX];
};

struct store_batch {
    rocksdb_writebatch_t *rows;
};

// On failure detail has RocksDB's text, prefixed with the path.
MUST_CHECK enum err store_rocks_open(const char *path, const struct store_options *options,
                                     bool create, struct store_rocks *out,
                                     struct error_detail *detail);
// The size of the logs, which is at most what opening writes into tables.
uint64_t store_rocks_log_bytes(const char *path);
// Zeroed is fine.
void store_rocks_close(struct store_rocks *rocks);

static inline rocksdb_column_family_handle_t *store_family(const struct store *store,
                                                           enum keyspace_family family) {
    return store->rocks.family[ROCKS_FAMILY_INDEX(family)];
}

static inline const char *store_chars(struct bytes bytes) {
    return bytes.len == 0 ? "" : (const char *)bytes.data;
}
