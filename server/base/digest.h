// SHA-256, from nettle (the only file that includes it).
//
// Pure: no allocation, no state shared between calls.
#pragma once

#include <stdint.h>

#include "base/bytes.h"

#define DIGEST_BYTES 32

struct digest {
    uint8_t data[DIGEST_BYTES];
};

// The digest of several parts, each preceded by its length as u64 little-endian, so that parts
// cannot run into each other.
struct digest digest_parts(const struct bytes *parts, size_t part_count);

// The plain digest of one run of bytes.
struct digest digest_of(struct bytes bytes);
