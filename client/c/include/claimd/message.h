/*
 * The verbs of a message that need no token: register, cancel, resolve (SPEC section 4). Include
 * <claimd.h>, not this.
 *
 * All of them: durable before they return. out_result may be NULL if the answer does not matter;
 * otherwise, on CLAIMD_OK, the caller owns *out_result and frees it. Errors of all:
 * INVALID_ARGUMENT; RESOURCE_EXHAUSTED; UNAVAILABLE; DEADLINE_EXCEEDED.
 */
#ifndef CLAIMD_MESSAGE_H
#define CLAIMD_MESSAGE_H

#include <claimd/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- register -------------------------------------------------------------------------------- */

/* Start from CLAIMD_REGISTER_REQUEST_INIT. */
struct claimd_register_request {
    size_t struct_size;      /* set by CLAIMD_REGISTER_REQUEST_INIT */
    const char *consumer;    /* the effect's name, 1 to 128 bytes; required */
    const char *message_id;  /* the producer's key, 1 to 1,024 bytes; required */
    int64_t event_time_ms;   /* when the event happened, since 1970; or CLAIMD_UNSET_MS */
    const char *payload_ref; /* where the message is, at most 1,024 bytes; NULL for none */
    int64_t timeout_ms;      /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_REGISTER_REQUEST_INIT                                                               \
    { sizeof(struct claimd_register_request), NULL, NULL, CLAIMD_UNSET_MS, NULL, CLAIMD_UNSET_MS }

typedef struct claimd_register_result claimd_register_result;

/* Makes the message known (RECEIVED) if it is not, without claiming it. A repeat of a call whose
 * answer got lost finds the record and says created = false. */
CLAIMD_API enum claimd_status claimd_register(claimd_client *client,
                                              const struct claimd_register_request *request,
                                              claimd_register_result **out_result,
                                              struct claimd_error *error);
CLAIMD_API void claimd_register_result_free(claimd_register_result *result);
/* This call made the record. */
CLAIMD_API bool claimd_register_result_created(const claimd_register_result *result);
/* The state of the claim. */
CLAIMD_API enum claimd_state claimd_register_result_state(const claimd_register_result *result);

/* --- cancel ---------------------------------------------------------------------------------- */

/* Start from CLAIMD_CANCEL_REQUEST_INIT. */
struct claimd_cancel_request {
    size_t struct_size;     /* set by CLAIMD_CANCEL_REQUEST_INIT */
    const char *consumer;   /* the effect's name, 1 to 128 bytes; required */
    const char *message_id; /* the producer's key, 1 to 1,024 bytes; required */
    const char *reason;     /* why, at most 4 KiB; NULL for none */
    int64_t timeout_ms;     /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_CANCEL_REQUEST_INIT                                                                 \
    { sizeof(struct claimd_cancel_request), NULL, NULL, NULL, CLAIMD_UNSET_MS }

typedef struct claimd_cancel_result claimd_cancel_result;

/* Refuses a message for good, also one never begun: later Begins are DUPLICATE. Also errs with
 * FAILED_PRECONDITION, WRONG_STATE unless absent, RECEIVED, RETRYING, or cancelled before. */
CLAIMD_API enum claimd_status claimd_cancel(claimd_client *client,
                                            const struct claimd_cancel_request *request,
                                            claimd_cancel_result **out_result,
                                            struct claimd_error *error);
CLAIMD_API void claimd_cancel_result_free(claimd_cancel_result *result);
/* REJECTED. */
CLAIMD_API enum claimd_state claimd_cancel_result_state(const claimd_cancel_result *result);
/* It was cancelled before; the first reason stands. */
CLAIMD_API bool claimd_cancel_result_replayed(const claimd_cancel_result *result);

/* --- resolve --------------------------------------------------------------------------------- */

/* What resolve makes of an unknown outcome. */
enum claimd_resolution {
    CLAIMD_RESOLVE_UNSPECIFIED = 0, /* refused */
    CLAIMD_RESOLVE_SUCCEEDED = 1,   /* the effect happened */
    CLAIMD_RESOLVE_REJECTED = 2,    /* it was refused */
    CLAIMD_RESOLVE_RETRY = 3,       /* it did not happen: RECEIVED */
    CLAIMD_RESOLVE_DEAD_LETTER = 4  /* a person must look */
};

/* Start from CLAIMD_RESOLVE_REQUEST_INIT. */
struct claimd_resolve_request {
    size_t struct_size;                /* set by CLAIMD_RESOLVE_REQUEST_INIT */
    const char *consumer;              /* as it was begun; required */
    const char *message_id;            /* as it was begun; required */
    enum claimd_resolution resolution; /* required */
    struct claimd_bytes result;        /* SUCCEEDED and REJECTED only, at most 64 KiB */
    const char *reason;                /* why, at most 4 KiB; NULL for none */
    int64_t timeout_ms; /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_RESOLVE_REQUEST_INIT                                                                \
    {                                                                                              \
        sizeof(struct claimd_resolve_request), NULL, NULL, CLAIMD_RESOLVE_UNSPECIFIED,             \
            CLAIMD_BYTES_ABSENT, NULL, CLAIMD_UNSET_MS                                             \
    }

typedef struct claimd_resolve_result claimd_resolve_result;

/* Settles a claim whose outcome is UNKNOWN. Also errs with NOT_FOUND, and with FAILED_PRECONDITION,
 * WRONG_STATE unless UNKNOWN. A repeat of a call whose answer got lost finds the claim settled and
 * ends in WRONG_STATE with maybe_happened set: look with claimd_get. */
CLAIMD_API enum claimd_status claimd_resolve(claimd_client *client,
                                             const struct claimd_resolve_request *request,
                                             claimd_resolve_result **out_result,
                                             struct claimd_error *error);
CLAIMD_API void claimd_resolve_result_free(claimd_resolve_result *result);
/* SUCCEEDED, REJECTED, RECEIVED or DEAD_LETTERED. */
CLAIMD_API enum claimd_state claimd_resolve_result_state(const claimd_resolve_result *result);

#ifdef __cplusplus
}
#endif

#endif
