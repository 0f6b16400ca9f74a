#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"

struct error_row {
    const char *reason;
    int grpc_code;
    bool retryable;
};

static const struct error_row error_rows[] = {
#define ERR_ROW(name, reason, grpc, retry) [name] = {reason, grpc, retry},
    ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

static const struct error_row *error_row(enum err err) {
    CHECK((size_t)err < sizeof error_rows / sizeof error_rows[0]);
    return &error_rows[err];
}

const char *error_reason(enum err err) { return error_row(err)->reason; }

int error_grpc_code(enum err err) { return error_row(err)->grpc_code; }

bool error_is_retryable(enum err err) { return error_row(err)->retryable; }

void error_detail_set(struct error_detail *detail, const char *format, ...) {
    if (detail == NULL) return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail->text, sizeof detail->text, format, args);
    va_end(args);
}
