// Finished operations into replies.
//
// In two steps: one of the functions builds the reply, whose size is then known, and
// rpc_encode_pack writes it into memory of that size. Neither can fail: when a change is on disk
// there is no way left to say no, so the message is built in the reply itself and not on a heap.
// Byte views are borrowed from the operation until it is packed. Thread-safe, having no state.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/prune.h"

struct ProtobufCMessage;

#define RPC_REPLY_SCRATCH_BYTES 4096

// Needs no initialisation: 4 KiB of stack or of a call object.
struct rpc_reply {
    const struct ProtobufCMessage *message; // inside scratch
    size_t len;                             // packed
    size_t scratch_used;
    _Alignas(16) uint8_t scratch[RPC_REPLY_SCRATCH_BYTES];
};

// The answer of an operation that ended with ERR_OK. A result whose bytes were not loaded is marked
// result_omitted; a checkpoint of a Begin, and bodies of a Get with include_bodies, must be loaded.
typedef void rpc_encode_fn(const struct engine_op *op, struct rpc_reply *reply);

rpc_encode_fn rpc_encode_begin;
rpc_encode_fn rpc_encode_complete;
rpc_encode_fn rpc_encode_reject;
rpc_encode_fn rpc_encode_fail;
rpc_encode_fn rpc_encode_renew;
rpc_encode_fn rpc_encode_release;
rpc_encode_fn rpc_encode_register;
rpc_encode_fn rpc_encode_cancel;
rpc_encode_fn rpc_encode_resolve;
rpc_encode_fn rpc_encode_get_claim;

// One message of the stream that Prune answers with.
void rpc_encode_prune(const struct prune_progress *progress, struct rpc_reply *reply);

// What GetStatus tells besides the engine's numbers.
struct rpc_server_info {
    const char *version;
    struct wall_ms started_at;
    bool durability_relaxed;
    const struct policy *policy; // everybody's
};
void rpc_encode_get_status(const struct rpc_server_info *info, const struct engine_stats *stats,
                           struct rpc_reply *reply);

// Writes exactly reply->len bytes.
void rpc_encode_pack(const struct rpc_reply *reply, uint8_t *out);
