#include "base/bytes.h"

#include <endian.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

struct bytes bytes_of(const char *text) {
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

bool bytes_equal(struct bytes a, struct bytes b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

// Length of the well-formed UTF-8 sequence at the front, 0 if there is none.
static size_t utf8_sequence_len(const uint8_t *p, size_t len) {
    uint8_t lead = p[0];
    if (lead < 0x80) return 1;
    size_t need = lead >= 0xC2 && lead <= 0xDF   ? 2
                  : (lead & 0xF0) == 0xE0        ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                 : 0;
    if (need == 0 || len < need) return 0;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < need; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
    }
    return need;
}

bool bytes_is_utf8(struct bytes text) {
    for (size_t pos = 0; pos < text.len;) {
        size_t step = utf8_sequence_len(text.data + pos, text.len - pos);
        if (step == 0) return false;
        pos += step;
    }
    return true;
}

bool bytes_has_control(struct bytes text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < 0x20 || text.data[i] == 0x7F) return true;
    }
    return false;
}

struct bytes bytes_cut_utf8(struct bytes text, size_t max) {
    if (text.len <= max) return text;
    size_t len = max;
    while (len > 0 && (text.data[len] & 0xC0) == 0x80) len--;
    return (struct bytes){text.data, len};
}

void buf_deinit(struct buf *buf) {
    mem_free(buf->data);
    *buf = (struct buf){0};
}

void buf_reset(struct buf *buf, size_t keep_max) {
    if (buf->cap > keep_max) buf_deinit(buf);
    buf->len = 0;
    buf->failed = false;
}

bool buf_reserve(struct buf *buf, size_t more) {
    if (buf->failed) return false;
    if (buf->cap - buf->len >= more) return true;
    size_t want = buf->cap < 64 ? 64 : buf->cap;
    while (want - buf->len < more) {
        if (__builtin_mul_overflow(want, (size_t)2, &want)) {
            buf->failed = true;
            return false;
        }
    }
    uint8_t *data = mem_realloc(buf->data, want);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = want;
    return true;
}

void buf_put(struct buf *buf, const void *data, size_t len) {
    if (len == 0 || !buf_reserve(buf, len)) return;
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

// At most eight bytes, little-endian whatever the machine is.
static void put_le(uint8_t *out, uint64_t value, size_t width) {
    uint64_t raw = htole64(value);
    memcpy(out, &raw, width);
}

static uint64_t get_le(const uint8_t *in, size_t width) {
    uint64_t raw = 0;
    memcpy(&raw, in, width);
    return le64toh(raw);
}

static void buf_put_le(struct buf *buf, uint64_t value, size_t width) {
    uint8_t raw[8];
    put_le(raw, value, width);
    buf_put(buf, raw, width);
}

void buf_put_u8(struct buf *buf, uint8_t value) { buf_put_le(buf, value, 1); }
void buf_put_u16(struct buf *buf, uint16_t value) { buf_put_le(buf, value, 2); }
void buf_put_u32(struct buf *buf, uint32_t value) { buf_put_le(buf, value, 4); }
void buf_put_u32_be(struct buf *buf, uint32_t value) {
    buf_put_le(buf, __builtin_bswap32(value), 4);
}
void buf_put_u64(struct buf *buf, uint64_t value) { buf_put_le(buf, value, 8); }
void buf_put_i64(struct buf *buf, int64_t value) { buf_put_le(buf, (uint64_t)value, 8); }

void buf_set_u32(struct buf *buf, size_t offset, uint32_t value) {
    if (buf->failed) return;
    CHECK(offset + 4 <= buf->len);
    put_le(buf->data + offset, value, 4);
}

struct bytes buf_bytes(const struct buf *buf) {
    return (struct bytes){buf->data, buf->len};
}

struct reader reader_init(struct bytes bytes) {
    return (struct reader){.data = bytes.data, .len = bytes.len};
}

struct bytes reader_bytes(struct reader *reader, size_t len) {
    if (reader->failed || reader->len - reader->pos < len) {
        reader->failed = true;
        return (struct bytes){0};
    }
    struct bytes view = {reader->data + reader->pos, len};
    reader->pos += len;
    return view;
}

static uint64_t reader_le(struct reader *reader, size_t width) {
    struct bytes raw = reader_bytes(reader, width);
    return raw.len == width ? get_le(raw.data, width) : 0;
}

uint8_t reader_u8(struct reader *reader) { return (uint8_t)reader_le(reader, 1); }
uint16_t reader_u16(struct reader *reader) { return (uint16_t)reader_le(reader, 2); }
uint32_t reader_u32(struct reader *reader) { return (uint32_t)reader_le(reader, 4); }
uint32_t reader_u32_be(struct reader *reader) { return __builtin_bswap32(reader_u32(reader)); }
uint64_t reader_u64(struct reader *reader) { return reader_le(reader, 8); }
int64_t reader_i64(struct reader *reader) { return (int64_t)reader_le(reader, 8); }

bool reader_is_done(const struct reader *reader) {
    return !reader->failed && reader->pos == reader->len;
}
