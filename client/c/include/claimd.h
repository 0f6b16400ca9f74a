/*
 * libclaimd: the C client of claimd, an idempotency service for message consumers.
 *
 * A consumer claims a message before its effect and completes it after:
 *
 *     struct claimd_options options = CLAIMD_OPTIONS_INIT;
 *     struct claimd_error error;
 *     claimd_client *client;
 *     options.target = "127.0.0.1:7420";
 *     if (claimd_client_open(&options, &client, &error) != CLAIMD_OK) ...
 *
 *     struct claimd_begin_request begin = CLAIMD_BEGIN_REQUEST_INIT;
 *     claimd_begin_result *claim;
 *     begin.consumer = "billing/capture";
 *     begin.message_id = "pi_123:captured";
 *     if (claimd_begin(client, &begin, &claim, &error) != CLAIMD_OK) ...
 *
 *     if (claimd_begin_result_outcome(claim) == CLAIMD_BEGIN_CLAIMED) {
 *         ... the effect, before claimd_begin_result_lease_deadline_ms(claim) ...
 *         struct claimd_complete_request complete = CLAIMD_COMPLETE_REQUEST_INIT;
 *         complete.consumer = begin.consumer;
 *         complete.message_id = begin.message_id;
 *         complete.token = claimd_begin_result_token(claim);
 *         claimd_complete(client, &complete, NULL, &error);
 *     }
 *     claimd_begin_result_free(claim);
 *
 * What the service promises is in docs/SEMANTICS.md. This page says how the library behaves:
 *
 *  - Every call blocks until it is answered or its time is up. A client may be used by any number
 *    of threads at once; they share one connection, which is made and remade as needed.
 *  - An expected answer (a duplicate, say) is an outcome in the result. An error is a status other
 *    than CLAIMD_OK, described by struct claimd_error; then no result is written.
 *  - A call is repeated by the library while its time lasts if the service cannot be reached or the
 *    answer got lost. Repeating is safe: Begin repeats its request_id, which brings the same token
 *    again; the other verbs are answered the same again. Where a repeat can be told from a first
 *    time, the verb's own page says how. After an error with maybe_happened set, call again with
 *    the same arguments (for Begin: the same request_id).
 *  - Requests are plain structs that the INIT macro of the same name fills with "not given". Always
 *    start from that macro: zeroed memory is not the same. Text is NUL-terminated UTF-8. The
 *    library keeps no pointer into a request after the call.
 *  - Results are opaque and belong to the caller, who frees them with the function of the same
 *    name. What a getter returns lives as long as the result. A result does not change, so threads
 *    may read it together. It does not depend on the client and may outlive it.
 *  - Durations and times are int64_t milliseconds; CLAIMD_UNSET_MS means "none". Zero is a value.
 *  - A process that forks must open its clients after the fork, in the process that uses them.
 *
 * The interface is C99 and C++. It grows by additions only: structs at their end (struct_size says
 * which version a caller was compiled with), enums by values; treat a value that you do not know as
 * an outcome that you cannot act on.
 */
#ifndef CLAIMD_H
#define CLAIMD_H

#include <claimd/base.h>
#include <claimd/client.h>
#include <claimd/begin.h>
#include <claimd/attempt.h>
#include <claimd/message.h>
#include <claimd/claim.h>
#include <claimd/operation.h>

#endif
