// The layout of keys in the store, and of the small values of the meta family. docs/FORMATS.md.
//
//   claim key  = consumer number u32 big-endian | tag u8 | id
//                tag 1: the 16 bytes of a canonical lower-case UUID; tag 0: the message ID itself
//   blob key   = claim key | kind u8
//   meta keys  = one letter, then what the letter says
// Pure: allocates only through struct buf.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "core/claim_record.h"

// Families of the store. Stored in effects; never renumber.
enum keyspace_family {
    KEYSPACE_OPEN = 0,  // records that are not final
    KEYSPACE_DONE = 1,  // final records
    KEYSPACE_BLOB = 2,  // bodies above LIMIT_BODY_INLINE_BYTES_MAX
    KEYSPACE_GUARD = 3, // reserved
    KEYSPACE_AUDIT = 4, // reserved
    KEYSPACE_META = 5,
};
#define KEYSPACE_FAMILIES 6

enum keyspace_blob {
    KEYSPACE_BLOB_RESULT = 1,
    KEYSPACE_BLOB_CHECKPOINT = 2,
    KEYSPACE_BLOB_PAYLOAD = 3,
};

// The family that a record in this state lives in.
enum keyspace_family keyspace_family_of(enum claim_state state);

// Appends the claim key to out.
void keyspace_put_claim(struct buf *out, uint32_t consumer_number, struct bytes message_id);

// Appends the key prefix of all claims of a consumer.
void keyspace_put_consumer_prefix(struct buf *out, uint32_t consumer_number);

// Splits a claim key; the message ID is appended to out_message_id as text. ERR_CORRUPT if it is
// none; ERR_NO_MEMORY.
MUST_CHECK enum err keyspace_parse_claim(struct bytes key, uint32_t *out_consumer_number,
                                         struct buf *out_message_id);

// Appends the key of a body.
void keyspace_put_blob(struct buf *out, struct bytes claim_key, enum keyspace_blob kind);

// --- meta ---------------------------------------------------------------------------------------

// Where the store stands: key "h". Written by apply with every group.
struct keyspace_head {
    uint64_t position; // of the last applied group
    uint64_t term;     // of the leader that decided it; 0 on a single node
};

// What the engine must not lose: key "c". Part of every group.
struct keyspace_clock {
    uint64_t token_next;
    struct store_ms mark;
};

// A consumer's name: key "n" | number u32 big-endian.
struct keyspace_consumer {
    struct bytes tenant;
    struct bytes name;
};

// Records by state of one consumer: key "s" | number u32 big-endian.
struct keyspace_counts {
    uint64_t by_state[CLAIM_STATES];
};

struct bytes keyspace_head_key(void);
void keyspace_put_head(struct buf *out, const struct keyspace_head *head);
MUST_CHECK enum err keyspace_parse_head(struct bytes value, struct keyspace_head *out);

struct bytes keyspace_clock_key(void);
void keyspace_put_clock(struct buf *out, const struct keyspace_clock *clock);
MUST_CHECK enum err keyspace_parse_clock(struct bytes value, struct keyspace_clock *out);

void keyspace_put_consumer_key(struct buf *out, uint32_t number);
// ERR_CORRUPT if the key is not one of a consumer's name.
MUST_CHECK enum err keyspace_parse_consumer_key(struct bytes key, uint32_t *out_number);
void keyspace_put_consumer(struct buf *out, const struct keyspace_consumer *consumer);
// The parsed views borrow from value.
MUST_CHECK enum err keyspace_parse_consumer(struct bytes value, struct keyspace_consumer *out);

void keyspace_put_counts_key(struct buf *out, uint32_t number);
MUST_CHECK enum err keyspace_parse_counts_key(struct bytes key, uint32_t *out_number);
void keyspace_put_counts(struct buf *out, const struct keyspace_counts *counts);
MUST_CHECK enum err keyspace_parse_counts(struct bytes value, struct keyspace_counts *out);

// The meta prefixes of consumers' names ("n") and counts ("s"), for scans.
struct bytes keyspace_consumer_prefix(void);
struct bytes keyspace_counts_prefix(void);
