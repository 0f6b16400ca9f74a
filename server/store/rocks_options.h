// How RocksDB is set up: every tuning decision of the store, in one place.
//
// Measurements behind the numbers: docs/decisions. Used while opening and creating only.
#pragma once

#include <rocksdb/c.h>

#include "codec/keyspace.h"
#include "store/store.h"

// RocksDB insists on a family of its own, first and always empty; then ours, in keyspace order.
#define ROCKS_FAMILIES (KEYSPACE_FAMILIES + 1)
#define ROCKS_FAMILY_INDEX(family) ((size_t)(family) + 1)

struct rocks_options {
    rocksdb_options_t *database;
    rocksdb_options_t *family[ROCKS_FAMILIES];
};

extern const char *const rocks_family_names[ROCKS_FAMILIES];

// create: make the database, which must not exist; else it must exist.
void rocks_options_init(const struct store_options *options, bool create,
                        struct rocks_options *out);
void rocks_options_deinit(struct rocks_options *options);
