// Version 1 of the stored record, byte by byte as in docs/FORMATS.md. Private to the record codec.
//
// The newest version is also written; an older one is only read, for ever. Pure.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "core/claim_record.h"

#define RECORD_V1 1 // the first byte

// Appends a record without faults (record_fault_of).
void record_v1_encode(const struct claim_record *record, struct buf *out);

// Reads a value that begins with RECORD_V1. ERR_CORRUPT unless it is exactly what record_v1_encode
// writes for some record without faults; then *out is unspecified.
MUST_CHECK enum err record_v1_decode(struct bytes value, struct claim_record *out);
