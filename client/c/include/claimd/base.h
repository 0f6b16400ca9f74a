/*
 * What all of libclaimd's headers share: values, enums and errors. Include <claimd.h>, not this.
 *
 * Everything here may be called from any thread at any time.
 */
#ifndef CLAIMD_BASE_H
#define CLAIMD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CLAIMD_API __attribute__((visibility("default")))
#else
#define CLAIMD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers; claimd_version() is that of the library. */
#define CLAIMD_VERSION_STRING "0.1.0"

/* The library's version, e.g. "0.1.0". Static. */
CLAIMD_API const char *claimd_version(void);

/* "Not given" for every duration and time, in milliseconds. Zero is a value like any other. */
#define CLAIMD_UNSET_MS INT64_MIN

/* Borrowed bytes. data == NULL means absent; a size of 0 with data != NULL is an empty body, which
 * claimd keeps apart from an absent one. */
struct claimd_bytes {
    const void *data;
    size_t size;
};
#define CLAIMD_BYTES_ABSENT                                                                        \
    { NULL, 0 }

/* The bytes of a NUL-terminated text, without the NUL; absent for NULL. */
static inline struct claimd_bytes claimd_bytes_of(const char *text) {
    struct claimd_bytes bytes = CLAIMD_BYTES_ABSENT;
    if (text != NULL) {
        bytes.data = text;
        while (text[bytes.size] != '\0') bytes.size++;
    }
    return bytes;
}

/* Where a claim stands (SPEC section 3). */
enum claimd_state {
    CLAIMD_STATE_UNSPECIFIED = 0,   /* not told */
    CLAIMD_STATE_RECEIVED = 1,      /* known and waiting; claimable now */
    CLAIMD_STATE_PROCESSING = 2,    /* held, or its lease has lapsed and nobody took over */
    CLAIMD_STATE_RETRYING = 3,      /* failed; claimable from its next attempt time on */
    CLAIMD_STATE_UNKNOWN = 4,       /* nobody knows whether the effect happened */
    CLAIMD_STATE_SUCCEEDED = 5,     /* final: done */
    CLAIMD_STATE_REJECTED = 6,      /* final: refused or cancelled */
    CLAIMD_STATE_DEAD_LETTERED = 7, /* retries used up, or poison; needs a person */
    CLAIMD_STATE_DISCARDED = 8      /* final: a dead letter that an operator dropped */
};

/* What sort of failure (SPEC section 5); the policy limits retries by kind. */
enum claimd_failure_kind {
    CLAIMD_FAILURE_UNSPECIFIED = 0,     /* not given: refused in a request */
    CLAIMD_FAILURE_TRANSIENT = 1,       /* worth another try */
    CLAIMD_FAILURE_UNCLASSIFIED = 2,    /* the handler cannot tell */
    CLAIMD_FAILURE_POISON = 3,          /* will never work */
    CLAIMD_FAILURE_OUTCOME_UNKNOWN = 4, /* the effect may have happened */
    CLAIMD_FAILURE_LAPSED = 5           /* the lease ran out; set by the service only */
};

/* How an attempt ended. */
enum claimd_attempt_end {
    CLAIMD_END_UNSPECIFIED = 0, /* it runs */
    CLAIMD_END_LAPSED = 1,      /* its lease ran out */
    CLAIMD_END_FAILED = 2,      /* fail */
    CLAIMD_END_RELEASED = 3,    /* release */
    CLAIMD_END_RECLAIMED = 4,   /* its own owner took it over */
    CLAIMD_END_EXPIRED = 5,     /* an operator ended its lease */
    CLAIMD_END_COMPLETED = 6,   /* complete, before a reopen */
    CLAIMD_END_REJECTED = 7     /* reject, before a reopen */
};

/* The words of the API for these values ("PROCESSING", "TRANSIENT", "LAPSED"); "UNRECOGNIZED" for a
 * value of a newer service. Static. */
