#include "rpc/rpc_wire.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

// --- the walk ------------------------------------------------------------------------------------

#define WIRE_TEXT_(value) #value
#define WIRE_TEXT(value) WIRE_TEXT_(value)
#define WIRE_VARINT_BYTES_MAX 10
#define WIRE_FIELD_NUMBER_MAX ((1u << 29) - 1)

// A message that the walk is inside of.
struct wire_level {
    const ProtobufCMessageDescriptor *descriptor;
    size_t end;             // offset just past its bytes
    const char *field_name; // that it is the value of; NULL for the request itself
    uint64_t entered;       // bits of the fields of message type that occurred, by index
};

struct wire_walk {
    struct reader reader;
    struct wire_level levels[RPC_WIRE_DEPTH_MAX];
    size_t depth; // levels in use
    size_t field_count;
    struct rpc_fault *fault;
};

static bool wire_malformed(struct wire_walk *walk) {
    rpc_fault_set(walk->fault, "request", NULL,
                  "the request is not a well-formed protobuf message (near byte %zu)",
                  walk->reader.pos);
    return false;
}

// Names a field with the fields that it is within: "lease.7".
static void wire_path(const struct wire_walk *walk, const char *name, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 1; i < walk->depth && used < size; i++) {
        int written = snprintf(out + used, size - used, "%s.", walk->levels[i].field_name);
        CHECK(written >= 0);
        used += (size_t)written;
    }
    if (used < size) (void)snprintf(out + used, size - used, "%s", name);
}

static bool wire_varint(struct wire_walk *walk, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned i = 0; i < WIRE_VARINT_BYTES_MAX; i++) {
        uint8_t byte = reader_u8(&walk->reader);
        // A number that runs over the end of its message is cut off there, as one at the very end.
        bool ends = walk->reader.failed || walk->reader.pos > walk->levels[walk->depth - 1].end;
        if (ends) return wire_malformed(walk);
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if ((byte & 0x80) == 0) {
            *out = value;
            return true;
        }
    }
    return wire_malformed(walk);
}

static bool wire_skip(struct wire_walk *walk, uint64_t len) {
    size_t left = walk->levels[walk->depth - 1].end - walk->reader.pos;
    if (len > left) return wire_malformed(walk);
    (void)reader_bytes(&walk->reader, (size_t)len);
    return true;
}

// How a value of each type is encoded. A repeated number would be packed: none of our requests has
// one, and it would need a bound of its own.
static const ProtobufCWireType wire_types[] = {
    [PROTOBUF_C_TYPE_INT32] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_SINT32] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_SFIXED32] = PROTOBUF_C_WIRE_TYPE_32BIT,
    [PROTOBUF_C_TYPE_INT64] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_SINT64] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_SFIXED64] = PROTOBUF_C_WIRE_TYPE_64BIT,
    [PROTOBUF_C_TYPE_UINT32] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_FIXED32] = PROTOBUF_C_WIRE_TYPE_32BIT,
    [PROTOBUF_C_TYPE_UINT64] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_FIXED64] = PROTOBUF_C_WIRE_TYPE_64BIT,
    [PROTOBUF_C_TYPE_FLOAT] = PROTOBUF_C_WIRE_TYPE_32BIT,
    [PROTOBUF_C_TYPE_DOUBLE] = PROTOBUF_C_WIRE_TYPE_64BIT,
    [PROTOBUF_C_TYPE_BOOL] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_ENUM] = PROTOBUF_C_WIRE_TYPE_VARINT,
    [PROTOBUF_C_TYPE_STRING] = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
    [PROTOBUF_C_TYPE_BYTES] = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
    [PROTOBUF_C_TYPE_MESSAGE] = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
};

static bool wire_unknown(struct wire_walk *walk, uint64_t number) {
    char name[24];
    char path[sizeof walk->fault->field];
    (void)snprintf(name, sizeof name, "%" PRIu64, number);
    wire_path(walk, name, path, sizeof path);
    rpc_fault_set(walk->fault, path, NULL,
                  "field number %s is not known to this server; leave it out or upgrade the server",
                  path);
    return false;
}

// Protobuf merges a message field that occurs again with the first. protobuf-c drops the numbers of
// the first instead, so that a Duration would silently be another one. No encoder writes that.
static bool wire_repeated(struct wire_walk *walk, const char *name) {
    char path[sizeof walk->fault->field];
    wire_path(walk, name, path, sizeof path);
    rpc_fault_set(walk->fault, path, "once", "%s is given more than once", path);
    return false;
}

static bool wire_mistyped(struct wire_walk *walk, const char *name) {
    char path[sizeof walk->fault->field];
    wire_path(walk, name, path, sizeof path);
    rpc_fault_set(walk->fault, path, NULL, "%s is not encoded as its type in the proto", path);
    return false;
}

