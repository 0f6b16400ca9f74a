// Requests into operations: unpacks wire bytes and validates everything that can be said of a
// request without looking at the claim.
//
// Views in what is filled in point into the arena, never into the wire bytes, which may be freed at
// once. Everything returns ERR_OK; ERR_INVALID_ARGUMENT with *out_fault naming the field and the
// limit; or ERR_NO_MEMORY. After an error what was filled in is not to be used. A field that the
// server does not know, at any depth, is an invalid argument. Thread-safe, having no state.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "engine/engine.h"
#include "engine/prune.h"
#include "rpc/rpc_status.h"

// Fills in consumer and message ID, command, wait, replay and include_bodies of *op, and nothing
// else: the tenant is the caller's, from the credentials.
typedef enum err rpc_decode_fn(struct bytes wire, struct arena *arena, struct engine_op *op,
                               struct rpc_fault *out_fault);

MUST_CHECK rpc_decode_fn rpc_decode_begin;
MUST_CHECK rpc_decode_fn rpc_decode_complete;
MUST_CHECK rpc_decode_fn rpc_decode_reject;
MUST_CHECK rpc_decode_fn rpc_decode_fail;
MUST_CHECK rpc_decode_fn rpc_decode_renew;
MUST_CHECK rpc_decode_fn rpc_decode_release;
MUST_CHECK rpc_decode_fn rpc_decode_register;
MUST_CHECK rpc_decode_fn rpc_decode_cancel;
MUST_CHECK rpc_decode_fn rpc_decode_resolve;
MUST_CHECK rpc_decode_fn rpc_decode_get_claim;

// Fills in consumer, before, dry_run and force.
MUST_CHECK enum err rpc_decode_prune(struct bytes wire, struct arena *arena,
                                     struct prune_request *request, struct rpc_fault *out_fault);

// GetStatusRequest has no fields yet; this refuses any.
MUST_CHECK enum err rpc_decode_get_status(struct bytes wire, struct arena *arena,
                                          struct rpc_fault *out_fault);
