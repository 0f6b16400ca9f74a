// One answer, written as a table for people or as JSON for programs.
//
// A command describes its answer once, with the proto's field names; the two forms differ in how
// values are spelled. Absent values (NULL, empty text, CLAIMD_UNSET_MS, absent bytes) are left out.
// Memory that runs out is remembered, and output_finish reports it.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <claimd.h>
#include <jansson.h>

enum output_format { OUTPUT_TABLE, OUTPUT_JSON };

#define OUTPUT_DEPTH_MAX 4

struct output {
    enum output_format format;
    bool failed;
    json_t *stack[OUTPUT_DEPTH_MAX]; // objects that are open; [0] is the answer
    size_t depth;
};

// Starts an empty answer.
void output_init(struct output *out, enum output_format format);

// A word of the API, such as a state. Always shown.
void output_word(struct output *out, const char *key, const char *word);
// Text that somebody wrote. In a table its control characters are escaped.
void output_text(struct output *out, const char *key, const char *text);
// Always shown; 64-bit numbers are strings in JSON.
void output_u64(struct output *out, const char *key, uint64_t number);
void output_u32(struct output *out, const char *key, uint32_t number);
void output_bool(struct output *out, const char *key, bool value);
// Shown only if true.
void output_flag(struct output *out, const char *key, bool value);
void output_duration(struct output *out, const char *key, int64_t ms);
void output_time(struct output *out, const char *key, int64_t ms);
// A body: base64 in JSON; in a table as it is if it is text, else its size and first bytes in hex.
void output_body(struct output *out, const char *key, struct claimd_bytes bytes);
// A digest: base64 in JSON, hex in a table.
void output_digest(struct output *out, const char *key, struct claimd_bytes bytes);

// An object under a key; what follows goes into it, until closed. Left out if it stays empty.
void output_open(struct output *out, const char *key);
// An object that is appended to the list under a key. A table shows it on one line.
void output_open_item(struct output *out, const char *key);
void output_close(struct output *out);

// Writes the answer and frees it. False, with errno set, if it could not be written whole.
bool output_finish(struct output *out, FILE *file);