CLAIMD_API const char *claimd_state_name(enum claimd_state state);
CLAIMD_API const char *claimd_failure_kind_name(enum claimd_failure_kind kind);
CLAIMD_API const char *claimd_attempt_end_name(enum claimd_attempt_end end);

/* The status of a call: gRPC's canonical codes (SPEC section 8). */
enum claimd_status {
    CLAIMD_OK = 0,
    CLAIMD_CANCELLED = 1,
    CLAIMD_UNKNOWN = 2,
    CLAIMD_INVALID_ARGUMENT = 3,  /* see field; also found by the library itself */
    CLAIMD_DEADLINE_EXCEEDED = 4, /* the call's time was up */
    CLAIMD_NOT_FOUND = 5,         /* says nothing about what was once done */
    CLAIMD_ALREADY_EXISTS = 6,
    CLAIMD_PERMISSION_DENIED = 7,
    CLAIMD_RESOURCE_EXHAUSTED = 8,  /* queues full, quota, disk reserve; or no memory here */
    CLAIMD_FAILED_PRECONDITION = 9, /* see reason: STALE_TOKEN, WRONG_STATE, ... */
    CLAIMD_ABORTED = 10,
    CLAIMD_OUT_OF_RANGE = 11,
    CLAIMD_UNIMPLEMENTED = 12, /* the service is older than this library */
    CLAIMD_INTERNAL = 13,
    CLAIMD_UNAVAILABLE = 14, /* not reachable, or draining */
    CLAIMD_DATA_LOSS = 15,
    CLAIMD_UNAUTHENTICATED = 16
};

/* "FAILED_PRECONDITION" and so on; "UNRECOGNIZED" for another number. Static. */
CLAIMD_API const char *claimd_status_name(enum claimd_status status);

/* Why a call failed. Owned by the caller, without pointers, written by every call (a call that
 * succeeds sets status to CLAIMD_OK and the rest to "none"). Every call accepts NULL instead.
 * Decide by status, reason and the two flags; message is for people and changes from version to
 * version. */
struct claimd_error {
    enum claimd_status status;
    /* The state that the claim was found in, where the service tells (STALE_TOKEN, WRONG_STATE). */
    enum claimd_state state;
    /* The same call may succeed later, unchanged. */
    bool retryable;
    /* The change may have been made although no answer came: find out by repeating the call. */
    bool maybe_happened;
    /* When the service suggests to try again, from now; CLAIMD_UNSET_MS if it does not. */
    int64_t retry_after_ms;
    /* The service's reason, in capitals; empty if the answer was not the service's own. */
    char reason[64];
    /* INVALID_ARGUMENT: the field, as the proto names it. */
    char field[128];
    /* For people; UTF-8, cut to fit. */
    char message[1024];
    /* Room for additions. */
    uint64_t reserved[8];
};

/* True if the error says that the token is no longer the claim's: somebody took over, or an
 * operator decided. The caller has lost the claim and must not go on with its effect. error may be
 * NULL. */
CLAIMD_API bool claimd_error_is_stale_token(const struct claimd_error *error);

/* The clock that claimd_begin_result_lease_deadline_ms is read on, now: milliseconds of
 * CLOCK_BOOTTIME, which goes on while the machine sleeps, as leases do. */
CLAIMD_API int64_t claimd_clock_ms(void);

/* Joins the parts of a composite key into a message ID (SPEC section 2): `%` and `:` in each part
 * are percent-encoded ("%25", "%3A"), the parts are joined with `:`. The same in every client
 * language; different parts never give the same key. The caller frees it with claimd_free. NULL if
 * count is 0, a part is NULL (errno EINVAL) or memory is out (errno ENOMEM). */
CLAIMD_API char *claimd_key_join(const char *const *parts, size_t count);

/* Frees what claimd_key_join made; NULL is fine. */
CLAIMD_API void claimd_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
