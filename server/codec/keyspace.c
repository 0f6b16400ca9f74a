#include "codec/keyspace.h"

#include "base/check.h"
#include "codec/crc32c.h"
#include "core/identity.h"

#define KEYSPACE_TAG_RAW 0
#define KEYSPACE_TAG_UUID 1

#define KEYSPACE_UUID_CHARS 36
#define KEYSPACE_UUID_BYTES 16

#define KEYSPACE_META_VERSION 1

_Static_assert(KEYSPACE_BLOB_RESULT == 1 && KEYSPACE_BLOB_CHECKPOINT == 2, "stored");
_Static_assert(KEYSPACE_BLOB_PAYLOAD == 3, "stored");
_Static_assert(CLAIM_STATES == 8, "the stored counts have eight columns");
_Static_assert(LIMIT_TENANT_BYTES_MAX <= UINT8_MAX, "a tenant's length is stored in one byte");
_Static_assert(LIMIT_CONSUMER_BYTES_MAX <= UINT8_MAX, "a name's length is stored in one byte");

enum keyspace_family keyspace_family_of(enum claim_state state) {
    return claim_state_is_final(state) ? KEYSPACE_DONE : KEYSPACE_OPEN;
}

// --- claims -------------------------------------------------------------------------------------

static bool uuid_has_dash_at(size_t pos) { return pos == 8 || pos == 13 || pos == 18 || pos == 23; }

// The value of a lower-case hex digit; above 15 if it is none.
static unsigned uuid_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    return 16;
}

// Packs a canonical lower-case UUID; false if the text is anything else. Only the form that
// uuid_unpack writes is packed, so that IDs stay different byte for byte.
static bool uuid_pack(struct bytes text, uint8_t out[KEYSPACE_UUID_BYTES]) {
    if (text.len != KEYSPACE_UUID_CHARS) return false;
    size_t digits = 0;
    for (size_t pos = 0; pos < KEYSPACE_UUID_CHARS; pos++) {
        if (uuid_has_dash_at(pos)) {
            if (text.data[pos] != '-') return false;
            continue;
        }
        unsigned digit = uuid_digit(text.data[pos]);
        if (digit > 15) return false;
        out[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : out[digits / 2] | digit);
        digits++;
    }
    return true;
}

static void uuid_unpack(struct bytes packed, char out[KEYSPACE_UUID_CHARS]) {
    static const char hex[] = "0123456789abcdef";
    size_t pos = 0;
    for (size_t i = 0; i < KEYSPACE_UUID_BYTES; i++) {
        if (uuid_has_dash_at(pos)) out[pos++] = '-';
        out[pos++] = hex[packed.data[i] >> 4];
        out[pos++] = hex[packed.data[i] & 0x0F];
    }
}

void keyspace_put_consumer_prefix(struct buf *out, uint32_t consumer_number) {
    buf_put_u32_be(out, consumer_number);
}

void keyspace_put_claim(struct buf *out, uint32_t consumer_number, struct bytes message_id) {
    CHECK(message_id.len >= 1);
    CHECK(message_id.len <= LIMIT_MESSAGE_ID_BYTES_MAX);
    uint8_t packed[KEYSPACE_UUID_BYTES];
    keyspace_put_consumer_prefix(out, consumer_number);
    if (uuid_pack(message_id, packed)) {
        buf_put_u8(out, KEYSPACE_TAG_UUID);
        buf_put(out, packed, sizeof packed);
    } else {
        buf_put_u8(out, KEYSPACE_TAG_RAW);
        buf_put(out, message_id.data, message_id.len);
    }
}

enum err keyspace_parse_claim(struct bytes key, uint32_t *out_consumer_number,
                              struct buf *out_message_id) {
    struct reader reader = reader_init(key);
    uint32_t consumer_number = reader_u32_be(&reader);
    uint8_t tag = reader_u8(&reader);
    if (reader.failed) return ERR_CORRUPT;
    struct bytes id = reader_bytes(&reader, reader.len - reader.pos);
    if (tag == KEYSPACE_TAG_UUID) {
        if (id.len != KEYSPACE_UUID_BYTES) return ERR_CORRUPT;
        char text[KEYSPACE_UUID_CHARS];
        uuid_unpack(id, text);
        buf_put(out_message_id, text, sizeof text);
    } else {
        uint8_t packed[KEYSPACE_UUID_BYTES];
        if (tag != KEYSPACE_TAG_RAW || identity_message_id_fault(id) != NULL) return ERR_CORRUPT;
        if (uuid_pack(id, packed)) return ERR_CORRUPT; // a second key of the same identity
        buf_put(out_message_id, id.data, id.len);
    }
    if (out_message_id->failed) return ERR_NO_MEMORY;
    *out_consumer_number = consumer_number;
    return ERR_OK;
}

void keyspace_put_blob(struct buf *out, struct bytes claim_key, enum keyspace_blob kind) {
    buf_put(out, claim_key.data, claim_key.len);
    buf_put_u8(out, (uint8_t)kind);
}

// --- meta ---------------------------------------------------------------------------------------

static const uint8_t meta_head = 'h';
static const uint8_t meta_clock = 'c';
static const uint8_t meta_consumer = 'n';
static const uint8_t meta_counts = 's';

struct bytes keyspace_head_key(void) {
    return (struct bytes){&meta_head, 1};
}
struct bytes keyspace_clock_key(void) {
    return (struct bytes){&meta_clock, 1};
}
struct bytes keyspace_consumer_prefix(void) {
    return (struct bytes){&meta_consumer, 1};
}
struct bytes keyspace_counts_prefix(void) {
    return (struct bytes){&meta_counts, 1};
}

