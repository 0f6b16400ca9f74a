// The oracle of a crash test: a file with one line for each request of a client and its answer.
//
//   CALL RET CLIENT VERB KEY STATUS field=value ...
//
// CALL and RET are CLOCK_MONOTONIC in nanoseconds, before the request was sent and after the answer
// came. KEY is consumer:message_id. STATUS is "ok", "unsure" (no answer, or one that may hide a
// change), or the service's reason for refusing. oracle.py reads it. Bodies stand as size:hash.
//
// Lines may be put by any thread; the file is only ever appended to.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <claimd.h>

#define LOAD_LINE_BYTES 1024

struct load_line {
    int64_t call_ns;
    size_t len;
    char text[LOAD_LINE_BYTES];
};

// Opens the file; ends the program if it cannot.
void load_oracle_open(const char *path);
void load_oracle_close(void);
// What was written is in the file.
void load_oracle_flush(void);

// CLOCK_MONOTONIC.
int64_t load_now_ns(void);

// Appends to a line; what does not fit is a bug of the caller and ends the program.
void load_line_put(struct load_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Appends " name=size:hash"; "-" for an absent body.
void load_line_put_body(struct load_line *line, const char *name, struct claimd_bytes body);

// Writes a line that is complete but for its beginning.
void load_line_write(const struct load_line *line, int64_t ret_ns, unsigned client,
                     const char *verb, const char *key, const char *status);
