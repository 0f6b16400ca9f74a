#include "load_oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ORACLE_BUFFER_BYTES (1024 * 1024)

static FILE *oracle_file;

static _Noreturn void oracle_die(const char *what) {
    (void)fprintf(stderr, "crash_load: oracle: %s: %s\n", what, strerror(errno));
    exit(1);
}

void load_oracle_open(const char *path) {
    oracle_file = fopen(path, "ae");
    if (oracle_file == NULL) oracle_die(path);
    if (setvbuf(oracle_file, NULL, _IOFBF, ORACLE_BUFFER_BYTES) != 0) oracle_die("buffer");
}

void load_oracle_close(void) {
    if (fclose(oracle_file) != 0) oracle_die("close");
}

void load_oracle_flush(void) {
    if (fflush(oracle_file) != 0) oracle_die("flush");
}

int64_t load_now_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) oracle_die("clock");
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void load_line_put(struct load_line *line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line->text + line->len, sizeof line->text - line->len, format, args);
    va_end(args);
    if (more < 0 || (size_t)more >= sizeof line->text - line->len) oracle_die("a line is too long");
    line->len += (size_t)more;
}

// FNV-1a: enough to tell bodies apart that nobody forges.
static uint64_t hash_of(struct claimd_bytes body) {
    const uint8_t *bytes = body.data;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < body.size; i++) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

void load_line_put_body(struct load_line *line, const char *name, struct claimd_bytes body) {
    if (body.data == NULL) {
        load_line_put(line, " %s=-", name);
    } else {
        load_line_put(line, " %s=%zu:%016" PRIx64, name, body.size, hash_of(body));
    }
}

void load_line_write(const struct load_line *line, int64_t ret_ns, unsigned client,
                     const char *verb, const char *key, const char *status) {
    // One call, so that lines of threads do not mix.
    if (fprintf(oracle_file, "%" PRId64 " %" PRId64 " %u %s %s %s%.*s\n", line->call_ns, ret_ns,
                client, verb, key, status, (int)line->len, line->text) < 0) {
        oracle_die("write");
    }
}
