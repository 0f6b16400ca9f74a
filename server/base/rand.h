// The only source of randomness in the server.
//
// Not thread-safe: one object, one thread.
#pragma once

#include <stdint.h>

// A small fast generator (splitmix64); not for secrets.
struct rand {
    uint64_t state;
};

// Seeded from the kernel.
struct rand rand_from_kernel(void);
// Seeded by a test, which prints the seed.
struct rand rand_from_seed(uint64_t seed);

uint64_t rand_u64(struct rand *rand);
