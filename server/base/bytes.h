// Byte views, growable buffers, and bounded little-endian reading and writing.
//
// struct bytes borrows; struct buf owns. Nothing here knows what the bytes mean. Not thread-safe:
// one object, one thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Borrowed bytes. data may be NULL only if len is 0.
struct bytes {
    const uint8_t *data;
    size_t len;
};

// A view of a C string without its NUL.
struct bytes bytes_of(const char *text);

bool bytes_equal(struct bytes a, struct bytes b);

// True if the bytes are UTF-8 by Unicode 15 table 3-7 (no surrogates, no overlong forms). NUL is
// valid UTF-8; callers that forbid it say so with bytes_has_control.
bool bytes_is_utf8(struct bytes text);

// True if a C0 control character (NUL included) or DEL occurs.
bool bytes_has_control(struct bytes text);

// The longest prefix of valid UTF-8 text that is at most max bytes and ends at a character.
struct bytes bytes_cut_utf8(struct bytes text, size_t max);

// An owned, growable buffer. Zero-initialised is empty and valid. A failed allocation sets
// `failed`, later writes do nothing, and the owner checks once at the end.
struct buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    bool failed;
};

// Frees the memory; the buffer is empty and usable afterwards.
void buf_deinit(struct buf *buf);

// Empties the buffer and forgets a failure; keeps up to keep_max bytes of capacity.
void buf_reset(struct buf *buf, size_t keep_max);

// Makes room for more bytes; false (and failed set) without memory.
bool buf_reserve(struct buf *buf, size_t more);

void buf_put(struct buf *buf, const void *data, size_t len);
void buf_put_u8(struct buf *buf, uint8_t value);
void buf_put_u16(struct buf *buf, uint16_t value);
void buf_put_u32(struct buf *buf, uint32_t value);
void buf_put_u32_be(struct buf *buf, uint32_t value); // keys only: sorts as the number does
void buf_put_u64(struct buf *buf, uint64_t value);
void buf_put_i64(struct buf *buf, int64_t value);

// Overwrites four bytes at an offset inside the buffer.
void buf_set_u32(struct buf *buf, size_t offset, uint32_t value);

// The content; valid until the next change.
struct bytes buf_bytes(const struct buf *buf);

// A bounded reader. Reading past the end sets `failed`, yields zeros, and stays failed.
struct reader {
    const uint8_t *data;
    size_t len;
    size_t pos;
    bool failed;
};

struct reader reader_init(struct bytes bytes);
uint8_t reader_u8(struct reader *reader);
uint16_t reader_u16(struct reader *reader);
uint32_t reader_u32(struct reader *reader);
uint32_t reader_u32_be(struct reader *reader);
uint64_t reader_u64(struct reader *reader);
int64_t reader_i64(struct reader *reader);

// A view of the next len bytes of the input.
struct bytes reader_bytes(struct reader *reader, size_t len);

// True if nothing failed and everything was read.
bool reader_is_done(const struct reader *reader);
