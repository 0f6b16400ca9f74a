/*
 * For people and their tools: get, prune, server status, health (SPEC section 6). Include
 * <claimd.h>, not this.
 */
#ifndef CLAIMD_OPERATION_H
#define CLAIMD_OPERATION_H

#include <claimd/claim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- get ------------------------------------------------------------------------------------- */

/* Start from CLAIMD_GET_REQUEST_INIT. */
struct claimd_get_request {
    size_t struct_size;     /* set by CLAIMD_GET_REQUEST_INIT */
    const char *consumer;   /* the effect's name; required */
    const char *message_id; /* the producer's key; required */
    int64_t timeout_ms;     /* how long the call may take; CLAIMD_UNSET_MS: the client's */
    bool include_bodies;    /* also bring result, checkpoint and payload */
    bool reserved[7];
};
#define CLAIMD_GET_REQUEST_INIT                                                                    \
    {                                                                                              \
        sizeof(struct claimd_get_request), NULL, NULL, CLAIMD_UNSET_MS, false, { false }           \
    }

typedef struct claimd_get_result claimd_get_result;

/* Shows one claim as it is now, without its token. Changes nothing. On CLAIMD_OK the caller owns
 * *out_result and frees it. Errors: INVALID_ARGUMENT; NOT_FOUND, which says nothing about what was
 * once done; UNAVAILABLE; DEADLINE_EXCEEDED. */
CLAIMD_API enum claimd_status claimd_get(claimd_client *client,
                                         const struct claimd_get_request *request,
                                         claimd_get_result **out_result,
                                         struct claimd_error *error);
CLAIMD_API void claimd_get_result_free(claimd_get_result *result);
/* Never NULL. */
CLAIMD_API const claimd_claim *claimd_get_result_claim(const claimd_get_result *result);

/* --- prune ----------------------------------------------------------------------------------- */

/* Told how far a prune is, on the calling thread; false ends the call with CLAIMD_CANCELLED, and
 * what was removed stays removed. */
typedef bool claimd_prune_function(void *context, uint64_t scanned_count, uint64_t removed_count);

/* Start from CLAIMD_PRUNE_REQUEST_INIT. */
struct claimd_prune_request {
    size_t struct_size;                 /* set by CLAIMD_PRUNE_REQUEST_INIT */
    const char *consumer;               /* only this consumer's; NULL: everybody's */
    int64_t before_ms;                  /* last updated before, since 1970; required */
    claimd_prune_function *on_progress; /* NULL for nobody */
    void *on_progress_context;
    /* How long the call may take; CLAIMD_UNSET_MS: an hour, whatever the client's timeout. */
    int64_t timeout_ms;
    bool dry_run; /* count only, remove nothing */
    bool force;   /* also inside the redelivery window: redelivered messages are done again */
    bool reserved[6];
};
#define CLAIMD_PRUNE_REQUEST_INIT                                                                  \
    {                                                                                              \
        sizeof(struct claimd_prune_request), NULL, CLAIMD_UNSET_MS, NULL, NULL, CLAIMD_UNSET_MS,   \
            false, false, {                                                                        \
            false                                                                                  \
        }                                                                                          \
    }

typedef struct claimd_prune_result claimd_prune_result;

/* Removes SUCCEEDED, REJECTED and DISCARDED claims last updated before a time; the same message is
 * claimed anew afterwards. On CLAIMD_OK the caller owns *out_result (may be NULL) and frees it.
 * Repeats: only what the service refused before it began, since the counts are of one call. After
 * another error a part may be removed; calling again removes the rest.
 * Errors: INVALID_ARGUMENT; FAILED_PRECONDITION with WINDOW_VIOLATION if before_ms reaches into a
 * redelivery window (see force); CANCELLED; RESOURCE_EXHAUSTED; UNAVAILABLE; DEADLINE_EXCEEDED. */
CLAIMD_API enum claimd_status claimd_prune(claimd_client *client,
                                           const struct claimd_prune_request *request,
                                           claimd_prune_result **out_result,
                                           struct claimd_error *error);
