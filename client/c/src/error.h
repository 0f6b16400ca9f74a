// Filling in struct claimd_error: from the library's own findings and from what gRPC delivers.
//
// Here is the one place that says which failures are ambiguous and which are worth a repeat. An
// error pointer is never NULL in here. Thread-safe, having no state.
#pragma once

#include <claimd.h>

// "No error".
void claimd__error_clear(struct claimd_error *error);

// Where a public function writes its error: the caller's struct, or spare if that is NULL; cleared.
struct claimd_error *claimd__error_begin(struct claimd_error *given, struct claimd_error *spare);

// Each sets everything, and returns the status for `return`. Not ambiguous, not retryable.
enum claimd_status claimd__error_argument(struct claimd_error *error, const char *field,
                                          const char *message);
enum claimd_status claimd__error_memory(struct claimd_error *error);

// An answer came that is not what the protocol says: what was asked may have been done.
enum claimd_status claimd__error_garbled(struct claimd_error *error, const char *message);

// A call's end by a gRPC status that is not OK. details is a packed google.rpc.Status, or empty;
// malformed details count as none.
enum claimd_status claimd__error_status(struct claimd_error *error, int code,
                                        struct claimd_bytes message, struct claimd_bytes details);

// True if the library repeats a call that ended like this: the service cannot be reached, or the
// answer is not the service's own, so that it says nothing about the request.
bool claimd__error_is_transient(const struct claimd_error *error);

// Adds text behind the message, cut to fit.
void claimd__error_append(struct claimd_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
