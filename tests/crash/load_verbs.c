#include "load_verbs.h"

#include <inttypes.h>
#include <stdio.h>

// Long enough for the slowest disk; a server that was killed is noticed at once.
#define CALL_TIMEOUT_MS 20000

static struct load_line line_begin(struct load_client *client) {
    client->tries = 1;
    struct load_line line = {.call_ns = load_now_ns()};
    return line;
}

// Ends a line; status and error as the call left them.
static enum load_verdict line_end(struct load_client *client, struct load_line *line,
                                  const char *verb, const struct load_key *key,
                                  enum claimd_status status, const struct claimd_error *error) {
    int64_t ret_ns = load_now_ns();
    if (client->tries > 1) load_line_put(line, " tries=%u", client->tries);
    if (status == CLAIMD_OK) {
        load_line_write(line, ret_ns, client->number, verb, key->text, "ok");
        return LOAD_OK;
    }
    if (error->state != CLAIMD_STATE_UNSPECIFIED) {
        load_line_put(line, " state=%s", claimd_state_name(error->state));
    }
    // Whether an earlier try of the library had its effect is told by "tries"; the last one's
    // answer is certain by itself if it is the service's own and not about a failure inside it.
    bool sure = error->reason[0] != '\0' &&
                (status == CLAIMD_NOT_FOUND || status == CLAIMD_FAILED_PRECONDITION ||
                 status == CLAIMD_RESOURCE_EXHAUSTED || status == CLAIMD_UNAVAILABLE ||
                 status == CLAIMD_INVALID_ARGUMENT);
    if (!sure) load_line_put(line, " code=%s", claimd_status_name(status));
    load_line_write(line, ret_ns, client->number, verb, key->text, sure ? error->reason : "unsure");
    return sure ? LOAD_REFUSED : LOAD_UNSURE;
}

// --- begin --------------------------------------------------------------------------------------

static void put_begun(struct load_line *line, const claimd_begin_result *result) {
    enum claimd_begin_outcome outcome = claimd_begin_result_outcome(result);
    load_line_put(line, " outcome=%s attempt=%u", claimd_begin_outcome_name(outcome),
                  claimd_begin_result_attempt(result));
    switch (outcome) {
    case CLAIMD_BEGIN_CLAIMED: {
        const claimd_takeover *takeover = claimd_begin_result_takeover(result);
        load_line_put(line, " token=%" PRIu64 " left=%" PRId64, claimd_begin_result_token(result),
                      claimd_begin_result_lease_remaining_ms(result));
        if (takeover == NULL) return;
        load_line_put(line, " prev_end=%s prev_owner=%s",
                      claimd_attempt_end_name(claimd_takeover_previous_end(takeover)),
                      claimd_takeover_previous_owner(takeover));
        const claimd_failure *failure = claimd_takeover_last_error(takeover);
        if (claimd_failure_kind_of(failure) == CLAIMD_FAILURE_TRANSIENT) {
            load_line_put(line, " last_error=%s", claimd_failure_message(failure));
        }
        load_line_put_body(line, "checkpoint", claimd_takeover_checkpoint(takeover));
        return;
    }
    case CLAIMD_BEGIN_DUPLICATE:
        load_line_put(line, " state=%s", claimd_state_name(claimd_begin_result_state(result)));
        load_line_put_body(line, "result", claimd_begin_result_stored_result(result));
        load_line_put(line, " reason=%s", claimd_begin_result_reason(result));
        return;
    case CLAIMD_BEGIN_OUTCOME_UNKNOWN:
        load_line_put_body(line, "checkpoint", claimd_begin_result_checkpoint(result));
        return;
    case CLAIMD_BEGIN_IN_FLIGHT:
    case CLAIMD_BEGIN_NOT_YET:
        load_line_put(line, " retry_after=%" PRId64, claimd_begin_result_retry_after_ms(result));
        return;
    case CLAIMD_BEGIN_DEAD_LETTERED:
    case CLAIMD_BEGIN_OUT_OF_ORDER:
    case CLAIMD_BEGIN_UNSPECIFIED:
        return;
    }
}

enum load_verdict load_begin(struct load_client *client, const struct load_key *key,
                             const struct load_begin *begin, struct load_begun *out) {
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    struct claimd_error error;
    claimd_begin_result *result = NULL;
    request.consumer = key->consumer;
    request.message_id = key->message_id;
    request.lease_ms = begin->lease_ms;
    request.wait_ms = begin->wait_ms;
    request.owner = client->owner;
    request.request_id = begin->request_id;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_begin(client->rpc, &request, &result, &error);
    load_line_put(&line, " rid=%s owner=%s lease=%" PRId64, begin->request_id, client->owner,
                  begin->lease_ms);
    if (status == CLAIMD_OK) {
        put_begun(&line, result);
        out->outcome = claimd_begin_result_outcome(result);
        out->token = claimd_begin_result_token(result);
        claimd_begin_result_free(result);
    }
    return line_end(client, &line, "begin", key, status, &error);
}

