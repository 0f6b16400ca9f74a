// Bytes as text: base64, hex, and what may go to a terminal. Results are heap strings, NULL without
// memory; the caller frees them. Thread-safe, having no state.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// True if the bytes are UTF-8 without control characters other than newline and tab: safe to show.
bool text_is_printable(const void *data, size_t size);

// As they are. The bytes hold no NUL.
char *text_copy(const void *data, size_t size);

// Printable text: control characters and what is not UTF-8 become \xNN.
char *text_escape(const void *data, size_t size);

char *text_base64(const void *data, size_t size);
char *text_hex(const void *data, size_t size);

// "1024 bytes: 00ff1c...", with at most shown bytes in hex.
char *text_hex_summary(const void *data, size_t size, size_t shown);

// How many single-character edits lead from one word to the other, up to a limit of 32 characters.
size_t text_distance(const char *a, const char *b);
