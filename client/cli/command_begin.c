#include "command.h"

enum { LEASE, WAIT, OWNER, REQUEST_ID, FINGERPRINT, EVENT_TIME, PAYLOAD_REF, REPLAY, RECLAIM };

static const struct option_spec specs[] = {
    [LEASE] = {OPTION_DURATION, 0, "lease", "30s", "how long to hold it; 100ms to 24h", 0, 0},
    [WAIT] = {OPTION_DURATION, 0, "wait", "5s",
              "wait up to this long, at most 60s, while another attempt holds it", 0, 0},
    [OWNER] = {OPTION_TEXT, 0, "owner", "NAME", "who holds it, for people", 0, 0},
    [REQUEST_ID] = {OPTION_TEXT, 0, "request-id", "ID",
                    "the same ID, owner and fingerprint get the same token again", 0, 0},
    [FINGERPRINT] = {OPTION_HEX, 0, "fingerprint", "HEX",
                     "digest of the payload; a later, different one is refused", 0, 0},
    [EVENT_TIME] = {OPTION_TIME, 0, "event-time", "TIME", "when the event happened", 0, true},
    [PAYLOAD_REF] = {OPTION_TEXT, 0, "payload-ref", "REF",
                     "where the message is, e.g. topic/partition/offset", 0, true},
    [REPLAY] = {OPTION_FLAG, 0, "replay", NULL, "part of a deliberate replay: counted apart", 0,
                true},
    [RECLAIM] = {OPTION_FLAG, 0, "reclaim", NULL,
                 "take over at once what the same owner holds (counts as a lapse)", 0, true},
};

static int exit_code_of(enum claimd_begin_outcome outcome) {
    switch (outcome) {
    case CLAIMD_BEGIN_CLAIMED:
        return EXIT_DONE;
    case CLAIMD_BEGIN_DUPLICATE:
        return EXIT_DUPLICATE;
    case CLAIMD_BEGIN_IN_FLIGHT:
        return EXIT_IN_FLIGHT;
    case CLAIMD_BEGIN_NOT_YET:
        return EXIT_NOT_YET;
    case CLAIMD_BEGIN_DEAD_LETTERED:
        return EXIT_DEAD_LETTERED;
    case CLAIMD_BEGIN_OUTCOME_UNKNOWN:
        return EXIT_OUTCOME_UNKNOWN;
    case CLAIMD_BEGIN_OUT_OF_ORDER:
        return EXIT_OUT_OF_ORDER;
    case CLAIMD_BEGIN_UNSPECIFIED:
        break;
    }
    return EXIT_OTHER;
}

static void show_takeover(struct output *out, const claimd_takeover *takeover) {
    if (takeover == NULL) return;
    output_open(out, "takeover");
    output_text(out, "previous_owner", claimd_takeover_previous_owner(takeover));
    output_word(out, "previous_end",
                claimd_attempt_end_name(claimd_takeover_previous_end(takeover)));
    command_show_failure(out, "last_error", claimd_takeover_last_error(takeover));
    output_body(out, "checkpoint", claimd_takeover_checkpoint(takeover));
    output_close(out);
}

static void show(struct output *out, const claimd_begin_result *result) {
    enum claimd_begin_outcome outcome = claimd_begin_result_outcome(result);
    output_word(out, "outcome", claimd_begin_outcome_name(outcome));
    if (claimd_begin_result_token(result) != 0) {
        output_u64(out, "token", claimd_begin_result_token(result));
    }
    output_u32(out, "attempt", claimd_begin_result_attempt(result));
    command_show_lease(out, claimd_begin_result_lease_remaining_ms(result),
                       claimd_begin_result_lease_expire_time_ms(result));
    output_text(out, "effect_key", claimd_begin_result_effect_key(result));
    show_takeover(out, claimd_begin_result_takeover(result));
    output_word(out, "state", claimd_state_name(claimd_begin_result_state(result)));
    output_text(out, "owner", claimd_begin_result_owner(result));
    output_duration(out, "retry_after", claimd_begin_result_retry_after_ms(result));
    output_time(out, "next_attempt_time", claimd_begin_result_next_attempt_time_ms(result));
    command_show_failure(out, "last_error", claimd_begin_result_last_error(result));
    output_body(out, "checkpoint", claimd_begin_result_checkpoint(result));
    output_time(out, "complete_time", claimd_begin_result_complete_time_ms(result));
    output_time(out, "expire_time", claimd_begin_result_expire_time_ms(result));
    output_body(out, "result", claimd_begin_result_stored_result(result));
    output_flag(out, "result_expired", claimd_begin_result_stored_result_expired(result));
    output_flag(out, "result_omitted", claimd_begin_result_stored_result_omitted(result));
    output_text(out, "reason", claimd_begin_result_reason(result));
}

static int run(struct invocation *in) {
    struct claimd_begin_request request = CLAIMD_BEGIN_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.lease_ms = command_ms(in, LEASE);
    request.owner = command_text(in, OWNER);
    request.request_id = command_text(in, REQUEST_ID);
    request.fingerprint = command_bytes(in, FINGERPRINT);
    request.event_time_ms = command_ms(in, EVENT_TIME);
    request.payload_ref = command_text(in, PAYLOAD_REF);
    request.wait_ms = command_ms(in, WAIT);
    request.timeout_ms = in->timeout_ms;
    request.replay = command_flag(in, REPLAY);
    request.reclaim = command_flag(in, RECLAIM);

    claimd_begin_result *result;
    struct claimd_error error;
    if (claimd_begin(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    show(&out, result);
    int code = command_answer(&out, exit_code_of(claimd_begin_result_outcome(result)));
    claimd_begin_result_free(result);
    return code;
}

const struct command command_begin = {
    .summary = "Claim a message before its effect, or learn why not",
    .grammar = {"begin", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(specs)},
    .example = "begin billing/capture pi_123:captured --lease 1m --owner worker-7",
    .notes = "Exit code: 0 CLAIMED, 10 DUPLICATE, 11 IN_FLIGHT, 12 NOT_YET, 13 DEAD_LETTERED,\n"
             "14 OUTCOME_UNKNOWN, 15 OUT_OF_ORDER; errors as in claimctl --help.",
    .run = run,
};
