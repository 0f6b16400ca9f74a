/*
 * Opening and closing a client. Include <claimd.h>, not this.
 */
#ifndef CLAIMD_CLIENT_H
#define CLAIMD_CLIENT_H

#include <claimd/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One connection to one claimd, for any number of threads. */
typedef struct claimd_client claimd_client;

/* Told before the library repeats a call: why, and after how many milliseconds. Runs on the calling
 * thread; it must not block for long and must not close the client. */
typedef void claimd_retry_function(void *context, const struct claimd_error *error,
                                   int64_t delay_ms);

/* How a client behaves. Start from CLAIMD_OPTIONS_INIT. */
struct claimd_options {
    size_t struct_size; /* set by CLAIMD_OPTIONS_INIT */
    /* "host:port", or "unix:/path". Required. */
    const char *target;
    /* How long a call may take in all, repeats included, unless its request says otherwise; at
     * least 1. A Begin with a wait has that much more. CLAIMD_UNSET_MS: 10,000. */
    int64_t timeout_ms;
    /* Added to the user agent, e.g. "myapp/1.0"; NULL for none. */
    const char *user_agent;
    /* Told of each repeat; NULL for nobody. */
    claimd_retry_function *on_retry;
    void *on_retry_context;
    /* Never repeat a call: the first error is final. */
    bool no_retry;
    bool reserved[7];
};
#define CLAIMD_OPTIONS_INIT                                                                        \
    {                                                                                              \
        sizeof(struct claimd_options), NULL, CLAIMD_UNSET_MS, NULL, NULL, NULL, false, { false }   \
    }

/* Opens a client. It connects with the first call, so that an absent service is not an error here;
 * the channel is plaintext. A lost connection is noticed within 20 s even if the peer says nothing,
 * and made again at most a second after the service is back.
 * On CLAIMD_OK the caller owns *out_client. Errors: CLAIMD_INVALID_ARGUMENT (field names the
 * option), CLAIMD_RESOURCE_EXHAUSTED (no memory). */
CLAIMD_API enum claimd_status claimd_client_open(const struct claimd_options *options,
                                                 claimd_client **out_client,
                                                 struct claimd_error *error);

/* Closes a client and its connection. No call may be under way on another thread, nor start later.
 * What it claimed stays claimed until its lease ends: release it first. NULL is fine. */
CLAIMD_API void claimd_client_close(claimd_client *client);

#ifdef __cplusplus
}
#endif

#endif
