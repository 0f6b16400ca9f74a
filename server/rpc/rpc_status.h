// What a refused call is told: a gRPC status with google.rpc details, from an enum err.
//
// Owns the texts that people read and the packed google.rpc.Status of `grpc-status-details-bin`.
// Never tells a current token, nor anything about a claim on a fingerprint mismatch. Texts are
// ASCII, contain nothing a client sent but numbers, and say what to do. Cannot fail: all memory is
// the caller's. Thread-safe, having no state.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/policy.h"

struct engine_op;

#define RPC_STATUS_DOMAIN "claimd" // ErrorInfo.domain
#define RPC_STATUS_TEXT_BYTES 512  // with the NUL; server-made messages stay under 1 KiB
#define RPC_STATUS_DETAILS_BYTES 1536

// Why an argument was refused. field is the path as in the proto, e.g. "lease" or "lease.nanos";
// for a field that the server does not know its number; "request" if the bytes are no message.
struct rpc_fault {
    char field[48];
    char limit[64]; // the bound that was broken, e.g. "100 ms to 24 h"; empty if there is none
    char text[256];
};

// Fills a fault in; too long texts are cut. limit may be NULL.
void rpc_fault_set(struct rpc_fault *fault, const char *field, const char *limit,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

// Everything that the answer is made from. Zero is "not known" for all but err.
struct rpc_status_cause {
    enum err err;                   // not ERR_OK
    const struct rpc_fault *fault;  // ERR_INVALID_ARGUMENT from decoding
    const struct engine_op *op;     // a finished operation: tells the verb, its token, the state
    bool begun;                     // a prune that ended early: part of it may be done
    const struct policy *policy;    // the one the operation was decided by
    struct optional_ms retry_delay; // instead of the error's own; only where a retry helps
};

struct rpc_status {
    int code; // canonical gRPC status code
    char message[RPC_STATUS_TEXT_BYTES];
    uint8_t details[RPC_STATUS_DETAILS_BYTES]; // a packed google.rpc.Status
    size_t details_len;
};

void rpc_status_make(const struct rpc_status_cause *cause, struct rpc_status *out);
