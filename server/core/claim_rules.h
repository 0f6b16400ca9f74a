// Shared by the files of the decision (claim.c, claim_begin.c, claim_end.c, claim_time.c) only.
#pragma once

#include "core/claim.h"

// A verb's rule: decision->record is the settled record if decision->exists. The rule changes it in
// place and says what to write.
enum err claim_begin(const struct claim_command *command, const struct claim_context *context,
                     struct claim_decision *decision);
// Complete, Reject, Fail, Release and Renew: the verbs that need the current token.
enum err claim_end(const struct claim_command *command, const struct claim_context *context,
                   struct claim_decision *decision);

// Counts one more; stays at the largest number instead of starting again.
static inline void claim_count_up(uint32_t *count) {
    if (*count < UINT32_MAX) (*count)++;
}

// A deadline that lies so far ahead of the context's time.
static inline struct store_ms claim_deadline(const struct claim_context *context,
                                             int64_t ahead_ms) {
    return (struct store_ms){
        time_add_ms(time_add_ms(context->now.ms, context->now_rest_ms), ahead_ms)};
}

// Starts a record for an identity that has none.
void claim_record_init(struct claim_record *record, enum claim_state state,
                       struct wall_ms wall_now);

// Makes the record final: when it became so and when it expires follow; the payload is let go.
void claim_record_finish(struct claim_record *record, enum claim_state state,
                         const struct claim_context *context);

// Makes the record a dead letter, with the retention of the policy in force.
void claim_record_bury(struct claim_record *record, const struct claim_context *context);

// Stores a result with its digest; an absent one leaves the record as it is.
void claim_record_set_result(struct claim_record *record, const struct claim_body *result);

// Forgets token, remembered verb and whether a lapse made the state: a person or a successor
// decided.
void claim_record_forget_token(struct claim_record *record);
