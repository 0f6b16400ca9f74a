// A second reading of docs/SEMANTICS.md: simple, slow, and written apart from server/core.
//
// The model keeps each claim as its last accepted command left it. What time brings about is never
// stored: it is worked out from scratch whenever somebody looks. Remembered arguments are kept
// whole. Tests compare claim_decide with it, field by field. Not thread-safe; views must outlive
// the claim.
#pragma once

#include <stddef.h>

#include "core/claim.h"

struct model_claim {
    bool exists;
    struct claim_record known;       // as the last accepted command left it: no lapse applied
    bool lapse_noted;                // a sweep has written the lapse down, at this wall time...
    struct wall_ms lapse_wall;       // ...which then stands, whatever the wall clock does
    struct claim_command remembered; // the arguments of the verb in known.memory
};

// What is to be answered.
struct model_answer {
    enum err err;
    enum claim_outcome outcome;
    enum claim_change change;
    bool change_is_free; // the record is as before: writing it again is allowed
    bool granted;
    bool replayed;
    bool created;
    bool renewed_lapsed;
    bool lapse_counted;
    bool exists;
    struct claim_record record;
    int64_t jitter_ms; // next_attempt_at may be this much earlier than the record says
};

// Answers a command and changes the claim by it.
void claim_model_decide(struct model_claim *claim, const struct claim_command *command,
                        const struct claim_context *context, struct model_answer *out_answer);

// The claim as it is seen at a time; false if there is none.
bool claim_model_look(const struct model_claim *claim, struct store_ms now, struct wall_ms wall_now,
                      struct claim_record *out_record);

// Takes over the delay that chance has chosen within model_answer.jitter_ms.
void claim_model_adopt(struct model_claim *claim, const struct claim_record *record);

// The first field in which two records differ, as a static string; NULL if clients see none.
// next_attempt_at of the first may be later by jitter_ms.
const char *claim_model_record_difference(const struct claim_record *expected,
                                          const struct claim_record *actual, int64_t jitter_ms);

// The same for an answer and a decision.
const char *claim_model_difference(const struct model_answer *expected, enum err err,
                                   const struct claim_decision *decision);