// --- ends ---------------------------------------------------------------------------------------

static void put_answer(struct load_line *line, enum claimd_state state, bool replayed) {
    load_line_put(line, " state=%s replayed=%d", claimd_state_name(state), replayed);
}

static enum load_verdict end_complete(struct load_client *client, const struct load_claim *claim,
                                      const struct load_ending *ending) {
    struct claimd_complete_request request = CLAIMD_COMPLETE_REQUEST_INIT;
    struct claimd_error error;
    claimd_complete_result *result = NULL;
    request.consumer = claim->key.consumer;
    request.message_id = claim->key.message_id;
    request.token = claim->token;
    request.result = ending->result;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_complete(client->rpc, &request, &result, &error);
    load_line_put(&line, " token=%" PRIu64, claim->token);
    load_line_put_body(&line, "result", ending->result);
    if (status == CLAIMD_OK) {
        put_answer(&line, claimd_complete_result_state(result),
                   claimd_complete_result_replayed(result));
        claimd_complete_result_free(result);
    }
    return line_end(client, &line, "complete", &claim->key, status, &error);
}

static enum load_verdict end_reject(struct load_client *client, const struct load_claim *claim,
                                    const struct load_ending *ending) {
    struct claimd_reject_request request = CLAIMD_REJECT_REQUEST_INIT;
    struct claimd_error error;
    claimd_reject_result *result = NULL;
    request.consumer = claim->key.consumer;
    request.message_id = claim->key.message_id;
    request.token = claim->token;
    request.reason = ending->text;
    request.result = ending->result;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_reject(client->rpc, &request, &result, &error);
    load_line_put(&line, " token=%" PRIu64 " reason=%s", claim->token, ending->text);
    load_line_put_body(&line, "result", ending->result);
    if (status == CLAIMD_OK) {
        put_answer(&line, claimd_reject_result_state(result),
                   claimd_reject_result_replayed(result));
        claimd_reject_result_free(result);
    }
    return line_end(client, &line, "reject", &claim->key, status, &error);
}

static enum load_verdict end_fail(struct load_client *client, const struct load_claim *claim,
                                  const struct load_ending *ending) {
    struct claimd_fail_request request = CLAIMD_FAIL_REQUEST_INIT;
    struct claimd_error error;
    claimd_fail_result *result = NULL;
    request.consumer = claim->key.consumer;
    request.message_id = claim->key.message_id;
    request.token = claim->token;
    request.kind = ending->kind;
    request.message = ending->text;
    request.retry_after_ms = ending->retry_after_ms;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_fail(client->rpc, &request, &result, &error);
    load_line_put(&line, " token=%" PRIu64 " kind=%s message=%s", claim->token,
                  claimd_failure_kind_name(ending->kind), ending->text);
    if (status == CLAIMD_OK) {
        put_answer(&line, claimd_fail_result_state(result), claimd_fail_result_replayed(result));
        if (claimd_fail_result_state(result) == CLAIMD_STATE_RETRYING) {
            load_line_put(&line, " retry_after=%" PRId64,
                          claimd_fail_result_retry_after_ms(result));
        }
        claimd_fail_result_free(result);
    }
    return line_end(client, &line, "fail", &claim->key, status, &error);
}

static enum load_verdict end_release(struct load_client *client, const struct load_claim *claim) {
    struct claimd_release_request request = CLAIMD_RELEASE_REQUEST_INIT;
    struct claimd_error error;
    claimd_release_result *result = NULL;
    request.consumer = claim->key.consumer;
    request.message_id = claim->key.message_id;
    request.token = claim->token;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_release(client->rpc, &request, &result, &error);
    load_line_put(&line, " token=%" PRIu64, claim->token);
    if (status == CLAIMD_OK) {
        put_answer(&line, claimd_release_result_state(result),
                   claimd_release_result_replayed(result));
        claimd_release_result_free(result);
    }
    return line_end(client, &line, "release", &claim->key, status, &error);
}

enum load_verdict load_end(struct load_client *client, const struct load_claim *claim,
                           const struct load_ending *ending) {
    switch (ending->end) {
    case LOAD_COMPLETE:
        return end_complete(client, claim, ending);
    case LOAD_REJECT:
        return end_reject(client, claim, ending);
    case LOAD_FAIL:
        return end_fail(client, claim, ending);
    case LOAD_RELEASE:
        break;
    }
    return end_release(client, claim);
}

// --- the others ---------------------------------------------------------------------------------