// Goes into the message that is the value of a field.
static bool wire_enter(struct wire_walk *walk, const ProtobufCFieldDescriptor *field,
                       uint64_t len) {
    if (len > walk->levels[walk->depth - 1].end - walk->reader.pos) return wire_malformed(walk);
    struct wire_level *outer = &walk->levels[walk->depth - 1];
    size_t index = (size_t)(field - outer->descriptor->fields);
    CHECK(index < 64);
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        if ((outer->entered >> index & 1) != 0) return wire_repeated(walk, field->name);
        outer->entered |= UINT64_C(1) << index;
    }
    if (walk->depth == RPC_WIRE_DEPTH_MAX) {
        rpc_fault_set(walk->fault, "request", WIRE_TEXT(RPC_WIRE_DEPTH_MAX) " levels",
                      "the request nests messages deeper than %d levels", RPC_WIRE_DEPTH_MAX);
        return false;
    }
    walk->levels[walk->depth] = (struct wire_level){
        .descriptor = field->descriptor,
        .end = walk->reader.pos + (size_t)len,
        .field_name = field->name,
    };
    walk->depth++;
    return true;
}

// Checks one field and its value, or goes into it.
static bool wire_field(struct wire_walk *walk) {
    uint64_t tag = 0;
    if (!wire_varint(walk, &tag)) return false;
    uint64_t number = tag >> 3;
    unsigned type = (unsigned)(tag & 7);
    if (number == 0 || number > WIRE_FIELD_NUMBER_MAX) return wire_malformed(walk);
    if (++walk->field_count > RPC_WIRE_FIELDS_MAX) {
        rpc_fault_set(walk->fault, "request", WIRE_TEXT(RPC_WIRE_FIELDS_MAX) " fields",
                      "the request has more than %d fields", RPC_WIRE_FIELDS_MAX);
        return false;
    }
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
        walk->levels[walk->depth - 1].descriptor, (unsigned)number);
    if (field == NULL) return wire_unknown(walk, number);
    if (type != (unsigned)wire_types[field->type]) return wire_mistyped(walk, field->name);

    uint64_t value = 0;
    switch (wire_types[field->type]) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return wire_varint(walk, &value);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        return wire_skip(walk, 8);
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        return wire_skip(walk, 4);
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        if (!wire_varint(walk, &value)) return false;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) return wire_enter(walk, field, value);
        return wire_skip(walk, value);
    }
    return wire_malformed(walk);
}

static bool wire_check(const ProtobufCMessageDescriptor *descriptor, struct bytes wire,
                       struct rpc_fault *fault) {
    struct wire_walk walk = {
        .reader = reader_init(wire),
        .levels = {{.descriptor = descriptor, .end = wire.len}},
        .depth = 1,
        .fault = fault,
    };
    if (wire.len > LIMIT_REQUEST_BYTES_MAX) {
        rpc_fault_set(fault, "request", "4 MiB", "the request is %zu bytes, more than 4 MiB",
                      wire.len);
        return false;
    }
    while (walk.depth > 0) {
        if (walk.reader.pos == walk.levels[walk.depth - 1].end) {
            walk.depth--;
        } else if (!wire_field(&walk)) {
            return false;
        }
    }
    CHECK(reader_is_done(&walk.reader));
    return true;
}

// --- unpacking -----------------------------------------------------------------------------------

struct wire_allocator {
    struct arena *arena;
    bool failed;
};

static void *wire_alloc(void *self, size_t len) {
    struct wire_allocator *allocator = self;
    void *memory = arena_alloc(allocator->arena, len);
    if (memory == NULL) allocator->failed = true;
    return memory;
}

// The arena frees everything at once.
static void wire_free(void *self, void *memory) {
    (void)self;
    (void)memory;
}

enum err rpc_wire_unpack(const ProtobufCMessageDescriptor *descriptor, struct bytes wire,
                         struct arena *arena, ProtobufCMessage **out_message,
                         struct rpc_fault *out_fault) {
    if (!wire_check(descriptor, wire, out_fault)) return ERR_INVALID_ARGUMENT;
    struct wire_allocator state = {.arena = arena};
    ProtobufCAllocator allocator = {wire_alloc, wire_free, &state};
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, &allocator, wire.len, wire.data);
    if (message == NULL && state.failed) return ERR_NO_MEMORY;
    if (message == NULL) {
        // The walk is the stricter of the two but for encodings that nobody writes, such as a
        // field number padded to six bytes.
        rpc_fault_set(out_fault, "request", NULL,
                      "the request is not a well-formed protobuf message");
        return ERR_INVALID_ARGUMENT;
    }
    *out_message = message;
    return ERR_OK;
}
