// The decision: settle what time has done, check the arguments, let the verb's rule decide.
#include "core/claim.h"

#include <string.h>

#include "base/check.h"
#include "core/claim_rules.h"

void claim_record_init(struct claim_record *record, enum claim_state state,
                       struct wall_ms wall_now) {
    memset(record, 0, sizeof *record);
    record->state = state;
    record->created_at = wall_now;
    record->updated_at = wall_now;
}

void claim_record_finish(struct claim_record *record, enum claim_state state,
                         const struct claim_context *context) {
    struct store_ms expires_at = claim_deadline(context, context->policy->retention_ms);
    record->state = state;
    record->final_at = context->now;
    record->expires_at = (struct optional_store_ms){true, expires_at};
    record->payload = (struct claim_body){.present = false};
    record->updated_at = context->wall_now;
}

void claim_record_bury(struct claim_record *record, const struct claim_context *context) {
    struct optional_ms retention = context->policy->dead_letter_retention;
    record->state = CLAIM_DEAD_LETTERED;
    record->expires_at =
        (struct optional_store_ms){retention.present, claim_deadline(context, retention.ms)};
    record->updated_at = context->wall_now;
}

void claim_record_set_result(struct claim_record *record, const struct claim_body *result) {
    if (!result->present) return;
    record->result = *result;
    record->result_digest = digest_of(result->data);
}

void claim_record_forget_token(struct claim_record *record) {
    record->has_token = false;
    record->made_by_lapse = false;
    record->memory = CLAIM_MEMORY_NONE;
    record->request_id = (struct bytes){0};
    record->attempt_has_fingerprint = false;
}

static void decide_register(const struct claim_command *command,
                            const struct claim_context *context, struct claim_decision *decision) {
    if (decision->exists) return;
    claim_record_init(&decision->record, CLAIM_RECEIVED, context->wall_now);
    decision->record.payload_ref = command->payload_ref;
    decision->record.event_time = command->event_time;
    decision->exists = true;
    decision->created = true;
    decision->change = CLAIM_WRITTEN;
}

static enum err decide_cancel(const struct claim_command *command,
                              const struct claim_context *context,
                              struct claim_decision *decision) {
    struct claim_record *record = &decision->record;
    if (!decision->exists) {
        claim_record_init(record, CLAIM_RECEIVED, context->wall_now);
    } else if (record->memory == CLAIM_MEMORY_CANCEL) {
        decision->replayed = true;
        return ERR_OK;
    } else if (record->state != CLAIM_RECEIVED && record->state != CLAIM_RETRYING) {
        return ERR_WRONG_STATE;
    }
    claim_record_forget_token(record);
    record->memory = CLAIM_MEMORY_CANCEL;
    memset(record->memory_digest, 0, sizeof record->memory_digest);
    record->reason = command->reason;
    claim_record_finish(record, CLAIM_REJECTED, context);
    decision->exists = true;
    decision->change = CLAIM_WRITTEN;
    return ERR_OK;
}

static enum err decide_resolve(const struct claim_command *command,
                               const struct claim_context *context,
                               struct claim_decision *decision) {
    struct claim_record *record = &decision->record;
    if (!decision->exists) return ERR_NOT_FOUND;
    if (record->state != CLAIM_UNKNOWN) return ERR_WRONG_STATE;
    CHECK(command->resolution >= CLAIM_AS_SUCCEEDED && command->resolution <= CLAIM_AS_DEAD_LETTER);
    claim_record_forget_token(record);
    record->reason = command->reason;
    switch (command->resolution) {
    case CLAIM_AS_SUCCEEDED:
    case CLAIM_AS_REJECTED:
        claim_record_set_result(record, &command->result);
        claim_record_finish(
            record, command->resolution == CLAIM_AS_SUCCEEDED ? CLAIM_SUCCEEDED : CLAIM_REJECTED,
            context);
        break;
    case CLAIM_AS_RETRY:
        record->state = CLAIM_RECEIVED;
        record->updated_at = context->wall_now;
        break;
    case CLAIM_AS_DEAD_LETTER:
        claim_record_bury(record, context);
        break;
    }
    decision->change = CLAIM_WRITTEN;
    return ERR_OK;
}

static void decide_prune(const struct claim_command *command, const struct claim_context *context,
                         const struct claim_record *stored, struct claim_decision *decision) {
    // The stored record is judged: an expired one is pruned like any other final record.
    if (stored == NULL || !claim_state_is_final(stored->state)) return;
    if (stored->updated_at.ms >= command->prune_before.ms) return;
    if (command->prune_final_age_min.present &&
        time_sub_ms(context->now.ms, stored->final_at.ms) < command->prune_final_age_min.ms) {
        return;
    }
    decision->exists = false;
    decision->change = CLAIM_REMOVED;
}

static void decide_settle(const struct claim_record *stored, struct claim_decision *decision) {
    if (stored == NULL) return;
    if (!decision->exists) {
        decision->change = CLAIM_REMOVED;
    } else if (decision->record.state != stored->state) {
        decision->change = CLAIM_WRITTEN;
    }
}

static enum err check_arguments(const struct claim_command *command, const struct policy *policy) {
    bool has_result = command->verb == CLAIM_COMPLETE || command->verb == CLAIM_REJECT ||
                      command->verb == CLAIM_RESOLVE;
    if (has_result && command->result.present &&
        command->result.size_bytes > policy->result_bytes_max) {
        return ERR_INVALID_ARGUMENT;
    }
    if (command->verb == CLAIM_BEGIN && policy->require_fingerprint &&
        command->fingerprint.len == 0) {
        return ERR_INVALID_ARGUMENT;
    }
    return ERR_OK;
}

static enum err decide_verb(const struct claim_command *command,
                            const struct claim_context *context, const struct claim_record *stored,
                            struct claim_decision *decision) {
    switch (command->verb) {
    case CLAIM_BEGIN:
        return claim_begin(command, context, decision);
    case CLAIM_COMPLETE:
    case CLAIM_REJECT:
    case CLAIM_FAIL:
    case CLAIM_RENEW:
    case CLAIM_RELEASE:
        return claim_end(command, context, decision);
    case CLAIM_REGISTER:
        decide_register(command, context, decision);
        return ERR_OK;
    case CLAIM_CANCEL:
        return decide_cancel(command, context, decision);
    case CLAIM_RESOLVE:
        return decide_resolve(command, context, decision);
    case CLAIM_GET:
        return decision->exists ? ERR_OK : ERR_NOT_FOUND;
    case CLAIM_SETTLE:
        decide_settle(stored, decision);
        return ERR_OK;
    case CLAIM_PRUNE:
        break;
    }
    CHECK(command->verb == CLAIM_PRUNE); // anything else would be removed for a bug
    decide_prune(command, context, stored, decision);
    return ERR_OK;
}

enum err claim_decide(const struct claim_record *record, const struct claim_command *command,
                      const struct claim_context *context, struct claim_decision *decision) {
    // The record is large and most of it is written below: only the flags before it are cleared.
    memset(decision, 0, offsetof(struct claim_decision, record));
    if (record != NULL) {
        decision->record = *record;
        decision->exists = claim_settle(&decision->record, context->now, context->wall_now);
    }
    enum err err = check_arguments(command, context->policy);
    if (err != ERR_OK) return err;
    err = decide_verb(command, context, record, decision);
    if (err == ERR_OK && decision->change == CLAIM_WRITTEN && record != NULL) {
        decision->lapse_counted =
            decision->record.retry_counts[RETRY_LAPSED] > record->retry_counts[RETRY_LAPSED];
    }
    return err;
}
