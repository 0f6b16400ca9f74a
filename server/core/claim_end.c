// The verbs of a token: Complete, Reject, Fail, Release and Renew, and their repetition.
#include <string.h>

#include "base/check.h"
#include "core/claim_rules.h"

static enum claim_memory memory_of(enum claim_verb verb) {
    switch (verb) {
    case CLAIM_COMPLETE:
        return CLAIM_MEMORY_COMPLETE;
    case CLAIM_REJECT:
        return CLAIM_MEMORY_REJECT;
    case CLAIM_FAIL:
        return CLAIM_MEMORY_FAIL;
    case CLAIM_RELEASE:
        return CLAIM_MEMORY_RELEASE;
    case CLAIM_BEGIN:
    case CLAIM_RENEW:
    case CLAIM_REGISTER:
    case CLAIM_CANCEL:
    case CLAIM_RESOLVE:
    case CLAIM_GET:
    case CLAIM_SETTLE:
    case CLAIM_PRUNE:
        break;
    }
    return CLAIM_MEMORY_NONE; // Renew is never remembered: it acts each time
}

// A short digest of what the verb was told: eight bytes tell a repetition from another call of the
// same holder; nobody else has the token. Only the verb's own arguments count.
static void arguments_digest(const struct claim_command *command,
                             uint8_t out[CLAIM_TOKEN_MEMORY_BYTES]) {
    bool ends = command->verb == CLAIM_COMPLETE || command->verb == CLAIM_REJECT;
    bool fails = command->verb == CLAIM_FAIL;
    const struct claim_body *body = ends ? &command->result : &command->payload;
    bool has_body = (ends || fails) && body->present;
    bool has_delay = fails && command->retry_after.present;
    uint64_t delay_ms = has_delay ? (uint64_t)command->retry_after.ms : 0;
    uint8_t fixed[11] = {has_body, has_delay, fails ? (uint8_t)command->fail_kind : 0};
    for (unsigned i = 0; i < 8; i++) fixed[3 + i] = (uint8_t)(delay_ms >> (8 * i));
    const struct bytes none = {0};
    const struct bytes parts[] = {
        {fixed, sizeof fixed},
        has_body ? body->data : none,
        command->verb == CLAIM_REJECT ? command->reason : none,
        fails ? command->message : none,
    };
    struct digest digest = digest_parts(parts, sizeof parts / sizeof parts[0]);
    memcpy(out, digest.data, CLAIM_TOKEN_MEMORY_BYTES);
}

static void remember(struct claim_record *record, const struct claim_command *command) {
    record->memory = memory_of(command->verb);
    // A Begin is repeated only while its attempt runs.
    record->request_id = (struct bytes){0};
    record->attempt_has_fingerprint = false;
    arguments_digest(command, record->memory_digest);
}

// The attempt has ended by a verb already: the same again is answered the same, anything else not.
static enum err repeat(const struct claim_command *command, struct claim_decision *decision) {
    const struct claim_record *record = &decision->record;
    if (record->memory != memory_of(command->verb)) return ERR_WRONG_STATE;
    uint8_t digest[CLAIM_TOKEN_MEMORY_BYTES];
    arguments_digest(command, digest);
    if (memcmp(digest, record->memory_digest, sizeof digest) != 0) return ERR_WRONG_STATE;
    decision->replayed = true;
    return ERR_OK;
}

static void attempt_end(struct claim_record *record, enum claim_end end, struct wall_ms at) {
    record->attempt.end = end;
    record->attempt.ended_at = at;
}

// A lapse that a verb of the token comes after has not happened, for the counts.
static void cancel_lapse(struct claim_record *record) {
    if (!record->made_by_lapse) return;
    record->made_by_lapse = false;
    CHECK(record->retry_counts[RETRY_LAPSED] > 0);
    record->retry_counts[RETRY_LAPSED]--;
    record->expires_at.present = false;
}

static void note_failure(struct claim_record *record, const struct claim_command *command,
                         struct wall_ms at) {
    struct bytes message = bytes_cut_utf8(command->message, LIMIT_ERROR_MESSAGE_BYTES_MAX);
    record->last_error = (struct claim_error){
        .present = true, .kind = command->fail_kind, .message = message, .at = at};
    record->attempt.error = bytes_cut_utf8(message, LIMIT_ATTEMPT_ERROR_BYTES_MAX);
}

static void retry_later(struct claim_record *record, const struct claim_command *command,
                        const struct claim_context *context) {
    // All failures count for the delay, whatever their kind, so that it never shrinks.
    uint32_t failures = 0;
    for (unsigned kind = RETRY_TRANSIENT; kind <= RETRY_POISON; kind++) {
        if (__builtin_add_overflow(failures, record->retry_counts[kind], &failures)) {
            failures = UINT32_MAX;
        }
    }
    int64_t delay_ms = command->retry_after.present
                           ? command->retry_after.ms
                           : policy_backoff_ms(context->policy, failures, context->random);
    record->state = CLAIM_RETRYING;
    record->next_attempt_at = claim_deadline(context, delay_ms);
}

