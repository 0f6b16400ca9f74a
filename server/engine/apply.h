// Apply: one committed group becomes one atomic batch of the store, with its position in it.
//
// The frame is checked whole before the first byte reaches RocksDB, which writes a batch to its log
// before it parses it. A position that is already applied is skipped: applying twice is harmless.
#pragma once

#include "base/bytes.h"
#include "store/store.h"

struct apply {
    struct store *store;
    struct store_batch *batch;
    struct buf head; // scratch
    uint64_t term;
};

MUST_CHECK enum err apply_init(struct apply *apply, struct store *store);
void apply_deinit(struct apply *apply);

// ERR_CORRUPT (nothing was written), ERR_IO (unknown what was), ERR_NO_MEMORY. One call at a time.
MUST_CHECK enum err apply_group(struct apply *apply, uint64_t position, struct bytes frame);
