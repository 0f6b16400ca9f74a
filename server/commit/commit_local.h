// Commit on one node: a writer thread, and the engine thread itself for lone small groups.
//
// A small group is written by the thread that submits it: waking the writer and being woken again
// would cost more than the overlap saves (docs/decisions/0003).
#pragma once

#include "commit/commit.h"

// Starts the writer thread. inline_ops_max: groups of at most this many operations are written by
// the submitting thread. ERR_NO_MEMORY, ERR_IO (no thread).
MUST_CHECK enum err commit_local_create(const struct commit_sink *sink, uint32_t inline_ops_max,
                                        struct commit **out_commit);
