// CRC-32C (Castagnoli), from isa-l (the only file that includes it). Pure.
#pragma once

#include <stdint.h>

#include "base/bytes.h"

// The checksum of bytes, continuing from an earlier one; start with 0.
uint32_t crc32c(uint32_t start, struct bytes bytes);
