// The verbs that need no token: register, cancel, resolve.
#include "command.h"

// --- register -----------------------------------------------------------------------------------

enum { REGISTER_EVENT_TIME, REGISTER_PAYLOAD_REF };

static const struct option_spec register_specs[] = {
    [REGISTER_EVENT_TIME] = {OPTION_TIME, 0, "event-time", "TIME", "when the event happened", 0, 0},
    [REGISTER_PAYLOAD_REF] = {OPTION_TEXT, 0, "payload-ref", "REF",
                              "where the message is, e.g. topic/partition/offset", 0, 0},
};

static int register_run(struct invocation *in) {
    struct claimd_register_request request = CLAIMD_REGISTER_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.event_time_ms = command_ms(in, REGISTER_EVENT_TIME);
    request.payload_ref = command_text(in, REGISTER_PAYLOAD_REF);
    request.timeout_ms = in->timeout_ms;
    claimd_register_result *result;
    struct claimd_error error;
    if (claimd_register(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    output_bool(&out, "created", claimd_register_result_created(result));
    output_word(&out, "state", claimd_state_name(claimd_register_result_state(result)));
    claimd_register_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_register = {
    .summary = "Make a message known without claiming it",
    .grammar = {"register", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(register_specs)},
    .example = "register billing/capture pi_123:captured --payload-ref payments/3/1017",
    .run = register_run,
};

// --- cancel -------------------------------------------------------------------------------------

enum { CANCEL_REASON };

static const struct option_spec cancel_specs[] = {
    [CANCEL_REASON] = {OPTION_TEXT, 0, "reason", "TEXT", "why, for people and duplicates", 0, 0},
};

static int cancel_run(struct invocation *in) {
    struct claimd_cancel_request request = CLAIMD_CANCEL_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.reason = command_text(in, CANCEL_REASON);
    request.timeout_ms = in->timeout_ms;
    claimd_cancel_result *result;
    struct claimd_error error;
    if (claimd_cancel(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    output_word(&out, "state", claimd_state_name(claimd_cancel_result_state(result)));
    output_bool(&out, "replayed", claimd_cancel_result_replayed(result));
    claimd_cancel_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_cancel = {
    .summary = "Refuse a message for good, also one never begun",
    .grammar = {"cancel", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(cancel_specs)},
    .example = "cancel billing/capture pi_123:captured --reason 'order withdrawn'",
    .run = cancel_run,
};

// --- resolve ------------------------------------------------------------------------------------

enum { RESOLVE_AS, RESOLVE_REASON, RESOLVE_RESULT };

static const struct option_spec resolve_specs[] = {
    [RESOLVE_AS] = {OPTION_CHOICE, 0, "as", "succeeded|rejected|retry|dead-letter",
                    "what has been found out", true, 0},
    [RESOLVE_REASON] = {OPTION_TEXT, 0, "reason", "TEXT", "how, for people", 0, 0},
    [RESOLVE_RESULT] = {OPTION_BODY, 0, "result", NULL,
                        "what duplicates are answered with (succeeded, rejected); F of - is stdin",
                        0, 0},
};

static int resolve_run(struct invocation *in) {
    static const enum claimd_resolution resolutions[] = {
        CLAIMD_RESOLVE_SUCCEEDED,
        CLAIMD_RESOLVE_REJECTED,
        CLAIMD_RESOLVE_RETRY,
        CLAIMD_RESOLVE_DEAD_LETTER,
    };
    struct claimd_resolve_request request = CLAIMD_RESOLVE_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.resolution = resolutions[command_number(in, RESOLVE_AS)];
    request.reason = command_text(in, RESOLVE_REASON);
    request.result = command_bytes(in, RESOLVE_RESULT);
    request.timeout_ms = in->timeout_ms;
    claimd_resolve_result *result;
    struct claimd_error error;
    if (claimd_resolve(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    output_word(&out, "state", claimd_state_name(claimd_resolve_result_state(result)));
    claimd_resolve_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_resolve = {
    .summary = "Settle a claim whose outcome is UNKNOWN",
    .grammar = {"resolve", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(resolve_specs)},
    .example = "resolve billing/capture pi_123:captured --as succeeded --reason 'seen in ledger'",
    .run = resolve_run,
};
