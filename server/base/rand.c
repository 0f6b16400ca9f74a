#include "base/rand.h"

#include <sys/random.h>
#include <sys/types.h>

#include "base/check.h"

struct rand rand_from_seed(uint64_t seed) {
    return (struct rand){.state = seed};
}

struct rand rand_from_kernel(void) {
    uint64_t seed = 0;
    ssize_t got = getrandom(&seed, sizeof seed, 0);
    CHECK(got == (ssize_t)sizeof seed);
    return rand_from_seed(seed);
}

uint64_t rand_u64(struct rand *rand) {
    rand->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = rand->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}
