// The parts that replies are made of, and the memory that they are made in.
//
// For the rpc_encode files only. Parts live in the reply's scratch; byte views are borrowed from
// the operation. Times are clamped to what the well-known types can say.
#pragma once

#include <stdbool.h>

#include "claimd/v1/claims.pb-c.h"
#include "rpc/rpc_encode.h"

// --- memory --------------------------------------------------------------------------------------

void rpc_reply_start(struct rpc_reply *reply);
// CHECKs that it fits: what a reply can consist of is bounded.
void *rpc_reply_alloc(struct rpc_reply *reply, size_t len);
// An initialised message.
void *rpc_reply_message(struct rpc_reply *reply, const ProtobufCMessageDescriptor *descriptor);
void rpc_reply_finish(struct rpc_reply *reply, const ProtobufCMessage *message);

// --- parts ---------------------------------------------------------------------------------------

ProtobufCBinaryData rpc_reply_bytes(struct bytes bytes);
Google__Protobuf__Timestamp *rpc_reply_time(struct rpc_reply *reply, struct wall_ms at);
// A deadline as wall time, at the moment of the operation.
Google__Protobuf__Timestamp *rpc_reply_deadline(struct rpc_reply *reply, const struct engine_op *op,
                                                struct store_ms at);
// At least min_ms, which is not negative.
Google__Protobuf__Duration *rpc_reply_duration(struct rpc_reply *reply, int64_t ms, int64_t min_ms);
// What is left until a deadline; at least min_ms.
Google__Protobuf__Duration *rpc_reply_remaining(struct rpc_reply *reply, const struct engine_op *op,
                                                struct store_ms at, int64_t min_ms);
// NULL unless an attempt holds a lease, live or lapsed.
Claimd__V1__Lease *rpc_reply_lease(struct rpc_reply *reply, const struct engine_op *op);
// NULL if there is no error.
Claimd__V1__ClaimError *rpc_reply_error(struct rpc_reply *reply, const struct claim_error *from);
ProtobufCBinaryData rpc_reply_effect_key(struct rpc_reply *reply, const struct engine_op *op);
// When the record became final: its last transition, as wall time. NULL if it is not.
Google__Protobuf__Timestamp *rpc_reply_complete_time(struct rpc_reply *reply,
                                                     const struct engine_op *op);
// NULL if it is not removed by time.
Google__Protobuf__Timestamp *rpc_reply_expire_time(struct rpc_reply *reply,
                                                   const struct engine_op *op);
// The state of a record that the operation left. CHECKs that there is one, and no error.
Claimd__V1__ClaimState rpc_reply_state(const struct engine_op *op);
// True if there are bytes to send. CHECKs that they were loaded: a client that repeats an effect
// without the checkpoint would never know that there was one.
bool rpc_reply_has_body(const struct claim_body *body);
