// The stored form of a group: a framed list of puts and deletes, the unit of commit and apply.
//
//   frame = magic u32 | version u16 | reserved u16 | op count u32 | body length u32 | crc32c u32
//           | body
//   op    = family u8 | kind u8 (1 put, 2 delete) | key length u16 | value length u32 | key | value
// The checksum covers everything but itself. Pure; allocates only through struct buf.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "codec/keyspace.h"

// --- writing ------------------------------------------------------------------------------------

// Starts a frame in an empty buffer.
void effect_begin(struct buf *frame);
// Appends one change. CHECKs that the key is 1 to 65,535 bytes long.
void effect_put(struct buf *frame, enum keyspace_family family, struct bytes key,
                struct bytes value);
void effect_delete(struct buf *frame, enum keyspace_family family, struct bytes key);
// Fills in counts and checksum. CHECKs that as many ops were appended. A memory failure anywhere
// shows in frame->failed.
void effect_end(struct buf *frame, uint32_t op_count);

// --- reading ------------------------------------------------------------------------------------

struct effect_op {
    enum keyspace_family family;
    bool is_put;
    struct bytes key;
    struct bytes value; // empty for a delete
};

struct effect_reader {
    struct reader body;
    uint32_t op_count;
    uint32_t op_read;
};

// Checks magic, version, lengths, checksum and the structure of every op before anything is used:
// a malformed group handed to RocksDB would damage the store. ERR_CORRUPT otherwise.
MUST_CHECK enum err effect_open(struct bytes frame, struct effect_reader *out);
// The next op; false at the end. Views borrow from the frame.
bool effect_next(struct effect_reader *reader, struct effect_op *out);
