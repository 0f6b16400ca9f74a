#include "codec/effect_codec.h"

#include <stdint.h>

#include "base/check.h"
#include "codec/crc32c.h"

#define EFFECT_MAGIC UINT32_C(0x31464C43) // "CLF1" as bytes
#define EFFECT_VERSION 1

// Where the parts of a frame's head are.
#define EFFECT_MAGIC_AT 0
#define EFFECT_VERSION_AT (EFFECT_MAGIC_AT + 4)
#define EFFECT_RESERVED_AT (EFFECT_VERSION_AT + 2)
#define EFFECT_COUNT_AT (EFFECT_RESERVED_AT + 2)
#define EFFECT_BODY_LEN_AT (EFFECT_COUNT_AT + 4)
#define EFFECT_CRC_AT (EFFECT_BODY_LEN_AT + 4)
#define EFFECT_HEAD_BYTES (EFFECT_CRC_AT + 4)

#define EFFECT_KIND_PUT 1
#define EFFECT_KIND_DELETE 2

_Static_assert(EFFECT_HEAD_BYTES == 20, "stored");
_Static_assert(KEYSPACE_OPEN == 0 && KEYSPACE_DONE == 1 && KEYSPACE_BLOB == 2, "stored");
_Static_assert(KEYSPACE_GUARD == 3 && KEYSPACE_AUDIT == 4 && KEYSPACE_META == 5, "stored");
_Static_assert(KEYSPACE_FAMILIES == KEYSPACE_META + 1, "a new family is a new version");

// The checksum of a frame: of all but itself.
static uint32_t effect_checksum(struct bytes frame) {
    uint32_t crc = crc32c(0, (struct bytes){frame.data, EFFECT_CRC_AT});
    return crc32c(crc,
                  (struct bytes){frame.data + EFFECT_HEAD_BYTES, frame.len - EFFECT_HEAD_BYTES});
}

void effect_begin(struct buf *frame) {
    CHECK(frame->len == 0);
    buf_put_u32(frame, EFFECT_MAGIC);
    buf_put_u16(frame, EFFECT_VERSION);
    buf_put_u16(frame, 0);
    buf_put_u32(frame, 0);
    buf_put_u32(frame, 0);
    buf_put_u32(frame, 0);
}

static void effect_put_op(struct buf *frame, const struct effect_op *op) {
    CHECK(op->key.len >= 1);
    CHECK(op->key.len <= UINT16_MAX);
    CHECK(op->value.len <= UINT32_MAX);
    CHECK(op->family < KEYSPACE_FAMILIES);
    buf_put_u8(frame, (uint8_t)op->family);
    buf_put_u8(frame, op->is_put ? EFFECT_KIND_PUT : EFFECT_KIND_DELETE);
    buf_put_u16(frame, (uint16_t)op->key.len);
    buf_put_u32(frame, (uint32_t)op->value.len);
    buf_put(frame, op->key.data, op->key.len);
    buf_put(frame, op->value.data, op->value.len);
}

void effect_put(struct buf *frame, enum keyspace_family family, struct bytes key,
                struct bytes value) {
    struct effect_op op = {.family = family, .is_put = true, .key = key, .value = value};
    effect_put_op(frame, &op);
}

void effect_delete(struct buf *frame, enum keyspace_family family, struct bytes key) {
    struct effect_op op = {.family = family, .is_put = false, .key = key};
    effect_put_op(frame, &op);
}

// Reads one op; false if there is none that may be used.
static bool effect_parse_op(struct reader *body, struct effect_op *out) {
    uint8_t family = reader_u8(body);
    uint8_t kind = reader_u8(body);
    uint16_t key_len = reader_u16(body);
    uint32_t value_len = reader_u32(body);
    out->key = reader_bytes(body, key_len);
    out->value = reader_bytes(body, value_len);
    if (body->failed || family >= KEYSPACE_FAMILIES || key_len == 0) return false;
    if (kind == EFFECT_KIND_DELETE && value_len != 0) return false;
    if (kind != EFFECT_KIND_DELETE && kind != EFFECT_KIND_PUT) return false;
    out->family = (enum keyspace_family)family;
    out->is_put = kind == EFFECT_KIND_PUT;
    return true;
}

// True if the body is exactly op_count ops, each well formed.
static bool effect_body_is_sound(struct bytes body, uint32_t op_count) {
    struct reader walk = reader_init(body);
    for (uint32_t i = 0; i < op_count; i++) {
        struct effect_op op;
        if (!effect_parse_op(&walk, &op)) return false;
    }
    return reader_is_done(&walk);
}

void effect_end(struct buf *frame, uint32_t op_count) {
    if (frame->failed) return;
    CHECK(frame->len >= EFFECT_HEAD_BYTES);
    CHECK(frame->len - EFFECT_HEAD_BYTES <= UINT32_MAX);
    // A miscounted group would be acknowledged and then refused by every reader for ever.
    CHECK(effect_body_is_sound(
        (struct bytes){frame->data + EFFECT_HEAD_BYTES, frame->len - EFFECT_HEAD_BYTES}, op_count));
    buf_set_u32(frame, EFFECT_COUNT_AT, op_count);
    buf_set_u32(frame, EFFECT_BODY_LEN_AT, (uint32_t)(frame->len - EFFECT_HEAD_BYTES));
    buf_set_u32(frame, EFFECT_CRC_AT, effect_checksum(buf_bytes(frame)));
}

enum err effect_open(struct bytes frame, struct effect_reader *out) {
    struct reader reader = reader_init(frame);
    uint32_t magic = reader_u32(&reader);
    uint16_t version = reader_u16(&reader);
    uint16_t reserved = reader_u16(&reader);
    uint32_t op_count = reader_u32(&reader);
    uint32_t body_len = reader_u32(&reader);
    uint32_t crc = reader_u32(&reader);
    struct bytes body = reader_bytes(&reader, body_len);
    if (!reader_is_done(&reader)) return ERR_CORRUPT;
    if (magic != EFFECT_MAGIC || version != EFFECT_VERSION || reserved != 0) return ERR_CORRUPT;
    if (crc != effect_checksum(frame)) return ERR_CORRUPT;

    // Walked to the end before the first op is handed out: nobody may use half a group.
    if (!effect_body_is_sound(body, op_count)) return ERR_CORRUPT;
    *out = (struct effect_reader){.body = reader_init(body), .op_count = op_count};
    return ERR_OK;
}

bool effect_next(struct effect_reader *reader, struct effect_op *out) {
    if (reader->op_read == reader->op_count) return false;
    bool parsed = effect_parse_op(&reader->body, out);
    CHECK(parsed); // effect_open has seen every op
    reader->op_read++;
    return true;
}