static void bury(struct claim_record *record, const struct claim_command *command,
                 const struct claim_context *context) {
    claim_record_bury(record, context);
    if (command->payload.present) record->payload = command->payload;
}

static void fail_counted(struct claim_record *record, enum retry_kind kind,
                         const struct claim_command *command, const struct claim_context *context) {
    claim_count_up(&record->retry_counts[kind]);
    if (policy_is_exhausted(context->policy->max_retries[kind], record->retry_counts[kind])) {
        bury(record, command, context);
    } else {
        retry_later(record, command, context);
    }
}

static void fail(struct claim_record *record, const struct claim_command *command,
                 const struct claim_context *context) {
    note_failure(record, command, context->wall_now);
    if (record->state == CLAIM_DEAD_LETTERED) {
        // A lapse buried it: the failure adds what the handler knew, and stays a dead letter.
        if (command->payload.present) record->payload = command->payload;
        return;
    }
    cancel_lapse(record);
    attempt_end(record, CLAIM_END_FAILED, context->wall_now);
    switch (command->fail_kind) {
    case FAIL_TRANSIENT:
        fail_counted(record, RETRY_TRANSIENT, command, context);
        return;
    case FAIL_UNCLASSIFIED:
        fail_counted(record, RETRY_UNCLASSIFIED, command, context);
        return;
    case FAIL_POISON:
        fail_counted(record, RETRY_POISON, command, context);
        return;
    case FAIL_OUTCOME_UNKNOWN:
        if (context->policy->on_unknown == POLICY_HOLD) {
            record->state = CLAIM_UNKNOWN;
        } else {
            fail_counted(record, RETRY_UNCLASSIFIED, command, context);
        }
        return;
    case FAIL_LAPSED:
        CHECK(command->fail_kind != FAIL_LAPSED); // a client cannot report a lapse
    }
}

static enum err renew(const struct claim_command *command, const struct claim_context *context,
                      struct claim_decision *decision) {
    struct claim_record *record = &decision->record;
    const struct policy *policy = context->policy;
    int64_t lease_ms = command->lease.present ? command->lease.ms : policy->default_lease_ms;
    int64_t until_ms = claim_deadline(context, lease_ms).ms;
    if (policy->max_hold.present) {
        int64_t hold_ms = time_add_ms(record->granted_at.ms, policy->max_hold.ms);
        if (context->now.ms >= hold_ms) return ERR_MAX_HOLD;
        if (until_ms > hold_ms) until_ms = hold_ms;
    }
    decision->renewed_lapsed = context->now.ms >= record->lease_expires_at.ms;
    if (until_ms > record->lease_expires_at.ms) record->lease_expires_at.ms = until_ms;
    if (command->checkpoint.present) record->checkpoint = command->checkpoint;
    decision->change = CLAIM_WRITTEN;
    return ERR_OK;
}

// Whether the verb is accepted from this state with the current token.
static bool state_allows(const struct claim_record *record, enum claim_verb verb) {
    if (record->state == CLAIM_PROCESSING) return true;
    if (!record->made_by_lapse || verb == CLAIM_RENEW) return false;
    return record->state == CLAIM_UNKNOWN || verb != CLAIM_RELEASE;
}

static void finish(struct claim_record *record, const struct claim_command *command,
                   const struct claim_context *context) {
    bool completed = command->verb == CLAIM_COMPLETE;
    cancel_lapse(record);
    attempt_end(record, completed ? CLAIM_END_COMPLETED : CLAIM_END_REJECTED, context->wall_now);
    if (!completed) record->reason = command->reason;
    claim_record_set_result(record, &command->result);
    claim_record_finish(record, completed ? CLAIM_SUCCEEDED : CLAIM_REJECTED, context);
}

enum err claim_end(const struct claim_command *command, const struct claim_context *context,
                   struct claim_decision *decision) {
    struct claim_record *record = &decision->record;
    if (!decision->exists) return ERR_NOT_FOUND;
    if (!record->has_token || command->token != record->token) return ERR_STALE_TOKEN;
    if (record->memory != CLAIM_MEMORY_NONE) return repeat(command, decision);
    if (!state_allows(record, command->verb)) return ERR_WRONG_STATE;
    if (command->verb == CLAIM_RENEW) return renew(command, context, decision);

    if (command->verb == CLAIM_FAIL) {
        fail(record, command, context);
    } else if (command->verb == CLAIM_RELEASE) {
        cancel_lapse(record);
        attempt_end(record, CLAIM_END_RELEASED, context->wall_now);
        record->state = CLAIM_RECEIVED;
    } else {
        finish(record, command, context);
    }
    remember(record, command);
    record->updated_at = context->wall_now;
    decision->change = CLAIM_WRITTEN;
    return ERR_OK;
}
