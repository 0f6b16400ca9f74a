// Scope cleanup: three macros, no more.
//
//   SCOPE_BUF struct buf key = {0};      freed at the end of the scope
//   return TAKE(pointer);                ownership leaves the scope
#pragma once

#include <stddef.h>

#include "base/bytes.h"
#include "base/mem.h"

static inline void scope_free(void *slot) { mem_free(*(void **)slot); }

#define SCOPE_FREE __attribute__((cleanup(scope_free)))
#define SCOPE_BUF __attribute__((cleanup(buf_deinit)))

// The value, leaving NULL behind, so that cleanup has nothing to do.
#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })
