// The stored form of a claim record: versioned, explicit little-endian, checksummed, dense.
//
// Layout in docs/FORMATS.md; golden files in tests/golden. A body longer than
// LIMIT_BODY_INLINE_BYTES_MAX is stored as a mark (in_blob) without its bytes; whoever writes the
// record writes the body to the blob family beside it. Pure; allocates only through struct buf.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "core/claim_record.h"

// Appends the record. CHECKs the invariants of claim_record.h; memory failure shows in out->failed.
void record_codec_encode(const struct claim_record *record, struct buf *out);

// Reads any version ever written. Views in *out borrow from value. ERR_CORRUPT if the checksum, a
// length, an enum or an invariant does not hold; then *out is unspecified.
MUST_CHECK enum err record_codec_decode(struct bytes value, struct claim_record *out);

// True if a body of this record is stored in the blob family when the record is encoded.
bool record_codec_body_is_external(const struct claim_body *body);