enum load_verdict load_renew(struct load_client *client, const struct load_claim *claim,
                             int64_t lease_ms, struct claimd_bytes checkpoint) {
    struct claimd_renew_request request = CLAIMD_RENEW_REQUEST_INIT;
    struct claimd_error error;
    claimd_renew_result *result = NULL;
    request.consumer = claim->key.consumer;
    request.message_id = claim->key.message_id;
    request.token = claim->token;
    request.lease_ms = lease_ms;
    request.checkpoint = checkpoint;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_renew(client->rpc, &request, &result, &error);
    load_line_put(&line, " token=%" PRIu64 " lease=%" PRId64, claim->token, lease_ms);
    load_line_put_body(&line, "checkpoint", checkpoint);
    if (status == CLAIMD_OK) {
        load_line_put(&line, " left=%" PRId64 " lapsed=%d",
                      claimd_renew_result_lease_remaining_ms(result),
                      claimd_renew_result_lapsed(result));
        claimd_renew_result_free(result);
    }
    return line_end(client, &line, "renew", &claim->key, status, &error);
}

enum load_verdict load_register(struct load_client *client, const struct load_key *key) {
    struct claimd_register_request request = CLAIMD_REGISTER_REQUEST_INIT;
    struct claimd_error error;
    claimd_register_result *result = NULL;
    request.consumer = key->consumer;
    request.message_id = key->message_id;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_register(client->rpc, &request, &result, &error);
    if (status == CLAIMD_OK) {
        load_line_put(&line, " created=%d state=%s", claimd_register_result_created(result),
                      claimd_state_name(claimd_register_result_state(result)));
        claimd_register_result_free(result);
    }
    return line_end(client, &line, "register", key, status, &error);
}

enum load_verdict load_cancel(struct load_client *client, const struct load_key *key,
                              const char *reason) {
    struct claimd_cancel_request request = CLAIMD_CANCEL_REQUEST_INIT;
    struct claimd_error error;
    claimd_cancel_result *result = NULL;
    request.consumer = key->consumer;
    request.message_id = key->message_id;
    request.reason = reason;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_cancel(client->rpc, &request, &result, &error);
    load_line_put(&line, " reason=%s", reason);
    if (status == CLAIMD_OK) {
        put_answer(&line, claimd_cancel_result_state(result),
                   claimd_cancel_result_replayed(result));
        claimd_cancel_result_free(result);
    }
    return line_end(client, &line, "cancel", key, status, &error);
}

enum load_verdict load_resolve(struct load_client *client, const struct load_key *key,
                               enum claimd_resolution resolution, struct claimd_bytes result,
                               const char *reason) {
    static const char *const names[] = {"", "succeeded", "rejected", "retry", "dead_letter"};
    struct claimd_resolve_request request = CLAIMD_RESOLVE_REQUEST_INIT;
    struct claimd_error error;
    claimd_resolve_result *answer = NULL;
    request.consumer = key->consumer;
    request.message_id = key->message_id;
    request.resolution = resolution;
    request.result = result;
    request.reason = reason;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_resolve(client->rpc, &request, &answer, &error);
    load_line_put(&line, " as=%s reason=%s", names[resolution], reason);
    load_line_put_body(&line, "result", result);
    if (status == CLAIMD_OK) {
        load_line_put(&line, " state=%s", claimd_state_name(claimd_resolve_result_state(answer)));
        claimd_resolve_result_free(answer);
    }
    return line_end(client, &line, "resolve", key, status, &error);
}

enum load_verdict load_get(struct load_client *client, const struct load_key *key,
                           bool *out_final) {
    struct claimd_get_request request = CLAIMD_GET_REQUEST_INIT;
    struct claimd_error error;
    claimd_get_result *result = NULL;
    request.consumer = key->consumer;
    request.message_id = key->message_id;
    request.include_bodies = true;
    request.timeout_ms = CALL_TIMEOUT_MS;
    struct load_line line = line_begin(client);
    enum claimd_status status = claimd_get(client->rpc, &request, &result, &error);
    if (status == CLAIMD_OK) {
        const claimd_claim *claim = claimd_get_result_claim(result);
        load_line_put(&line, " state=%s attempt=%u retries=%u,%u,%u,%u reason=%s",
                      claimd_state_name(claimd_claim_state(claim)), claimd_claim_attempt(claim),
                      claimd_claim_retries(claim, CLAIMD_FAILURE_TRANSIENT),
                      claimd_claim_retries(claim, CLAIMD_FAILURE_UNCLASSIFIED),
                      claimd_claim_retries(claim, CLAIMD_FAILURE_POISON),
                      claimd_claim_retries(claim, CLAIMD_FAILURE_LAPSED),
                      claimd_claim_reason(claim));
        load_line_put_body(&line, "result", claimd_claim_body(claim, CLAIMD_BODY_RESULT));
        load_line_put_body(&line, "checkpoint", claimd_claim_body(claim, CLAIMD_BODY_CHECKPOINT));
        if (out_final != NULL) {
            *out_final = claimd_claim_state(claim) == CLAIMD_STATE_SUCCEEDED ||
                         claimd_claim_state(claim) == CLAIMD_STATE_REJECTED;
        }
        claimd_get_result_free(result);
    }
    return line_end(client, &line, "get", key, status, &error);
}
