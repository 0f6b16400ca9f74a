// Begin: who may have the claim, and what the others are told.
#include <string.h>

#include "core/claim_rules.h"

static enum err fingerprint_check(const struct claim_command *command,
                                  const struct claim_decision *decision) {
    const struct claim_record *record = &decision->record;
    if (!decision->exists || record->fingerprint.len == 0 || command->fingerprint.len == 0 ||
        bytes_equal(record->fingerprint, command->fingerprint)) {
        return ERR_OK;
    }
    return ERR_FINGERPRINT_MISMATCH;
}

// The same call again, its answer having been lost: equal in all that the first one said.
static bool is_repeat(const struct claim_record *record, const struct claim_command *command) {
    return command->request_id.len > 0 && bytes_equal(command->request_id, record->request_id) &&
           bytes_equal(command->owner, record->attempt.owner) &&
           (command->fingerprint.len > 0) == record->attempt_has_fingerprint;
}

static void history_push(struct claim_record *record) {
    const uint32_t cap = LIMIT_ATTEMPTS_KEPT - 1;
    if (record->earlier_count == cap) {
        memmove(&record->earlier[0], &record->earlier[1], (cap - 1) * sizeof record->earlier[0]);
        record->earlier_count--;
    }
    record->earlier[record->earlier_count++] = record->attempt;
}

static struct store_ms lease_end(const struct claim_command *command,
                                 const struct claim_context *context) {
    const struct policy *policy = context->policy;
    int64_t lease_ms = command->lease.present ? command->lease.ms : policy->default_lease_ms;
    if (policy->max_hold.present && policy->max_hold.ms < lease_ms) lease_ms = policy->max_hold.ms;
    return claim_deadline(context, lease_ms);
}

static enum err grant(const struct claim_command *command, const struct claim_context *context,
                      struct claim_decision *decision) {
    if (context->token_next > LIMIT_TOKEN_MAX) return ERR_TOKENS_EXHAUSTED;
    struct claim_record *record = &decision->record;
    if (!decision->exists) claim_record_init(record, CLAIM_PROCESSING, context->wall_now);
    if (record->attempt_count > 0) history_push(record);
    claim_record_forget_token(record);
    record->state = CLAIM_PROCESSING;
    claim_count_up(&record->attempt_count);
    record->attempt = (struct claim_attempt){
        .number = record->attempt_count, .owner = command->owner, .begun_at = context->wall_now};
    record->has_token = true;
    record->token = context->token_next;
    record->request_id = command->request_id;
    record->attempt_has_fingerprint = command->fingerprint.len > 0;
    if (record->fingerprint.len == 0) record->fingerprint = command->fingerprint;
    if (command->payload_ref.len > 0) record->payload_ref = command->payload_ref;
    if (command->event_time.present) record->event_time = command->event_time;
    record->granted_at = context->now;
    record->lease_expires_at = lease_end(command, context);
    record->lapse_leads_to = context->policy->on_lapse;
    record->lapse_retries_max = context->policy->max_retries[RETRY_LAPSED];
    record->lapse_dead_retention = context->policy->dead_letter_retention;
    record->updated_at = context->wall_now;

    decision->exists = true;
    decision->granted = true;
    decision->change = CLAIM_WRITTEN;
    decision->outcome = CLAIM_CLAIMED;
    return ERR_OK;
}

// Counts the lapse of the attempt that held the claim until now.
static void count_lapse(struct claim_record *record, enum claim_end end, struct wall_ms at) {
    claim_count_up(&record->retry_counts[RETRY_LAPSED]);
    record->last_error = (struct claim_error){.present = true, .kind = FAIL_LAPSED, .at = at};
    record->attempt.end = end;
    record->attempt.ended_at = at;
}

// The owner is back and takes over what it held before it crashed: a lapse ahead of its time.
static enum err reclaim(const struct claim_command *command, const struct claim_context *context,
                        struct claim_decision *decision) {
    struct claim_record *record = &decision->record;
    uint32_t lapses = record->retry_counts[RETRY_LAPSED];
    claim_count_up(&lapses);
    bool hold = record->lapse_leads_to == POLICY_HOLD;
    bool exhausted = policy_is_exhausted(record->lapse_retries_max, lapses);
    // Before anything is changed: a grant that is refused must leave the record as it was.
    if (!hold && !exhausted && context->token_next > LIMIT_TOKEN_MAX) return ERR_TOKENS_EXHAUSTED;
    count_lapse(record, CLAIM_END_RECLAIMED, context->wall_now);
    if (!hold && !exhausted) return grant(command, context, decision);

    struct optional_ms dead_retention = record->lapse_dead_retention;
    claim_record_forget_token(record);
    record->updated_at = context->wall_now;
    decision->change = CLAIM_WRITTEN;
    if (hold) {
        record->state = CLAIM_UNKNOWN;
        decision->outcome = CLAIM_OUTCOME_UNKNOWN;
        return ERR_OK;
    }
    record->state = CLAIM_DEAD_LETTERED;
    if (dead_retention.present) {
        record->expires_at =
            (struct optional_store_ms){true, claim_deadline(context, dead_retention.ms)};
    }
    decision->outcome = CLAIM_DEAD_LETTER;
    return ERR_OK;
}

static enum err begin_processing(const struct claim_command *command,
                                 const struct claim_context *context,
                                 struct claim_decision *decision) {
    struct claim_record *record = &decision->record;
    if (context->now.ms >= record->lease_expires_at.ms) {
        if (context->token_next > LIMIT_TOKEN_MAX) return ERR_TOKENS_EXHAUSTED;
        count_lapse(record, CLAIM_END_LAPSED,
                    claim_wall_of(record->lease_expires_at, context->now, context->wall_now));
        return grant(command, context, decision);
    }
    if (is_repeat(record, command)) {
        decision->outcome = CLAIM_CLAIMED;
        decision->replayed = true;
        return ERR_OK;
    }
    if (command->reclaim && command->owner.len > 0 &&
        bytes_equal(command->owner, record->attempt.owner)) {
        return reclaim(command, context, decision);
    }
    decision->outcome = CLAIM_IN_FLIGHT;
    return ERR_OK;
}

enum err claim_begin(const struct claim_command *command, const struct claim_context *context,
                     struct claim_decision *decision) {
    enum err err = fingerprint_check(command, decision);
    if (err != ERR_OK) return err;
    if (!decision->exists) return grant(command, context, decision);
    switch (decision->record.state) {
    case CLAIM_RECEIVED:
        return grant(command, context, decision);
    case CLAIM_PROCESSING:
        return begin_processing(command, context, decision);
    case CLAIM_RETRYING:
        if (context->now.ms >= decision->record.next_attempt_at.ms) {
            return grant(command, context, decision);
        }
        decision->outcome = CLAIM_NOT_YET;
        return ERR_OK;
    case CLAIM_UNKNOWN:
        decision->outcome = CLAIM_OUTCOME_UNKNOWN;
        return ERR_OK;
    case CLAIM_DEAD_LETTERED:
        decision->outcome = CLAIM_DEAD_LETTER;
        return ERR_OK;
    case CLAIM_SUCCEEDED:
    case CLAIM_REJECTED:
    case CLAIM_DISCARDED:
        break;
    }
    decision->outcome = CLAIM_DUPLICATE;
    return ERR_OK;
}
