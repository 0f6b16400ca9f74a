// Random numbers from the kernel: request_ids, and the jitter of retries.
#pragma once

#include <stdint.h>

#define RANDOM_HEX_BYTES 33 // 128 bits in hex, with the NUL

// 32 random hex digits.
void claimd__random_hex(char out[RANDOM_HEX_BYTES]);

// A number from 0 to bound - 1; 0 if bound is 0. Fit for jitter, not for dice: a tiny bias is left.
uint64_t claimd__random_below(uint64_t bound);
