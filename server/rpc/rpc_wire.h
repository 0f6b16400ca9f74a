// Bytes from the network into protobuf-c messages, safely.
//
// protobuf-c alone would allocate for every field of a hostile message before anybody could refuse
// it, recurse as deep as the message nests, and keep fields that it does not know in silence. So
// the bytes are walked first, without allocating, and only what is known and bounded is unpacked.
// Thread-safe, having no state.
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "rpc/rpc_status.h"

// Fields in one request, those of nested messages included. The largest request has 17; an encoder
// may repeat a field (the last one counts), but has no reason to do so often.
#define RPC_WIRE_FIELDS_MAX 64
// Messages within messages. The deepest request has a Duration.
#define RPC_WIRE_DEPTH_MAX 4

// Unpacks into the arena; views in the message point there, not into wire. ERR_INVALID_ARGUMENT
// with *out_fault if the bytes are no such message, break a bound or hold a field that the
// descriptor does not know; ERR_NO_MEMORY.
MUST_CHECK enum err rpc_wire_unpack(const ProtobufCMessageDescriptor *descriptor, struct bytes wire,
                                    struct arena *arena, ProtobufCMessage **out_message,
                                    struct rpc_fault *out_fault);
