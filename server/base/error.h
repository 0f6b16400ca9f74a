// The one list of operating errors.
//
// Expected answers of a claim are outcomes (data), broken invariants are CHECKs; what is left is an
// error: a code from this table, returned by value. It is logged only where it is handled.
#pragma once

#include <stdbool.h>

// name, reason sent to clients, canonical gRPC status code, may the caller retry unchanged
#define ERR_TABLE(X)                                                                               \
    X(ERR_OK, "OK", 0, false)                                                                      \
    X(ERR_INVALID_ARGUMENT, "INVALID_ARGUMENT", 3, false)                                          \
    X(ERR_NOT_FOUND, "NOT_FOUND", 5, false)                                                        \
    X(ERR_STALE_TOKEN, "STALE_TOKEN", 9, false)                                                    \
    X(ERR_WRONG_STATE, "WRONG_STATE", 9, false)                                                    \
    X(ERR_FINGERPRINT_MISMATCH, "FINGERPRINT_MISMATCH", 9, false)                                  \
    X(ERR_MAX_HOLD, "MAX_HOLD", 9, false)                                                          \
    X(ERR_WINDOW_VIOLATION, "WINDOW_VIOLATION", 9, false)                                          \
    X(ERR_QUEUE_FULL, "QUEUE_FULL", 8, true)                                                       \
    X(ERR_DISK_RESERVE, "DISK_RESERVE", 8, true)                                                   \
    X(ERR_CONSUMER_QUOTA, "CONSUMER_QUOTA", 8, false)                                              \
    X(ERR_TOKENS_EXHAUSTED, "TOKENS_EXHAUSTED", 8, false)                                          \
    X(ERR_NO_MEMORY, "NO_MEMORY", 8, true)                                                         \
    X(ERR_DRAINING, "DRAINING", 14, true)                                                          \
    X(ERR_UNIMPLEMENTED, "UNIMPLEMENTED", 12, false)                                               \
    X(ERR_CANCELLED, "CANCELLED", 1, true)                                                         \
    X(ERR_WOULD_BLOCK, "WOULD_BLOCK", 13, true)                                                    \
    X(ERR_CORRUPT, "CORRUPT", 15, false)                                                           \
    X(ERR_IO, "IO", 13, false)                                                                     \
    X(ERR_EXISTS, "EXISTS", 6, false)                                                              \
    X(ERR_LOCKED, "LOCKED", 9, true)

enum err {
#define ERR_ENUM(name, reason, grpc, retry) name,
    ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
};

#define MUST_CHECK __attribute__((warn_unused_result))

// The upper-case reason: ErrorInfo.reason on the wire, and the word in logs. Never NULL.
const char *error_reason(enum err err);

// The canonical gRPC status code.
int error_grpc_code(enum err err);

// True if the same request may succeed later.
bool error_is_retryable(enum err err);

// Detail text for start-up and configuration errors: a caller's fixed buffer.
struct error_detail {
    char text[512];
};

// Formats a detail; longer texts are cut. detail may be NULL.
void error_detail_set(struct error_detail *detail, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
