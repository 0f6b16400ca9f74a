#include "core/identity.h"

#include <string.h>

#include "base/digest.h"
#include "base/limits.h"

#define IDENTITY_TEXT_OF(number) #number
#define IDENTITY_RANGE_FAULT(max) "must be 1 to " IDENTITY_TEXT_OF(max) " bytes"

// True if a C1 control character (U+0080 to U+009F: 0xC2 and a byte below 0xA0) occurs in valid
// UTF-8. They are control characters as much as the C0 set: NEL, for one, ends a line.
static bool identity_has_c1_control(struct bytes text) {
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.data[i] == 0xC2 && text.data[i + 1] < 0xA0) return true;
    }
    return false;
}

const char *identity_consumer_fault(struct bytes consumer) {
    if (consumer.len < 1 || consumer.len > LIMIT_CONSUMER_BYTES_MAX) {
        return IDENTITY_RANGE_FAULT(LIMIT_CONSUMER_BYTES_MAX);
    }
    if (!bytes_is_utf8(consumer)) return "must be valid UTF-8";
    if (bytes_has_control(consumer) || identity_has_c1_control(consumer)) {
        return "must not contain control characters";
    }
    return NULL;
}

const char *identity_message_id_fault(struct bytes message_id) {
    if (message_id.len < 1 || message_id.len > LIMIT_MESSAGE_ID_BYTES_MAX) {
        return IDENTITY_RANGE_FAULT(LIMIT_MESSAGE_ID_BYTES_MAX);
    }
    if (!bytes_is_utf8(message_id)) return "must be valid UTF-8";
    if (memchr(message_id.data, 0, message_id.len) != NULL) return "must not contain NUL";
    return NULL;
}

void identity_effect_key(const struct identity *identity, uint32_t reopen_count,
                         char out_key[IDENTITY_EFFECT_KEY_CHARS + 1]) {
    static const char hex[] = "0123456789abcdef";
    uint8_t reopens[4];
    for (unsigned i = 0; i < sizeof reopens; i++) reopens[i] = (uint8_t)(reopen_count >> (8 * i));
    const struct bytes parts[] = {
        identity->tenant, identity->consumer, identity->message_id, {reopens, sizeof reopens}};
    struct digest digest = digest_parts(parts, sizeof parts / sizeof parts[0]);
    for (size_t i = 0; i < IDENTITY_EFFECT_KEY_CHARS / 2; i++) {
        out_key[2 * i] = hex[digest.data[i] >> 4];
        out_key[2 * i + 1] = hex[digest.data[i] & 0x0F];
    }
    out_key[IDENTITY_EFFECT_KEY_CHARS] = '\0';
}

// The finalizer of splitmix64: every bit of the input moves every bit of the output.
static uint64_t identity_mix(uint64_t word) {
    word = (word ^ (word >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
    return word ^ (word >> 31);
}

uint64_t identity_hash(struct bytes key) {
    // The length goes in first, so that the zeros that fill up the last word say nothing.
    uint64_t hash = (uint64_t)key.len * UINT64_C(0x9E3779B97F4A7C15);
    while (key.len >= sizeof hash) {
        uint64_t word;
        memcpy(&word, key.data, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
        hash ^= hash >> 32; // a multiplication moves bits up only
        key.data += sizeof word;
        key.len -= sizeof word;
    }
    uint64_t rest = 0;
    if (key.len > 0) memcpy(&rest, key.data, key.len);
    return identity_mix(hash ^ rest);
}

_Static_assert(IDENTITY_EFFECT_KEY_CHARS <= 2 * DIGEST_BYTES, "the key is a prefix of the digest");
