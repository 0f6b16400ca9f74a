// The allocation seam: every allocation of the server's own code goes through here, so that tests
// can let the n-th one fail.
//
// Thread-safe. The fault hook is for tests: set it before threads start.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// NULL without memory; len 0 yields a unique pointer.
MUST_CHECK void *mem_alloc(size_t len);
// The same, zeroed.
MUST_CHECK void *mem_zalloc(size_t len);
// As realloc; on failure the old block stays valid.
MUST_CHECK void *mem_realloc(void *block, size_t len);
// NULL is fine.
void mem_free(void *block);

// Called before each allocation; true makes it fail. NULL (the default) never fails.
void mem_set_fault_hook(bool (*hook)(void));
