#include "base/digest.h"

#include <nettle/sha2.h>

_Static_assert(DIGEST_BYTES == SHA256_DIGEST_SIZE, "a digest is SHA-256");

static void digest_length(struct sha256_ctx *ctx, uint64_t len) {
    uint8_t raw[8];
    for (unsigned i = 0; i < sizeof raw; i++) raw[i] = (uint8_t)(len >> (8 * i));
    sha256_update(ctx, sizeof raw, raw);
}

struct digest digest_parts(const struct bytes *parts, size_t part_count) {
    struct sha256_ctx ctx;
    struct digest digest;
    sha256_init(&ctx);
    for (size_t i = 0; i < part_count; i++) {
        digest_length(&ctx, parts[i].len);
        sha256_update(&ctx, parts[i].len, parts[i].data);
    }
    sha256_digest(&ctx, sizeof digest.data, digest.data);
    return digest;
}

struct digest digest_of(struct bytes bytes) {
    struct sha256_ctx ctx;
    struct digest digest;
    sha256_init(&ctx);
    sha256_update(&ctx, bytes.len, bytes.data);
    sha256_digest(&ctx, sizeof digest.data, digest.data);
    return digest;
}
