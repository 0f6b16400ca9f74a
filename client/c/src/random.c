#include "random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void random_fill(void *out, size_t size) {
    uint8_t *bytes = out;
    while (size > 0) {
        ssize_t got = getrandom(bytes, size, 0);
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
        } else if (errno != EINTR) {
            // A predictable request_id could hand one consumer another's claim: never go on.
            fprintf(stderr, "libclaimd: no random numbers: %s\n", strerror(errno));
            abort();
        }
    }
}

void claimd__random_hex(char out[RANDOM_HEX_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[(RANDOM_HEX_BYTES - 1) / 2];
    random_fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[RANDOM_HEX_BYTES - 1] = '\0';
}

uint64_t claimd__random_below(uint64_t bound) {
    uint64_t number;
    random_fill(&number, sizeof number);
    return bound > 0 ? number % bound : 0;
}