// Starts a value of the meta family; returns where, for meta_end.
static size_t meta_begin(struct buf *out) {
    size_t start = out->len;
    buf_put_u8(out, KEYSPACE_META_VERSION);
    return start;
}

// Seals the value with the checksum of all of it.
static void meta_end(struct buf *out, size_t start) {
    if (out->failed) return;
    buf_put_u32(out, crc32c(0, (struct bytes){out->data + start, out->len - start}));
}

// Opens a value: a reader of what is between version and checksum, failed from the start if either
// is wrong.
static struct reader meta_open(struct bytes value) {
    struct reader reader = {.failed = true};
    if (value.len < 1 + sizeof(uint32_t)) return reader;
    struct bytes sealed = {value.data, value.len - sizeof(uint32_t)};
    struct reader seal = reader_init((struct bytes){value.data + sealed.len, sizeof(uint32_t)});
    if (reader_u32(&seal) != crc32c(0, sealed)) return reader;
    reader = reader_init(sealed);
    if (reader_u8(&reader) != KEYSPACE_META_VERSION) reader.failed = true;
    return reader;
}

void keyspace_put_head(struct buf *out, const struct keyspace_head *head) {
    size_t start = meta_begin(out);
    buf_put_u64(out, head->position);
    buf_put_u64(out, head->term);
    meta_end(out, start);
}

enum err keyspace_parse_head(struct bytes value, struct keyspace_head *out) {
    struct reader reader = meta_open(value);
    struct keyspace_head head = {.position = reader_u64(&reader)};
    head.term = reader_u64(&reader);
    if (!reader_is_done(&reader)) return ERR_CORRUPT;
    *out = head;
    return ERR_OK;
}

void keyspace_put_clock(struct buf *out, const struct keyspace_clock *clock) {
    CHECK(clock->token_next != 0);
    size_t start = meta_begin(out);
    buf_put_u64(out, clock->token_next);
    buf_put_i64(out, clock->mark.ms);
    meta_end(out, start);
}

enum err keyspace_parse_clock(struct bytes value, struct keyspace_clock *out) {
    struct reader reader = meta_open(value);
    struct keyspace_clock clock = {.token_next = reader_u64(&reader)};
    clock.mark.ms = reader_i64(&reader);
    if (!reader_is_done(&reader) || clock.token_next == 0) return ERR_CORRUPT;
    *out = clock;
    return ERR_OK;
}

// A key of one letter and a consumer's number.
static void meta_put_numbered_key(struct buf *out, uint8_t letter, uint32_t number) {
    buf_put_u8(out, letter);
    buf_put_u32_be(out, number);
}

static enum err meta_parse_numbered_key(struct bytes key, uint8_t letter, uint32_t *out_number) {
    struct reader reader = reader_init(key);
    bool right = reader_u8(&reader) == letter;
    uint32_t number = reader_u32_be(&reader);
    if (!right || !reader_is_done(&reader)) return ERR_CORRUPT;
    *out_number = number;
    return ERR_OK;
}

void keyspace_put_consumer_key(struct buf *out, uint32_t number) {
    meta_put_numbered_key(out, meta_consumer, number);
}

enum err keyspace_parse_consumer_key(struct bytes key, uint32_t *out_number) {
    return meta_parse_numbered_key(key, meta_consumer, out_number);
}

void keyspace_put_consumer(struct buf *out, const struct keyspace_consumer *consumer) {
    CHECK(consumer->tenant.len <= LIMIT_TENANT_BYTES_MAX);
    CHECK(identity_consumer_fault(consumer->name) == NULL);
    size_t start = meta_begin(out);
    buf_put_u8(out, (uint8_t)consumer->tenant.len);
    buf_put(out, consumer->tenant.data, consumer->tenant.len);
    buf_put_u8(out, (uint8_t)consumer->name.len);
    buf_put(out, consumer->name.data, consumer->name.len);
    meta_end(out, start);
}

enum err keyspace_parse_consumer(struct bytes value, struct keyspace_consumer *out) {
    struct reader reader = meta_open(value);
    struct keyspace_consumer consumer;
    consumer.tenant = reader_bytes(&reader, reader_u8(&reader));
    consumer.name = reader_bytes(&reader, reader_u8(&reader));
    if (!reader_is_done(&reader)) return ERR_CORRUPT;
    if (consumer.tenant.len > LIMIT_TENANT_BYTES_MAX) return ERR_CORRUPT;
    if (identity_consumer_fault(consumer.name) != NULL) return ERR_CORRUPT;
    *out = consumer;
    return ERR_OK;
}

void keyspace_put_counts_key(struct buf *out, uint32_t number) {
    meta_put_numbered_key(out, meta_counts, number);
}

enum err keyspace_parse_counts_key(struct bytes key, uint32_t *out_number) {
    return meta_parse_numbered_key(key, meta_counts, out_number);
}

void keyspace_put_counts(struct buf *out, const struct keyspace_counts *counts) {
    size_t start = meta_begin(out);
    for (size_t i = 0; i < CLAIM_STATES; i++) buf_put_u64(out, counts->by_state[i]);
    meta_end(out, start);
}

enum err keyspace_parse_counts(struct bytes value, struct keyspace_counts *out) {
    struct reader reader = meta_open(value);
    struct keyspace_counts counts;
    for (size_t i = 0; i < CLAIM_STATES; i++) counts.by_state[i] = reader_u64(&reader);
    if (!reader_is_done(&reader)) return ERR_CORRUPT;
    *out = counts;
    return ERR_OK;
}
