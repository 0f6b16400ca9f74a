// Ordered iteration over one family under one frozen view.
//
// A scan belongs to one thread; several scans may run beside writes. Reads go to disk: never on an
// engine thread.
#pragma once

#include "store/store.h"

struct store_scan;

// All keys that begin with prefix (empty: all), in order, as of now. A scan holds back the removal
// of old data while it is open. ERR_NO_MEMORY, ERR_CORRUPT, ERR_IO.
MUST_CHECK enum err store_scan_open(struct store *store, enum keyspace_family family,
                                    struct bytes prefix, struct store_scan **out_scan);
void store_scan_close(struct store_scan *scan); // NULL is fine

// The position of the last group that the view contains.
uint64_t store_scan_position(const struct store_scan *scan);

// The next entry; the views live until the next call. ERR_NOT_FOUND at the end; ERR_CORRUPT,
// ERR_IO.
MUST_CHECK enum err store_scan_next(struct store_scan *scan, struct bytes *out_key,
                                    struct bytes *out_value);
