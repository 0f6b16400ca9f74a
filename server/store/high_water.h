// The high-water mark: the position of the last acknowledged group, kept outside RocksDB.
//
// RocksDB opens a log that ends too early as if nothing were missing. The mark notices: it is
// written (unsynced) after each group is on disk, and synced about once a second. It is never ahead
// of the store. It notices every loss after a process crash, and after a power cut what was lost up
// to the last sync of the mark; it cannot notice a loss of both. One writer; sync from any thread.
#pragma once

#include <stdint.h>

#include "base/error.h"

struct high_water {
    int fd;
};

MUST_CHECK enum err high_water_create(const char *path, uint64_t position);
// Opens and reads; ERR_NOT_FOUND, ERR_CORRUPT, ERR_IO.
MUST_CHECK enum err high_water_open(const char *path, struct high_water *out,
                                    uint64_t *out_position);
void high_water_close(struct high_water *mark);
MUST_CHECK enum err high_water_write(struct high_water *mark, uint64_t position);
MUST_CHECK enum err high_water_sync(struct high_water *mark);
