/*
 * The verbs of an attempt, which need its token: complete, reject, fail, renew, release (SPEC
 * section 4). Include <claimd.h>, not this.
 *
 * All of them: durable before they return. out_result may be NULL if the answer does not matter;
 * otherwise, on CLAIMD_OK, the caller owns *out_result and frees it. A repeat of the same call, by
 * the library or by the caller, is answered the same and marked replayed (renew: acts again).
 * Errors of all: INVALID_ARGUMENT; NOT_FOUND; FAILED_PRECONDITION with STALE_TOKEN (somebody took
 * over: the effect is not yours any more) or WRONG_STATE (the attempt has ended otherwise);
 * UNAVAILABLE; DEADLINE_EXCEEDED.
 */
#ifndef CLAIMD_ATTEMPT_H
#define CLAIMD_ATTEMPT_H

#include <claimd/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- complete -------------------------------------------------------------------------------- */

/* Start from CLAIMD_COMPLETE_REQUEST_INIT. */
struct claimd_complete_request {
    size_t struct_size;         /* set by CLAIMD_COMPLETE_REQUEST_INIT */
    const char *consumer;       /* as it was begun; required */
    const char *message_id;     /* as it was begun; required */
    uint64_t token;             /* of the attempt; required */
    struct claimd_bytes result; /* what duplicates are answered with, at most 64 KiB */
    int64_t timeout_ms;         /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_COMPLETE_REQUEST_INIT                                                               \
    { sizeof(struct claimd_complete_request), NULL, NULL, 0, CLAIMD_BYTES_ABSENT, CLAIMD_UNSET_MS }

typedef struct claimd_complete_result claimd_complete_result;

/* Ends the attempt with success, also one whose lease has lapsed while nobody took over. */
CLAIMD_API enum claimd_status claimd_complete(claimd_client *client,
                                              const struct claimd_complete_request *request,
                                              claimd_complete_result **out_result,
                                              struct claimd_error *error);
CLAIMD_API void claimd_complete_result_free(claimd_complete_result *result);
/* SUCCEEDED. */
CLAIMD_API enum claimd_state claimd_complete_result_state(const claimd_complete_result *result);
/* The same was accepted before; nothing changed now. */
CLAIMD_API bool claimd_complete_result_replayed(const claimd_complete_result *result);
/* When it became final, and until when duplicates are recognised, since 1970. */
CLAIMD_API int64_t claimd_complete_result_complete_time_ms(const claimd_complete_result *result);
CLAIMD_API int64_t claimd_complete_result_expire_time_ms(const claimd_complete_result *result);

/* --- reject ---------------------------------------------------------------------------------- */

/* Start from CLAIMD_REJECT_REQUEST_INIT. */
struct claimd_reject_request {
    size_t struct_size;         /* set by CLAIMD_REJECT_REQUEST_INIT */
    const char *consumer;       /* as it was begun; required */
    const char *message_id;     /* as it was begun; required */
    uint64_t token;             /* of the attempt; required */
    const char *reason;         /* why, at most 4 KiB; NULL for none */
    struct claimd_bytes result; /* what duplicates are answered with, at most 64 KiB */
    int64_t timeout_ms;         /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_REJECT_REQUEST_INIT                                                                 \
    {                                                                                              \
        sizeof(struct claimd_reject_request), NULL, NULL, 0, NULL, CLAIMD_BYTES_ABSENT,            \
            CLAIMD_UNSET_MS                                                                        \
    }

typedef struct claimd_reject_result claimd_reject_result;

/* Ends the attempt with a business refusal: final, expected, not a fault. */
CLAIMD_API enum claimd_status claimd_reject(claimd_client *client,
                                            const struct claimd_reject_request *request,
                                            claimd_reject_result **out_result,
                                            struct claimd_error *error);
CLAIMD_API void claimd_reject_result_free(claimd_reject_result *result);
/* REJECTED. */
CLAIMD_API enum claimd_state claimd_reject_result_state(const claimd_reject_result *result);
/* The same was accepted before; nothing changed now. */
CLAIMD_API bool claimd_reject_result_replayed(const claimd_reject_result *result);
/* When it became final, and until when duplicates are recognised, since 1970. */
CLAIMD_API int64_t claimd_reject_result_complete_time_ms(const claimd_reject_result *result);
CLAIMD_API int64_t claimd_reject_result_expire_time_ms(const claimd_reject_result *result);

/* --- fail ------------------------------------------------------------------------------------ */

/* Start from CLAIMD_FAIL_REQUEST_INIT. */
struct claimd_fail_request {
    size_t struct_size;            /* set by CLAIMD_FAIL_REQUEST_INIT */
    const char *consumer;          /* as it was begun; required */
    const char *message_id;        /* as it was begun; required */
    uint64_t token;                /* of the attempt; required */
    enum claimd_failure_kind kind; /* required */
    const char *message;           /* what happened, for people; the service cuts it to 4 KiB */
    struct claimd_bytes payload;   /* at most 256 KiB; kept only if this makes a dead letter */
    int64_t retry_after_ms;        /* replaces the policy's delay, 0 to 24 h; or CLAIMD_UNSET_MS */
    int64_t timeout_ms;            /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_FAIL_REQUEST_INIT                                                                   \
    {                                                                                              \
        sizeof(struct claimd_fail_request), NULL, NULL, 0, CLAIMD_FAILURE_UNSPECIFIED, NULL,       \
            CLAIMD_BYTES_ABSENT, CLAIMD_UNSET_MS, CLAIMD_UNSET_MS                                  \
    }

typedef struct claimd_fail_result claimd_fail_result;

/* Reports a failure; the consumer's policy decides what becomes of the claim. Counted once. */
CLAIMD_API enum claimd_status claimd_fail(claimd_client *client,
                                          const struct claimd_fail_request *request,
                                          claimd_fail_result **out_result,
                                          struct claimd_error *error);
CLAIMD_API void claimd_fail_result_free(claimd_fail_result *result);
/* RETRYING, DEAD_LETTERED or UNKNOWN. */
CLAIMD_API enum claimd_state claimd_fail_result_state(const claimd_fail_result *result);
/* The same was accepted before; nothing was counted now. */
CLAIMD_API bool claimd_fail_result_replayed(const claimd_fail_result *result);
/* RETRYING: from when it can be claimed (since 1970), and how long until then (rounded up). */
CLAIMD_API int64_t claimd_fail_result_next_attempt_time_ms(const claimd_fail_result *result);
CLAIMD_API int64_t claimd_fail_result_retry_after_ms(const claimd_fail_result *result);

/* --- renew ----------------------------------------------------------------------------------- */

/* Start from CLAIMD_RENEW_REQUEST_INIT. */
struct claimd_renew_request {
    size_t struct_size;             /* set by CLAIMD_RENEW_REQUEST_INIT */
    const char *consumer;           /* as it was begun; required */
    const char *message_id;         /* as it was begun; required */
    uint64_t token;                 /* of the attempt; required */
    int64_t lease_ms;               /* from now, 100 to 86,400,000; CLAIMD_UNSET_MS: the policy's */
    struct claimd_bytes checkpoint; /* how far the work is, at most 16 KiB; absent keeps the last */
    int64_t timeout_ms;             /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_RENEW_REQUEST_INIT                                                                  \
    {                                                                                              \
        sizeof(struct claimd_renew_request), NULL, NULL, 0, CLAIMD_UNSET_MS, CLAIMD_BYTES_ABSENT,  \
            CLAIMD_UNSET_MS                                                                        \
    }

typedef struct claimd_renew_result claimd_renew_result;

/* Extends the lease from now, never shortens it. Also errs with FAILED_PRECONDITION, MAX_HOLD. */
CLAIMD_API enum claimd_status claimd_renew(claimd_client *client,
                                           const struct claimd_renew_request *request,
                                           claimd_renew_result **out_result,
                                           struct claimd_error *error);
CLAIMD_API void claimd_renew_result_free(claimd_renew_result *result);
/* As those of a begin result: deadline on claimd_clock_ms(), what was left, and wall time. */
CLAIMD_API int64_t claimd_renew_result_lease_deadline_ms(const claimd_renew_result *result);
CLAIMD_API int64_t claimd_renew_result_lease_remaining_ms(const claimd_renew_result *result);
CLAIMD_API int64_t claimd_renew_result_lease_expire_time_ms(const claimd_renew_result *result);
/* The lease had run out, though nobody had taken over: renew earlier. */
CLAIMD_API bool claimd_renew_result_lapsed(const claimd_renew_result *result);

/* --- release --------------------------------------------------------------------------------- */

/* Start from CLAIMD_RELEASE_REQUEST_INIT. */
struct claimd_release_request {
    size_t struct_size;     /* set by CLAIMD_RELEASE_REQUEST_INIT */
    const char *consumer;   /* as it was begun; required */
    const char *message_id; /* as it was begun; required */
    uint64_t token;         /* of the attempt; required */
    int64_t timeout_ms;     /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_RELEASE_REQUEST_INIT                                                                \
    { sizeof(struct claimd_release_request), NULL, NULL, 0, CLAIMD_UNSET_MS }

typedef struct claimd_release_result claimd_release_result;

/* Gives the claim back at once, counted against no limit: for a graceful shutdown. */
CLAIMD_API enum claimd_status claimd_release(claimd_client *client,
                                             const struct claimd_release_request *request,
                                             claimd_release_result **out_result,
                                             struct claimd_error *error);
CLAIMD_API void claimd_release_result_free(claimd_release_result *result);
/* RECEIVED. */
CLAIMD_API enum claimd_state claimd_release_result_state(const claimd_release_result *result);
/* The same was accepted before; nothing changed now. */
CLAIMD_API bool claimd_release_result_replayed(const claimd_release_result *result);

#ifdef __cplusplus
}
#endif

#endif
