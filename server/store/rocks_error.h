// RocksDB's errors: texts, of which only the beginning can be relied on.
//
// Its C interface has no status codes. This is the one place that reads the texts, frees them and
// logs them. Pure apart from logging; thread-safe.
#pragma once

#include "base/error.h"

// What a text from a running store means: ERR_WOULD_BLOCK (a cache-only read missed), ERR_CORRUPT,
// ERR_LOCKED, else ERR_IO.
enum err rocks_error_code(const char *text);

// The same while opening, where a missing or unexpected file, family or option is damage as well.
enum err rocks_error_open_code(const char *text);

// Frees the text, logs it once with what was being done (ERR_WOULD_BLOCK, an expected answer, is
// not logged) and returns its code. take_text must not be NULL.
MUST_CHECK enum err rocks_error_take(char *take_text, const char *doing);