CLAIMD_API void claimd_prune_result_free(claimd_prune_result *result);
/* Records looked at, and exactly how many were removed (dry_run: would be). */
CLAIMD_API uint64_t claimd_prune_result_scanned_count(const claimd_prune_result *result);
CLAIMD_API uint64_t claimd_prune_result_removed_count(const claimd_prune_result *result);

/* --- the server ------------------------------------------------------------------------------ */

/* Start from CLAIMD_SERVER_STATUS_REQUEST_INIT. */
struct claimd_server_status_request {
    size_t struct_size; /* set by CLAIMD_SERVER_STATUS_REQUEST_INIT */
    int64_t timeout_ms; /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_SERVER_STATUS_REQUEST_INIT                                                          \
    { sizeof(struct claimd_server_status_request), CLAIMD_UNSET_MS }

typedef struct claimd_server_status_result claimd_server_status_result;

/* The server's version, durability and counts. Changes nothing. On CLAIMD_OK the caller owns
 * *out_result and frees it. Errors: UNAVAILABLE; DEADLINE_EXCEEDED. */
CLAIMD_API enum claimd_status claimd_server_status(
    claimd_client *client, const struct claimd_server_status_request *request,
    claimd_server_status_result **out_result, struct claimd_error *error);
CLAIMD_API void claimd_server_status_result_free(claimd_server_status_result *result);
CLAIMD_API const char *claimd_server_status_result_version(
    const claimd_server_status_result *result);
/* When the process started, since 1970. */
CLAIMD_API int64_t
claimd_server_status_result_start_time_ms(const claimd_server_status_result *result);
/* An answer may come before the change is on disk. */
CLAIMD_API bool claimd_server_status_result_durability_relaxed(
    const claimd_server_status_result *result);
/* Position of the last group of changes that is on disk. */
CLAIMD_API uint64_t
claimd_server_status_result_applied_position(const claimd_server_status_result *result);
/* How long the store has been served in all: the time that decides every deadline. */
CLAIMD_API int64_t
claimd_server_status_result_store_time_ms(const claimd_server_status_result *result);
/* Stored records in a state, and Begins with an outcome since the start. */
CLAIMD_API uint64_t claimd_server_status_result_records(const claimd_server_status_result *result,
                                                        enum claimd_state state);
CLAIMD_API uint64_t claimd_server_status_result_begins(const claimd_server_status_result *result,
                                                       enum claimd_begin_outcome outcome);
/* CLAIMED Begins of a replay, since the start. */
CLAIMD_API uint64_t
claimd_server_status_result_replay_claimed_count(const claimd_server_status_result *result);
/* How long duplicates are recognised, and how long the broker is taken to redeliver. */
CLAIMD_API int64_t
claimd_server_status_result_retention_ms(const claimd_server_status_result *result);
CLAIMD_API int64_t
claimd_server_status_result_redelivery_window_ms(const claimd_server_status_result *result);
/* New claims are refused because the disk is nearly full. */
CLAIMD_API bool claimd_server_status_result_disk_reserve_reached(
    const claimd_server_status_result *result);

/* --- health ---------------------------------------------------------------------------------- */

/* Start from CLAIMD_HEALTH_REQUEST_INIT. */
struct claimd_health_request {
    size_t struct_size;  /* set by CLAIMD_HEALTH_REQUEST_INIT */
    const char *service; /* e.g. "claimd.v1.ClaimService"; NULL: the server as a whole */
    int64_t timeout_ms;  /* how long the call may take; CLAIMD_UNSET_MS: the client's */
};
#define CLAIMD_HEALTH_REQUEST_INIT                                                                 \
    { sizeof(struct claimd_health_request), NULL, CLAIMD_UNSET_MS }

/* Asks the standard gRPC health service. On CLAIMD_OK *out_serving says whether it takes calls.
 * Errors: NOT_FOUND (no such service); UNAVAILABLE; DEADLINE_EXCEEDED. */
CLAIMD_API enum claimd_status claimd_health(claimd_client *client,
                                            const struct claimd_health_request *request,
                                            bool *out_serving, struct claimd_error *error);

#ifdef __cplusplus
}
#endif

#endif
