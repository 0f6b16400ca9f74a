// Random values of the kinds that records are made of, from a seed that is printed. For tests.
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/rand.h"

#define GEN_POOL_BYTES (LIMIT_CHECKPOINT_BYTES_MAX + LIMIT_REASON_BYTES_MAX)

struct gen {
    struct rand rand;
    uint8_t pool[GEN_POOL_BYTES]; // what all views of generated records borrow from
};

// Seeded from CLAIMD_TEST_SEED if that is set, from the kernel otherwise; prints the seed.
static inline void gen_init(struct gen *gen, const char *test) {
    const char *text = getenv("CLAIMD_TEST_SEED");
    struct rand kernel = rand_from_kernel();
    uint64_t seed = rand_u64(&kernel);
    if (text != NULL) ck_assert_int_eq(sscanf(text, "%" SCNu64, &seed), 1);
    printf("%s: CLAIMD_TEST_SEED=%" PRIu64 "\n", test, seed);
    fflush(stdout);
    gen->rand = rand_from_seed(seed);
    for (size_t i = 0; i < sizeof gen->pool; i++) gen->pool[i] = (uint8_t)rand_u64(&gen->rand);
}

static inline uint32_t gen_below(struct gen *gen, uint32_t bound) {
    return (uint32_t)(rand_u64(&gen->rand) % bound);
}

static inline bool gen_one_in(struct gen *gen, uint32_t n) { return gen_below(gen, n) == 0; }

static inline struct bytes gen_bytes(struct gen *gen, size_t len) {
    uint32_t room = (uint32_t)(sizeof gen->pool - len) + 1;
    return (struct bytes){len == 0 ? NULL : gen->pool + gen_below(gen, room), len};
}

// Absent, at the bound, or short.
static inline struct bytes gen_text(struct gen *gen, uint32_t max) {
    switch (gen_below(gen, 8)) {
    case 0:
        return gen_bytes(gen, max);
    case 1:
    case 2:
    case 3:
        return gen_bytes(gen, 0);
    default:
        return gen_bytes(gen, 1 + gen_below(gen, max < 24 ? max : 24));
    }
}

static inline int64_t gen_time(struct gen *gen) {
    switch (gen_below(gen, 8)) {
    case 0:
        return INT64_MAX;
    case 1:
        return INT64_MIN;
    case 2:
        return 0;
    case 3:
        return -1;
    default:
        return INT64_C(1764500000000) + gen_below(gen, 4);
    }
}

static inline uint32_t gen_count(struct gen *gen, uint32_t least) {
    switch (gen_below(gen, 6)) {
    case 0:
        return UINT32_MAX;
    case 1:
    case 2:
    case 3:
        return least;
    default:
        return least + gen_below(gen, 12);
    }
}
