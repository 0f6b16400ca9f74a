#include "codec/record_codec.h"

#include "base/check.h"
#include "codec/record_fault.h"
#include "codec/record_v1.h"

bool record_codec_body_is_external(const struct claim_body *body) {
    return body->present && !body->expired && body->size_bytes > LIMIT_BODY_INLINE_BYTES_MAX;
}

void record_codec_encode(const struct claim_record *record, struct buf *out) {
    // A CHECK that names the invariant.
    const char *fault = record_fault_of(record);
    if (__builtin_expect(fault != NULL, 0)) check_fail(fault, __FILE__, __LINE__);
    record_v1_encode(record, out);
}

enum err record_codec_decode(struct bytes value, struct claim_record *out) {
    if (value.len == 0) return ERR_CORRUPT;
    switch (value.data[0]) {
    case RECORD_V1:
        return record_v1_decode(value, out);
    default: // a byte of the store, not an enum
        return ERR_CORRUPT;
    }
}
