// A bump allocator for one call: many small allocations, freed together.
//
// Not thread-safe. Holds one first block that survives a reset, and overflow blocks that do not.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct arena_block;

struct arena {
    struct arena_block *first;
    struct arena_block *last;
};

// Zero-initialised is valid and empty. Frees everything; the arena is usable afterwards.
void arena_deinit(struct arena *arena);

// Forgets all allocations; keeps the first block.
void arena_reset(struct arena *arena);

// 16-byte aligned memory that lives until reset or deinit; NULL without memory.
MUST_CHECK void *arena_alloc(struct arena *arena, size_t len);

// Copies bytes into the arena. ERR_NO_MEMORY leaves *out alone.
MUST_CHECK enum err arena_copy(struct arena *arena, struct bytes bytes, struct bytes *out);
