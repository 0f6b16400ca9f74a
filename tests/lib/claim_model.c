#include "lib/claim_model.h"

#include <string.h>

// One command under way.
struct turn {
    struct model_claim *claim;
    const struct claim_command *command;
    const struct claim_context *context;
    struct model_answer *answer;
    struct claim_record view; // the claim as it is seen now, if there is one
};

// --- arithmetic ----------------------------------------------------------------------------------

static int64_t clamp(__int128 value) {
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static struct store_ms later(struct store_ms at, int64_t ms) {
    return (struct store_ms){clamp((__int128)at.ms + ms)};
}

static struct store_ms earlier_of(struct store_ms a, struct store_ms b) {
    return a.ms < b.ms ? a : b;
}

static struct store_ms later_of(struct store_ms a, struct store_ms b) {
    return a.ms > b.ms ? a : b;
}

static struct wall_ms wall_of(struct store_ms at, struct store_ms now, struct wall_ms wall_now) {
    return (struct wall_ms){clamp((__int128)wall_now.ms + at.ms - now.ms)};
}

static void count_up(uint32_t *count) {
    if (*count < UINT32_MAX) ++*count;
}

// "TRANSIENT 6" means six retries; the seventh failure is one too many. -1: none ever is.
static bool too_many(int32_t retries_max, uint32_t failures) {
    return retries_max != -1 && (int64_t)failures > retries_max;
}

// The longest delay: first, doubled for each failure after the first, at most max.
static int64_t full_delay(const struct policy *policy, uint64_t failures) {
    __int128 delay = policy->backoff_first_ms;
    for (uint64_t i = 1; i < failures && delay < policy->backoff_max_ms; i++) delay *= 2;
    return delay > policy->backoff_max_ms ? policy->backoff_max_ms : (int64_t)delay;
}

// The beginning of a UTF-8 text, whole characters only.
static struct bytes beginning(struct bytes text, size_t max) {
    size_t end = 0;
    while (end < text.len) {
        uint8_t lead = text.data[end];
        size_t step = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (end + step > max) break;
        end += step;
    }
    return (struct bytes){text.data, end};
}

static bool body_equal(const struct claim_body *a, const struct claim_body *b) {
    return a->present == b->present && (!a->present || bytes_equal(a->data, b->data));
}

// --- what time brings about ----------------------------------------------------------------------

enum lapse { NO_LAPSE, LAPSE_TO_RETRY, LAPSE_TO_UNKNOWN, LAPSE_TO_DEAD };

static enum lapse lapse_of(const struct model_claim *claim, struct store_ms now) {
    const struct claim_record *known = &claim->known;
    if (known->state != CLAIM_PROCESSING || now.ms < known->lease_expires_at.ms) return NO_LAPSE;
    if (known->lapse_leads_to == POLICY_HOLD) return LAPSE_TO_UNKNOWN;
    uint32_t lapses = known->retry_counts[RETRY_LAPSED];
    count_up(&lapses);
    return too_many(known->lapse_retries_max, lapses) ? LAPSE_TO_DEAD : LAPSE_TO_RETRY;
}

// The attempt ends by running out of its lease, or by being taken over by its own owner.
static void count_lapse(struct claim_record *record, enum claim_end end, struct wall_ms at) {
    count_up(&record->retry_counts[RETRY_LAPSED]);
    record->last_error = (struct claim_error){.present = true, .kind = FAIL_LAPSED, .at = at};
    record->attempt.end = end;
    record->attempt.ended_at = at;
}

static void become_dead(struct claim_record *record, struct store_ms at, struct optional_ms keep) {
    record->state = CLAIM_DEAD_LETTERED;
    record->expires_at.present = keep.present;
    if (keep.present) record->expires_at.at = later(at, keep.ms);
}

static bool is_final(enum claim_state state) {
    return state == CLAIM_SUCCEEDED || state == CLAIM_REJECTED || state == CLAIM_DISCARDED;
}

// The record with its lapse, if it had one that is a transition.
static struct claim_record aged(const struct model_claim *claim, struct store_ms now,
                                struct wall_ms wall_now) {
    struct claim_record record = claim->known;
    enum lapse lapse = lapse_of(claim, now);
    if (lapse != LAPSE_TO_UNKNOWN && lapse != LAPSE_TO_DEAD) return record;
    struct store_ms deadline = record.lease_expires_at;
    struct wall_ms at = claim->lapse_noted ? claim->lapse_wall : wall_of(deadline, now, wall_now);
    count_lapse(&record, CLAIM_END_LAPSED, at);
    record.updated_at = at;
    record.made_by_lapse = true;
    if (lapse == LAPSE_TO_UNKNOWN) record.state = CLAIM_UNKNOWN;
    if (lapse == LAPSE_TO_DEAD) become_dead(&record, deadline, record.lapse_dead_retention);
    return record;
}

bool claim_model_look(const struct model_claim *claim, struct store_ms now, struct wall_ms wall_now,
                      struct claim_record *out_record) {
    if (!claim->exists) return false;
    *out_record = aged(claim, now, wall_now);
    bool mortal = is_final(out_record->state) || out_record->state == CLAIM_DEAD_LETTERED;
    return !(mortal && out_record->expires_at.present && now.ms >= out_record->expires_at.at.ms);
}

// --- helpers of the cells ------------------------------------------------------------------------

static bool lapse_has_happened(const struct turn *turn) {
    enum lapse lapse = lapse_of(turn->claim, turn->context->now);
    return lapse == LAPSE_TO_UNKNOWN || lapse == LAPSE_TO_DEAD;
}

// Stores the record and shows it.
static void store(struct turn *turn, struct claim_record record) {
    turn->claim->exists = true;
    turn->claim->known = record;
    turn->claim->lapse_noted = false;
    turn->answer->change = CLAIM_WRITTEN;
    turn->answer->exists = true;
    turn->answer->record = record;
}

// For a token verb: the record as if the attempt had not lapsed. Only the error of a lapse that
// has happened remains until another takes its place.
static struct claim_record unlapsed(const struct turn *turn) {
    struct claim_record record = turn->claim->known;
    if (lapse_has_happened(turn)) record.last_error = turn->view.last_error;
    return record;
}

static void end_attempt(const struct turn *turn, struct claim_record *record, enum claim_end end) {
    record->attempt.end = end;
    record->attempt.ended_at = turn->context->wall_now;
    record->updated_at = turn->context->wall_now;
}

static void remember(struct turn *turn, struct claim_record *record, enum claim_memory memory) {
    record->memory = memory;
    // A Begin is repeated only while its attempt runs.
    record->request_id = (struct bytes){0};
    record->attempt_has_fingerprint = false;
    turn->claim->remembered = *turn->command;
}

static void forget_token(struct claim_record *record) {
    record->has_token = false;
    record->memory = CLAIM_MEMORY_NONE;
}

static void become_final(const struct turn *turn, struct claim_record *record,
                         enum claim_state state, const struct claim_body *result) {
    record->state = state;
    record->updated_at = turn->context->wall_now;
    record->final_at = turn->context->now;
    record->expires_at.present = true;
    record->expires_at.at = later(turn->context->now, turn->context->policy->retention_ms);
    record->result = *result;
    if (result->present) record->result_digest = digest_of(result->data);
    record->payload = (struct claim_body){0};
}

static struct claim_record fresh(const struct turn *turn, enum claim_state state) {
    struct claim_record record = {.state = state};
    record.created_at = turn->context->wall_now;
    record.updated_at = turn->context->wall_now;
    return record;
}

static void say_where_from(const struct turn *turn, struct claim_record *record) {
    if (turn->command->payload_ref.len > 0) record->payload_ref = turn->command->payload_ref;
    if (turn->command->event_time.present) record->event_time = turn->command->event_time;
}

// --- the cells of the table ----------------------------------------------------------------------

static void nothing(struct turn *turn) { (void)turn; }
static void not_found(struct turn *turn) { turn->answer->err = ERR_NOT_FOUND; }
static void wrong_state(struct turn *turn) { turn->answer->err = ERR_WRONG_STATE; }
static void duplicate(struct turn *turn) { turn->answer->outcome = CLAIM_DUPLICATE; }
static void not_yet(struct turn *turn) { turn->answer->outcome = CLAIM_NOT_YET; }
static void unknown(struct turn *turn) { turn->answer->outcome = CLAIM_OUTCOME_UNKNOWN; }
static void dead(struct turn *turn) { turn->answer->outcome = CLAIM_DEAD_LETTER; }

static void grant_from(struct turn *turn, struct claim_record record) {
    const struct claim_command *begin = turn->command;
    const struct policy *policy = turn->context->policy;
    struct store_ms now = turn->context->now;
    if (turn->context->token_next > (uint64_t)LIMIT_TOKEN_MAX) {
        turn->answer->err = ERR_TOKENS_EXHAUSTED;
        turn->answer->lapse_counted = false;
        return;
    }
    if (record.attempt_count > 0) {
        if (record.earlier_count == LIMIT_ATTEMPTS_KEPT - 1) {
            for (uint32_t i = 1; i < record.earlier_count; i++) {
                record.earlier[i - 1] = record.earlier[i];
            }
            record.earlier_count--;
        }
        record.earlier[record.earlier_count++] = record.attempt;
    }
    count_up(&record.attempt_count);
    record.attempt = (struct claim_attempt){.number = record.attempt_count,
                                            .owner = begin->owner,
                                            .begun_at = turn->context->wall_now,
                                            .end = CLAIM_END_NONE};
    record.state = CLAIM_PROCESSING;
    record.updated_at = turn->context->wall_now;
    record.has_token = true;
    record.token = turn->context->token_next;
    record.memory = CLAIM_MEMORY_NONE;
    record.made_by_lapse = false;
    record.request_id = begin->request_id;
    record.attempt_has_fingerprint = begin->fingerprint.len > 0;
    if (record.fingerprint.len == 0) record.fingerprint = begin->fingerprint;
    record.granted_at = now;
    record.lease_expires_at =
        later(now, begin->lease.present ? begin->lease.ms : policy->default_lease_ms);
    if (policy->max_hold.present) {
        record.lease_expires_at =
            earlier_of(record.lease_expires_at, later(now, policy->max_hold.ms));
    }
    record.lapse_leads_to = policy->on_lapse;
    record.lapse_retries_max = policy->max_retries[RETRY_LAPSED];
    record.lapse_dead_retention = policy->dead_letter_retention;
    say_where_from(turn, &record);
    store(turn, record);
    turn->answer->outcome = CLAIM_CLAIMED;
    turn->answer->granted = true;
}

static void grant_new(struct turn *turn) { grant_from(turn, fresh(turn, CLAIM_RECEIVED)); }
static void grant(struct turn *turn) { grant_from(turn, turn->view); }

// A lapsed attempt is counted when it is taken over, and ended when its lease did.
static void take_over(struct turn *turn) {
    struct claim_record record = turn->view;
    count_lapse(&record, CLAIM_END_LAPSED,
                wall_of(record.lease_expires_at, turn->context->now, turn->context->wall_now));
    turn->answer->lapse_counted = true;
    grant_from(turn, record);
}

// The owner takes its own live claim over: a lapse of now, led to where the grant has fixed it.
static void reclaim(struct turn *turn) {
    struct claim_record record = turn->view;
    count_lapse(&record, CLAIM_END_RECLAIMED, turn->context->wall_now);
    turn->answer->lapse_counted = true;
    bool hold = record.lapse_leads_to == POLICY_HOLD;
    if (!hold && !too_many(record.lapse_retries_max, record.retry_counts[RETRY_LAPSED])) {
        grant_from(turn, record);
        return;
    }
    record.updated_at = turn->context->wall_now;
    forget_token(&record);
    if (hold) {
        record.state = CLAIM_UNKNOWN;
    } else {
        become_dead(&record, turn->context->now, record.lapse_dead_retention);
    }
    store(turn, record);
    turn->answer->outcome = hold ? CLAIM_OUTCOME_UNKNOWN : CLAIM_DEAD_LETTER;
}

// Somebody holds the lease: the same call again, the same owner back, or a rival.
static void held(struct turn *turn) {
    const struct claim_command *begin = turn->command;
    const struct claim_record *view = &turn->view;
    bool same_owner = bytes_equal(begin->owner, view->attempt.owner);
    bool same_request =
        begin->request_id.len > 0 && bytes_equal(begin->request_id, view->request_id);
    bool same_print = (begin->fingerprint.len > 0) == view->attempt_has_fingerprint;
    if (same_owner && same_request && same_print) {
        turn->answer->outcome = CLAIM_CLAIMED;
        turn->answer->replayed = true;
    } else if (begin->reclaim && same_owner && begin->owner.len > 0) {
        reclaim(turn);
    } else {
        turn->answer->outcome = CLAIM_IN_FLIGHT;
    }
}

static void complete(struct turn *turn) {
    struct claim_record record = unlapsed(turn);
    end_attempt(turn, &record, CLAIM_END_COMPLETED);
    become_final(turn, &record, CLAIM_SUCCEEDED, &turn->command->result);
    remember(turn, &record, CLAIM_MEMORY_COMPLETE);
    store(turn, record);
}

static void reject(struct turn *turn) {
    struct claim_record record = unlapsed(turn);
    end_attempt(turn, &record, CLAIM_END_REJECTED);
    become_final(turn, &record, CLAIM_REJECTED, &turn->command->result);
    record.reason = turn->command->reason;
    remember(turn, &record, CLAIM_MEMORY_REJECT);
    store(turn, record);
}

static void note_failure(const struct turn *turn, struct claim_record *record) {
    const struct claim_command *fail = turn->command;
    record->last_error = (struct claim_error){.present = true,
                                              .kind = fail->fail_kind,
                                              .message = beginning(fail->message, 4096),
                                              .at = turn->context->wall_now};
    record->attempt.error = beginning(fail->message, 256);
}

static bool counted_as(const struct turn *turn, enum retry_kind *out_kind) {
    switch (turn->command->fail_kind) {
    case FAIL_TRANSIENT:
        *out_kind = RETRY_TRANSIENT;
        return true;
    case FAIL_UNCLASSIFIED:
        *out_kind = RETRY_UNCLASSIFIED;
        return true;
    case FAIL_POISON:
        *out_kind = RETRY_POISON;
        return true;
    case FAIL_OUTCOME_UNKNOWN:
        *out_kind = RETRY_UNCLASSIFIED;
        return turn->context->policy->on_unknown == POLICY_RETRY;
    case FAIL_LAPSED:
        break; // the server's own
    }
    return false;
}

static void fail(struct turn *turn) {
    const struct claim_command *command = turn->command;
    const struct policy *policy = turn->context->policy;
    struct claim_record record = unlapsed(turn);
    enum retry_kind kind;
    end_attempt(turn, &record, CLAIM_END_FAILED);
    note_failure(turn, &record);
    if (!counted_as(turn, &kind)) {
        record.state = CLAIM_UNKNOWN;
    } else {
        count_up(&record.retry_counts[kind]);
        if (too_many(policy->max_retries[kind], record.retry_counts[kind])) {
            become_dead(&record, turn->context->now, policy->dead_letter_retention);
            if (command->payload.present) record.payload = command->payload;
        } else {
            int64_t delay = full_delay(policy, (uint64_t)record.retry_counts[RETRY_TRANSIENT] +
                                                   record.retry_counts[RETRY_UNCLASSIFIED] +
                                                   record.retry_counts[RETRY_POISON]);
            turn->answer->jitter_ms = clamp((__int128)delay * policy->backoff_jitter_percent / 100);
            if (command->retry_after.present) {
                delay = command->retry_after.ms;
                turn->answer->jitter_ms = 0;
            }
            record.state = CLAIM_RETRYING;
            record.next_attempt_at = later(turn->context->now, delay);
        }
    }
    remember(turn, &record, CLAIM_MEMORY_FAIL);
    store(turn, record);
}

// Too late to change what became of it, but not to say why.
static void fail_dead(struct turn *turn) {
    struct claim_record record = turn->view;
    turn->answer->lapse_counted = !turn->claim->lapse_noted;
    record.updated_at = turn->context->wall_now;
    note_failure(turn, &record);
    if (turn->command->payload.present) record.payload = turn->command->payload;
    remember(turn, &record, CLAIM_MEMORY_FAIL);
    store(turn, record);
}

static void release(struct turn *turn) {
    struct claim_record record = unlapsed(turn);
    end_attempt(turn, &record, CLAIM_END_RELEASED);
    record.state = CLAIM_RECEIVED;
    remember(turn, &record, CLAIM_MEMORY_RELEASE);
    store(turn, record);
}

static void renew(struct turn *turn) {
    const struct claim_command *command = turn->command;
    const struct policy *policy = turn->context->policy;
    struct store_ms now = turn->context->now;
    struct claim_record record = turn->claim->known;
    struct store_ms old = record.lease_expires_at;
    struct store_ms wanted =
        later(now, command->lease.present ? command->lease.ms : policy->default_lease_ms);
    if (policy->max_hold.present) {
        struct store_ms last = later(record.granted_at, policy->max_hold.ms);
        if (now.ms >= last.ms) {
            turn->answer->err = ERR_MAX_HOLD;
            return;
        }
        wanted = earlier_of(wanted, last);
    }
    record.lease_expires_at = later_of(old, wanted);
    if (command->checkpoint.present) record.checkpoint = command->checkpoint;
    turn->answer->renewed_lapsed = now.ms >= old.ms;
    turn->answer->change_is_free =
        record.lease_expires_at.ms == old.ms && !command->checkpoint.present;
    store(turn, record);
}

static void register_new(struct turn *turn) {
    struct claim_record record = fresh(turn, CLAIM_RECEIVED);
    say_where_from(turn, &record);
    store(turn, record);
    turn->answer->created = true;
}

static void cancel_from(struct turn *turn, struct claim_record record) {
    become_final(turn, &record, CLAIM_REJECTED, &(struct claim_body){0});
    forget_token(&record);
    record.memory = CLAIM_MEMORY_CANCEL;
    record.reason = turn->command->reason;
    store(turn, record);
}

static void cancel_new(struct turn *turn) { cancel_from(turn, fresh(turn, CLAIM_REJECTED)); }
static void cancel(struct turn *turn) { cancel_from(turn, turn->view); }
static void cancel_again(struct turn *turn) { turn->answer->replayed = true; }

static void resolve(struct turn *turn) {
    const struct claim_command *command = turn->command;
    struct claim_record record = turn->view;
    turn->answer->lapse_counted = lapse_has_happened(turn) && !turn->claim->lapse_noted;
    record.updated_at = turn->context->wall_now;
    record.made_by_lapse = false;
    forget_token(&record);
    switch (command->resolution) {
    case CLAIM_AS_SUCCEEDED:
        become_final(turn, &record, CLAIM_SUCCEEDED, &command->result);
        break;
    case CLAIM_AS_REJECTED:
        become_final(turn, &record, CLAIM_REJECTED, &command->result);
        break;
    case CLAIM_AS_RETRY:
        record.state = CLAIM_RECEIVED;
        break;
    case CLAIM_AS_DEAD_LETTER:
        become_dead(&record, turn->context->now, turn->context->policy->dead_letter_retention);
        break;
    }
    record.reason = command->reason;
    store(turn, record);
}

static void remove_claim(struct turn *turn) {
    turn->claim->exists = false;
    turn->answer->exists = false;
    turn->answer->change = CLAIM_REMOVED;
}

static void settle_lapse(struct turn *turn) {
    if (turn->claim->lapse_noted) return;
    turn->claim->lapse_noted = true;
    turn->claim->lapse_wall = turn->view.updated_at;
    turn->answer->change = CLAIM_WRITTEN;
    turn->answer->lapse_counted = true;
}

static void settle_expiry(struct turn *turn) {
    if (turn->claim->exists) remove_claim(turn);
}

// What is stored is judged: an expired record takes room until it is removed.
static void prune(struct turn *turn) {
    const struct claim_record *known = &turn->claim->known;
    struct optional_ms least = turn->command->prune_final_age_min;
    __int128 age = (__int128)turn->context->now.ms - known->final_at.ms;
    if (!turn->claim->exists || !is_final(known->state)) return;
    if (known->updated_at.ms >= turn->command->prune_before.ms) return;
    if (!least.present || age >= least.ms) remove_claim(turn);
}

// --- the table -----------------------------------------------------------------------------------

enum row {
    ABSENT, // or expired
    RECEIVED,
    LIVE,    // PROCESSING
    LAPSED,  // PROCESSING, to be taken over
    WAITING, // RETRYING
    DUE,     // RETRYING
    UNKNOWN, // by Fail or reclaim
    UNKNOWN_LAPSE,
    SUCCEEDED,
    REJECTED,
    CANCELLED, // REJECTED by Cancel
    DEAD,      // by Fail, reclaim or Resolve
    DEAD_LAPSE,
    DISCARDED,
    ROWS,
};

typedef void cell(struct turn *turn);

// clang-format off
#define WRONG wrong_state
#define NONE  not_found
static cell *const begin_and_token_verbs[ROWS][6] = {
//                    Begin      Complete  Reject  Fail       Renew  Release
    [ABSENT]        = {grant_new, NONE,     NONE,   NONE,      NONE,  NONE},
    [RECEIVED]      = {grant,     WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [LIVE]          = {held,      complete, reject, fail,      renew, release},
    [LAPSED]        = {take_over, complete, reject, fail,      renew, release},
    [WAITING]       = {not_yet,   WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [DUE]           = {grant,     WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [UNKNOWN]       = {unknown,   WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [UNKNOWN_LAPSE] = {unknown,   complete, reject, fail,      WRONG, release},
    [SUCCEEDED]     = {duplicate, WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [REJECTED]      = {duplicate, WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [CANCELLED]     = {duplicate, WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [DEAD]          = {dead,      WRONG,    WRONG,  WRONG,     WRONG, WRONG},
    [DEAD_LAPSE]    = {dead,      complete, reject, fail_dead, WRONG, WRONG},
    [DISCARDED]     = {duplicate, WRONG,    WRONG,  WRONG,     WRONG, WRONG},
};
static cell *const other_verbs[ROWS][6] = {
//                    Register      Cancel        Resolve  Get      Settle         Prune
    [ABSENT]        = {register_new, cancel_new,   NONE,    NONE,    settle_expiry, prune},
    [RECEIVED]      = {nothing,      cancel,       WRONG,   nothing, nothing,       nothing},
    [LIVE]          = {nothing,      WRONG,        WRONG,   nothing, nothing,       nothing},
    [LAPSED]        = {nothing,      WRONG,        WRONG,   nothing, nothing,       nothing},
    [WAITING]       = {nothing,      cancel,       WRONG,   nothing, nothing,       nothing},
    [DUE]           = {nothing,      cancel,       WRONG,   nothing, nothing,       nothing},
    [UNKNOWN]       = {nothing,      WRONG,        resolve, nothing, nothing,       nothing},
    [UNKNOWN_LAPSE] = {nothing,      WRONG,        resolve, nothing, settle_lapse,  nothing},
    [SUCCEEDED]     = {nothing,      WRONG,        WRONG,   nothing, nothing,       prune},
    [REJECTED]      = {nothing,      WRONG,        WRONG,   nothing, nothing,       prune},
    [CANCELLED]     = {nothing,      cancel_again, WRONG,   nothing, nothing,       prune},
    [DEAD]          = {nothing,      WRONG,        WRONG,   nothing, nothing,       nothing},
    [DEAD_LAPSE]    = {nothing,      WRONG,        WRONG,   nothing, settle_lapse,  nothing},
    [DISCARDED]     = {nothing,      WRONG,        WRONG,   nothing, nothing,       prune},
};
#undef WRONG
#undef NONE
// clang-format on
_Static_assert(CLAIM_REGISTER == 6 && CLAIM_VERBS == 12, "the first table ends before Register");

static enum row row_of(const struct turn *turn) {
    const struct claim_record *view = &turn->view;
    struct store_ms now = turn->context->now;
    if (!turn->answer->exists) return ABSENT;
    switch (view->state) {
    case CLAIM_RECEIVED:
        return RECEIVED;
    case CLAIM_PROCESSING:
        return now.ms < view->lease_expires_at.ms ? LIVE : LAPSED;
    case CLAIM_RETRYING:
        return now.ms < view->next_attempt_at.ms ? WAITING : DUE;
    case CLAIM_UNKNOWN:
        return lapse_has_happened(turn) ? UNKNOWN_LAPSE : UNKNOWN;
    case CLAIM_SUCCEEDED:
        return SUCCEEDED;
    case CLAIM_REJECTED:
        return view->memory == CLAIM_MEMORY_CANCEL ? CANCELLED : REJECTED;
    case CLAIM_DEAD_LETTERED:
        return lapse_has_happened(turn) ? DEAD_LAPSE : DEAD;
    case CLAIM_DISCARDED:
        return DISCARDED;
    }
    return ABSENT;
}

// The verb that a memory is of; CLAIM_GET if of none that needs a token.
static enum claim_verb verb_of(enum claim_memory memory) {
    switch (memory) {
    case CLAIM_MEMORY_COMPLETE:
        return CLAIM_COMPLETE;
    case CLAIM_MEMORY_REJECT:
        return CLAIM_REJECT;
    case CLAIM_MEMORY_FAIL:
        return CLAIM_FAIL;
    case CLAIM_MEMORY_RELEASE:
        return CLAIM_RELEASE;
    case CLAIM_MEMORY_CANCEL:
    case CLAIM_MEMORY_NONE:
        break;
    }
    return CLAIM_GET;
}

static bool is_repeat(const struct turn *turn) {
    const struct claim_command *now = turn->command;
    const struct claim_command *then = &turn->claim->remembered;
    if (now->verb != verb_of(turn->view.memory)) return false;
    if (now->verb == CLAIM_RELEASE) return true;
    if (now->verb == CLAIM_COMPLETE) return body_equal(&now->result, &then->result);
    if (now->verb == CLAIM_REJECT) {
        return body_equal(&now->result, &then->result) && bytes_equal(now->reason, then->reason);
    }
    return now->fail_kind == then->fail_kind && bytes_equal(now->message, then->message) &&
           body_equal(&now->payload, &then->payload) &&
           now->retry_after.present == then->retry_after.present &&
           (!now->retry_after.present || now->retry_after.ms == then->retry_after.ms);
}

static bool needs_token(enum claim_verb verb) {
    return verb == CLAIM_COMPLETE || verb == CLAIM_REJECT || verb == CLAIM_FAIL ||
           verb == CLAIM_RENEW || verb == CLAIM_RELEASE;
}

static bool may_carry_result(enum claim_verb verb) {
    return verb == CLAIM_COMPLETE || verb == CLAIM_REJECT || verb == CLAIM_RESOLVE;
}

// Arguments, record, token, state: in this order.
static void decide(struct turn *turn) {
    const struct claim_command *command = turn->command;
    const struct policy *policy = turn->context->policy;
    const struct claim_record *view = &turn->view;
    bool here = turn->answer->exists;
    if (may_carry_result(command->verb) && command->result.present &&
        command->result.data.len > policy->result_bytes_max) {
        turn->answer->err = ERR_INVALID_ARGUMENT;
        return;
    }
    if (command->verb == CLAIM_BEGIN) {
        bool given = command->fingerprint.len > 0;
        if (policy->require_fingerprint && !given) {
            turn->answer->err = ERR_INVALID_ARGUMENT;
            return;
        }
        if (here && given && view->fingerprint.len > 0 &&
            !bytes_equal(command->fingerprint, view->fingerprint)) {
            turn->answer->err = ERR_FINGERPRINT_MISMATCH;
            return;
        }
    }
    if (here && needs_token(command->verb)) {
        if (!view->has_token || view->token != command->token) {
            turn->answer->err = ERR_STALE_TOKEN;
            return;
        }
        if (view->memory != CLAIM_MEMORY_NONE) {
            turn->answer->replayed = is_repeat(turn);
            if (!turn->answer->replayed) turn->answer->err = ERR_WRONG_STATE;
            return;
        }
    }
    enum row row = row_of(turn);
    if (command->verb < CLAIM_REGISTER) {
        begin_and_token_verbs[row][command->verb](turn);
    } else {
        other_verbs[row][command->verb - CLAIM_REGISTER](turn);
    }
}

void claim_model_decide(struct model_claim *claim, const struct claim_command *command,
                        const struct claim_context *context, struct model_answer *out_answer) {
    struct turn turn = {
        .claim = claim, .command = command, .context = context, .answer = out_answer};
    *out_answer = (struct model_answer){.err = ERR_OK, .change = CLAIM_UNCHANGED};
    out_answer->exists = claim_model_look(claim, context->now, context->wall_now, &turn.view);
    if (out_answer->exists) out_answer->record = turn.view;
    decide(&turn);
}

void claim_model_adopt(struct model_claim *claim, const struct claim_record *record) {
    claim->known.next_attempt_at = record->next_attempt_at;
}
