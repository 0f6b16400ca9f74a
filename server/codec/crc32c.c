#include "codec/crc32c.h"

#include <isa-l/crc.h>

// isa-l counts bytes in an int and takes a pointer that is not const, although it only reads.
#define CRC32C_STEP_BYTES (1 << 20)

uint32_t crc32c(uint32_t start, struct bytes bytes) {
    // isa-l works on the bare register: the customary inversion before and after is ours.
    uint32_t crc = ~start;
    while (bytes.len > 0) {
        size_t step = bytes.len < CRC32C_STEP_BYTES ? bytes.len : CRC32C_STEP_BYTES;
        crc = crc32_iscsi((uint8_t *)(uintptr_t)bytes.data, (int)step, crc);
        bytes.data += step;
        bytes.len -= step;
    }
    return ~crc;
}
