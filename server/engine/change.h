// A decision as store changes: which family, which bodies, which old ones go.
//
// Pure but for the buffers it grows.
#pragma once

#include "base/bytes.h"
#include "core/claim.h"

// Appends to the frame what turns `stored` (NULL: none) under claim_key into `after` (NULL:
// removed). scratch is the caller's, for reuse. Returns the number of ops; a memory failure shows
// in frame->failed.
uint32_t change_put(struct buf *frame, struct buf *scratch, struct bytes claim_key,
                    const struct claim_record *stored, const struct claim_record *after);
