#include "command.h"

enum { BODIES };

static const struct option_spec specs[] = {
    [BODIES] = {OPTION_FLAG, 0, "bodies", NULL, "also fetch result, checkpoint and payload", 0, 0},
};

static void show_retries(struct output *out, const claimd_claim *claim) {
    static const struct {
        const char *key;
        enum claimd_failure_kind kind;
    } kinds[] = {
        {"transient", CLAIMD_FAILURE_TRANSIENT},
        {"unclassified", CLAIMD_FAILURE_UNCLASSIFIED},
        {"poison", CLAIMD_FAILURE_POISON},
        {"lapsed", CLAIMD_FAILURE_LAPSED},
    };
    output_open(out, "retries");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint32_t count = claimd_claim_retries(claim, kinds[i].kind);
        if (count > 0) output_u32(out, kinds[i].key, count);
    }
    output_close(out);
}

static void show_attempts(struct output *out, const claimd_claim *claim) {
    for (size_t i = 0; i < claimd_claim_attempts_count(claim); i++) {
        const claimd_attempt *attempt = claimd_claim_attempts_at(claim, i);
        output_open_item(out, "attempts");
        output_u32(out, "attempt", claimd_attempt_number(attempt));
        output_text(out, "owner", claimd_attempt_owner(attempt));
        output_time(out, "begin_time", claimd_attempt_begin_time_ms(attempt));
        output_time(out, "end_time", claimd_attempt_end_time_ms(attempt));
        if (claimd_attempt_end_of(attempt) != CLAIMD_END_UNSPECIFIED) {
            output_word(out, "end", claimd_attempt_end_name(claimd_attempt_end_of(attempt)));
        }
        output_text(out, "error", claimd_attempt_error(attempt));
        output_close(out);
    }
}

static void show_body_info(struct output *out, const char *key, const claimd_claim *claim,
                           enum claimd_body body) {
    if (!claimd_claim_body_exists(claim, body)) return;
    output_open(out, key);
    output_u32(out, "size_bytes", claimd_claim_body_size(claim, body));
    output_digest(out, "sha256", claimd_claim_body_sha256(claim, body));
    output_flag(out, "expired", claimd_claim_body_expired(claim, body));
    output_close(out);
}

static void show(struct output *out, const claimd_claim *claim) {
    output_text(out, "consumer", claimd_claim_consumer(claim));
    output_text(out, "message_id", claimd_claim_message_id(claim));
    output_word(out, "state", claimd_state_name(claimd_claim_state(claim)));
    output_u32(out, "attempt", claimd_claim_attempt(claim));
    output_flag(out, "lapsed", claimd_claim_lapsed(claim));
    show_retries(out, claim);
    output_text(out, "owner", claimd_claim_owner(claim));
    command_show_lease(out, claimd_claim_lease_remaining_ms(claim),
                       claimd_claim_lease_expire_time_ms(claim));
    command_show_failure(out, "last_error", claimd_claim_last_error(claim));
    output_time(out, "next_attempt_time", claimd_claim_next_attempt_time_ms(claim));
    output_time(out, "create_time", claimd_claim_create_time_ms(claim));
    output_time(out, "update_time", claimd_claim_update_time_ms(claim));
    output_time(out, "complete_time", claimd_claim_complete_time_ms(claim));
    output_time(out, "expire_time", claimd_claim_expire_time_ms(claim));
    output_time(out, "event_time", claimd_claim_event_time_ms(claim));
    output_digest(out, "fingerprint", claimd_claim_fingerprint(claim));
    output_text(out, "payload_ref", claimd_claim_payload_ref(claim));
    output_text(out, "reason", claimd_claim_reason(claim));
    if (claimd_claim_reopen_count(claim) > 0) {
        output_u32(out, "reopen_count", claimd_claim_reopen_count(claim));
    }
    output_text(out, "effect_key", claimd_claim_effect_key(claim));
    show_attempts(out, claim);
    show_body_info(out, "result_info", claim, CLAIMD_BODY_RESULT);
    show_body_info(out, "checkpoint_info", claim, CLAIMD_BODY_CHECKPOINT);
    show_body_info(out, "payload_info", claim, CLAIMD_BODY_PAYLOAD);
    output_body(out, "result", claimd_claim_body(claim, CLAIMD_BODY_RESULT));
    output_body(out, "checkpoint", claimd_claim_body(claim, CLAIMD_BODY_CHECKPOINT));
    output_body(out, "payload", claimd_claim_body(claim, CLAIMD_BODY_PAYLOAD));
}

static int run(struct invocation *in) {
    struct claimd_get_request request = CLAIMD_GET_REQUEST_INIT;
    request.consumer = in->values->positionals[0];
    request.message_id = in->values->positionals[1];
    request.include_bodies = command_flag(in, BODIES);
    request.timeout_ms = in->timeout_ms;
    claimd_get_result *result;
    struct claimd_error error;
    if (claimd_get(in->client, &request, &result, &error) != CLAIMD_OK) {
        return command_fail_with(in, &error);
    }
    struct output out;
    output_init(&out, in->format);
    show(&out, claimd_get_result_claim(result));
    claimd_get_result_free(result);
    return command_answer(&out, EXIT_DONE);
}

const struct command command_get = {
    .summary = "Show one claim as it is now",
    .grammar = {"get", "CONSUMER MESSAGE_ID", 2, COMMAND_SPECS(specs)},
    .example = "get billing/capture pi_123:captured -o json",
    .notes = "JSON: the fields of the claim itself, without an object around them.",
    .run = run,
};
