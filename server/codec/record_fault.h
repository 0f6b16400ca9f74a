// The invariants of a claim record: what the encoder CHECKs and every decoder refuses. Private to
// the record codec. Pure.
#pragma once

#include "core/claim_record.h"

// The first invariant of claim_record.h that does not hold, in words; NULL if all do. What is not
// meaningful is not looked at.
const char *record_fault_of(const struct claim_record *record);
