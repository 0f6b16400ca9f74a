// What time alone does to a claim: lapses and expiries, which happen at their deadline whether or
// not anybody has written them down yet. One rule everywhere: live iff now < deadline.
#include "base/check.h"
#include "core/claim_rules.h"

bool claim_state_is_final(enum claim_state state) {
    return state == CLAIM_SUCCEEDED || state == CLAIM_REJECTED || state == CLAIM_DISCARDED;
}

const char *claim_state_name(enum claim_state state) {
    static const char *const names[CLAIM_STATES + 1] = {
        NULL,        "RECEIVED", "PROCESSING",    "RETRYING",  "UNKNOWN",
        "SUCCEEDED", "REJECTED", "DEAD_LETTERED", "DISCARDED",
    };
    CHECK(state >= CLAIM_RECEIVED && state <= CLAIM_DISCARDED);
    return names[state];
}

struct wall_ms claim_wall_of(struct store_ms deadline, struct store_ms now,
                             struct wall_ms wall_now) {
    return (struct wall_ms){time_add_ms(wall_now.ms, time_sub_ms(deadline.ms, now.ms))};
}

static bool lapse_is_one_too_many(const struct claim_record *record) {
    uint32_t lapses = record->retry_counts[RETRY_LAPSED];
    claim_count_up(&lapses);
    return policy_is_exhausted(record->lapse_retries_max, lapses);
}

// A lapse that leaves the claim claimable is no transition: the grant that follows counts it.
static bool lapse_is_transition(const struct claim_record *record) {
    return record->lapse_leads_to == POLICY_HOLD || lapse_is_one_too_many(record);
}

static void lapse_apply(struct claim_record *record, struct wall_ms lapsed_at) {
    claim_count_up(&record->retry_counts[RETRY_LAPSED]);
    record->attempt.end = CLAIM_END_LAPSED;
    record->attempt.ended_at = lapsed_at;
    record->last_error =
        (struct claim_error){.present = true, .kind = FAIL_LAPSED, .at = lapsed_at};
    record->made_by_lapse = true;
    record->updated_at = lapsed_at;
    if (record->lapse_leads_to == POLICY_HOLD) {
        record->state = CLAIM_UNKNOWN;
        return;
    }
    record->state = CLAIM_DEAD_LETTERED;
    if (record->lapse_dead_retention.present) {
        int64_t at_ms = time_add_ms(record->lease_expires_at.ms, record->lapse_dead_retention.ms);
        record->expires_at = (struct optional_store_ms){true, {at_ms}};
    }
}

bool claim_settle(struct claim_record *record, struct store_ms now, struct wall_ms wall_now) {
    if (record->state == CLAIM_PROCESSING && now.ms >= record->lease_expires_at.ms &&
        lapse_is_transition(record)) {
        lapse_apply(record, claim_wall_of(record->lease_expires_at, now, wall_now));
    }
    return !(record->expires_at.present && now.ms >= record->expires_at.at.ms);
}

struct optional_store_ms claim_settle_due(const struct claim_record *record) {
    if (record->state == CLAIM_PROCESSING && lapse_is_transition(record)) {
        return (struct optional_store_ms){true, record->lease_expires_at};
    }
    return record->expires_at;
}

struct optional_store_ms claim_runs_until(const struct claim_record *record) {
    switch (record->state) {
    case CLAIM_PROCESSING:
        return (struct optional_store_ms){true, record->lease_expires_at};
    case CLAIM_RETRYING:
        return (struct optional_store_ms){true, record->next_attempt_at};
    case CLAIM_RECEIVED:
    case CLAIM_UNKNOWN:
    case CLAIM_SUCCEEDED:
    case CLAIM_REJECTED:
    case CLAIM_DEAD_LETTERED:
    case CLAIM_DISCARDED:
        break;
    }
    return (struct optional_store_ms){.present = false};
}
