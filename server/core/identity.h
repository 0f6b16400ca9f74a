// Who a claim is: tenant, consumer and message ID, their validity, and the effect key.
//
// Pure. SPEC section 2.
#pragma once

#include "base/bytes.h"
#include "base/error.h"

struct identity {
    struct bytes tenant; // from the credentials; may be empty
    struct bytes consumer;
    struct bytes message_id;
};

#define IDENTITY_EFFECT_KEY_CHARS 32

// A violated rule in words, for a field violation; NULL if the consumer's name is valid.
const char *identity_consumer_fault(struct bytes consumer);
// The same for a message ID.
const char *identity_message_id_fault(struct bytes message_id);

// The key for a vendor's own idempotency header: the same for every attempt, another after a
// reopen. Writes IDENTITY_EFFECT_KEY_CHARS hex digits and a NUL.
void identity_effect_key(const struct identity *identity, uint32_t reopen_count,
                         char out_key[IDENTITY_EFFECT_KEY_CHARS + 1]);

// A well-mixed 64-bit hash of the identity within a process; not stable across versions.
uint64_t identity_hash(struct bytes key);
