// The verbs of an attempt: complete, reject, fail, renew, release. Each takes its token.
#include "command.h"

#define TOKEN_SPEC                                                                                 \
    { OPTION_NUMBER, 0, "token", "N", "the token that begin answered", true, 0 }
#define RESULT_SPEC                                                                                \
    { OPTION_BODY, 0, "result", NULL, "what duplicates are answered with; F of - is stdin", 0, 0 }

// What complete and reject answer.
static void show_final(struct output *out, enum claimd_state state, bool replayed,
                       int64_t complete_time_ms, int64_t expire_time_ms) {
    output_word(out, "state", claimd_state_name(state));
    output_bool(out, "replayed", replayed);
    output_time(out, "complete_time", complete_time_ms);
    output_time(out, "expire_time", expire_time_ms);
}

// --- complete -----------------------------------------------------------------------------------

enum { COMPLETE_TOKEN, COMPLETE_RESULT };

static const struct option_spec complete_specs[] = {
    [COMPLETE_TOKEN] = TOKEN_SPEC,
    [COMPLETE_RESULT] = RESULT_SPEC,
};

static int complete_run(struct invocation *in) {
    struct claimd_complete_request request = CLAIMD_COMPLETE_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.token = command_number(in, COMPLETE_TOKEN);
    request.result = command_bytes(in, COMPLETE_RESULT);
    request.timeout_ms = in->timeout_ms;
    claimd_complete_result *result;
    struct claimd_error error;
    if (claimd_complete(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    show_final(&out, claimd_complete_result_state(result), claimd_complete_result_replayed(result),
               claimd_complete_result_complete_time_ms(result),
               claimd_complete_result_expire_time_ms(result));
    claimd_complete_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_complete = {
    .summary = "End an attempt with success and store its result",
    .grammar = {"complete", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(complete_specs)},
    .example = "complete billing/capture pi_123:captured --token 1785576000000001 --result ok",
    .run = complete_run,
};

// --- reject -------------------------------------------------------------------------------------

enum { REJECT_TOKEN, REJECT_REASON, REJECT_RESULT };

static const struct option_spec reject_specs[] = {
    [REJECT_TOKEN] = TOKEN_SPEC,
    [REJECT_REASON] = {OPTION_TEXT, 0, "reason", "TEXT", "why, for people and duplicates", 0, 0},
    [REJECT_RESULT] = RESULT_SPEC,
};

static int reject_run(struct invocation *in) {
    struct claimd_reject_request request = CLAIMD_REJECT_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.token = command_number(in, REJECT_TOKEN);
    request.reason = command_text(in, REJECT_REASON);
    request.result = command_bytes(in, REJECT_RESULT);
    request.timeout_ms = in->timeout_ms;
    claimd_reject_result *result;
    struct claimd_error error;
    if (claimd_reject(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    show_final(&out, claimd_reject_result_state(result), claimd_reject_result_replayed(result),
               claimd_reject_result_complete_time_ms(result),
               claimd_reject_result_expire_time_ms(result));
    claimd_reject_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_reject = {
    .summary = "End an attempt with a business refusal: final, not a fault",
    .grammar = {"reject", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(reject_specs)},
    .example = "reject billing/capture pi_123:captured --token 1785576000000001 --reason closed",
    .run = reject_run,
};

// --- fail ---------------------------------------------------------------------------------------

enum { FAIL_TOKEN, FAIL_KIND, FAIL_MESSAGE, FAIL_PAYLOAD, FAIL_RETRY_AFTER };

static const struct option_spec fail_specs[] = {
    [FAIL_TOKEN] = TOKEN_SPEC,
    [FAIL_KIND] = {OPTION_CHOICE, 0, "kind", "transient|unclassified|poison|outcome-unknown",
                   "what sort of failure it was", true, 0},
    [FAIL_MESSAGE] = {OPTION_TEXT, 0, "message", "TEXT", "what happened, for people", true, 0},
    [FAIL_PAYLOAD] = {OPTION_BODY, 0, "payload", NULL,
                      "the message, kept if this makes a dead letter; F of - is stdin", 0, 0},
    [FAIL_RETRY_AFTER] = {OPTION_DURATION, 0, "retry-after", "5s",
                          "when to try again, instead of the policy's delay", 0, 0},
};

static int fail_run(struct invocation *in) {
    static const enum claimd_failure_kind kinds[] = {
        CLAIMD_FAILURE_TRANSIENT,
        CLAIMD_FAILURE_UNCLASSIFIED,
        CLAIMD_FAILURE_POISON,
        CLAIMD_FAILURE_OUTCOME_UNKNOWN,
    };
    struct claimd_fail_request request = CLAIMD_FAIL_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.token = command_number(in, FAIL_TOKEN);
    request.kind = kinds[command_number(in, FAIL_KIND)];
    request.message = command_text(in, FAIL_MESSAGE);
    request.payload = command_bytes(in, FAIL_PAYLOAD);
    request.retry_after_ms = command_ms(in, FAIL_RETRY_AFTER);
    request.timeout_ms = in->timeout_ms;
    claimd_fail_result *result;
    struct claimd_error error;
    if (claimd_fail(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    output_word(&out, "state", claimd_state_name(claimd_fail_result_state(result)));
    output_bool(&out, "replayed", claimd_fail_result_replayed(result));
    output_time(&out, "next_attempt_time", claimd_fail_result_next_attempt_time_ms(result));
    output_duration(&out, "retry_after", claimd_fail_result_retry_after_ms(result));
    claimd_fail_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_fail = {
    .summary = "Report a failed attempt; the policy decides what becomes of the claim",
    .grammar = {"fail", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(fail_specs)},
    .example = "fail billing/capture pi_123:captured --token 1785576000000001 --kind transient "
               "--message 'gateway timeout'",
    .run = fail_run,
};

// --- renew --------------------------------------------------------------------------------------

enum { RENEW_TOKEN, RENEW_LEASE, RENEW_CHECKPOINT };

static const struct option_spec renew_specs[] = {
    [RENEW_TOKEN] = TOKEN_SPEC,
    [RENEW_LEASE] = {OPTION_DURATION, 0, "lease", "30s", "the new lease, from now; 100ms to 24h", 0,
                     0},
    [RENEW_CHECKPOINT] = {OPTION_BODY, 0, "checkpoint", NULL,
                          "how far the work is, for a successor; F of - is stdin", 0, 0},
};

static int renew_run(struct invocation *in) {
    struct claimd_renew_request request = CLAIMD_RENEW_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.token = command_number(in, RENEW_TOKEN);
    request.lease_ms = command_ms(in, RENEW_LEASE);
    request.checkpoint = command_bytes(in, RENEW_CHECKPOINT);
    request.timeout_ms = in->timeout_ms;
    claimd_renew_result *result;
    struct claimd_error error;
    if (claimd_renew(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    command_show_lease(&out, claimd_renew_result_lease_remaining_ms(result),
                       claimd_renew_result_lease_expire_time_ms(result));
    output_flag(&out, "lapsed", claimd_renew_result_lapsed(result));
    claimd_renew_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_renew = {
    .summary = "Extend the lease from now, and store a checkpoint",
    .grammar = {"renew", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(renew_specs)},
    .example = "renew billing/capture pi_123:captured --token 1785576000000001 --lease 5m",
    .run = renew_run,
};

// --- release ------------------------------------------------------------------------------------

enum { RELEASE_TOKEN };

static const struct option_spec release_specs[] = {
    [RELEASE_TOKEN] = TOKEN_SPEC,
};

static int release_run(struct invocation *in) {
    struct claimd_release_request request = CLAIMD_RELEASE_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.token = command_number(in, RELEASE_TOKEN);
    request.timeout_ms = in->timeout_ms;
    claimd_release_result *result;
    struct claimd_error error;
    if (claimd_release(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    output_word(&out, "state", claimd_state_name(claimd_release_result_state(result)));
    output_bool(&out, "replayed", claimd_release_result_replayed(result));
    claimd_release_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_release = {
    .summary = "Give a claim back at once, counted against no limit",
    .grammar = {"release", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(release_specs)},
    .example = "release billing/capture pi_123:captured --token 1785576000000001",
    .run = release_run,
};
