// What people type and read: durations, times, tokens, hex. Strict: nothing is guessed.
//
// Thread-safe, having no state. Every parser returns false, and writes nothing, if the text is not
// wholly of its form or does not fit.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the parsers take, for error messages.
#define VALUE_DURATION_FORMS "a number and ms, s, m, h or d, such as 100ms, 1.5s, 30s, 5m, 2h, 7d"
#define VALUE_TIME_FORMS "RFC 3339 such as 2026-08-01T12:00:00Z, or now, or -7d"

// A duration: digits, at most three decimals, a unit. Not negative. "1.5s" is 1500.
bool value_parse_duration_ms(const char *text, int64_t *out_ms);

// Milliseconds since 1970: RFC 3339 with its offset (parts of a millisecond are dropped), "now", or
// "-" and a duration: that long before now_ms.
bool value_parse_time_ms(const char *text, int64_t now_ms, int64_t *out_ms);

// A decimal number without sign.
bool value_parse_u64(const char *text, uint64_t *out_number);

// Pairs of hex digits, at most out_size bytes of them; an empty text is no bytes.
bool value_parse_hex(const char *text, uint8_t *out, size_t out_size, size_t *out_used);

#define VALUE_TEXT_BYTES 96

// "1.500s", always with three decimals; "-0.250s".
const char *value_duration_text(int64_t ms, char out[VALUE_TEXT_BYTES]);

// "2026-08-01T12:00:00.000Z". Years beyond 0001 to 9999 come out as the nearest of them.
const char *value_time_text(int64_t ms, char out[VALUE_TEXT_BYTES]);

// The wall clock, in milliseconds since 1970.
int64_t value_now_ms(void);
