// The comparing half of claim_cases.h.
#include "lib/claim_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_OF_EACH_KIND 3
#define KINDS_MAX 256

// Differences of one kind, by field, verb and state: a few are shown.
struct kind {
    const char *field;
    enum claim_verb verb;
    int state;
    bool settled;
    uint64_t count;
};

static struct kind kinds[KINDS_MAX];
static size_t kind_count;
static struct claim_cases_count counts;

static const char *const verbs[CLAIM_VERBS] = {
    "Begin",    "Complete", "Reject",  "Fail", "Renew",  "Release",
    "Register", "Cancel",   "Resolve", "Get",  "Settle", "Prune",
};

static void add_time(const struct claim_case *claim, int64_t deadline, struct store_ms *times,
                     size_t *count) {
    for (int64_t at = deadline - 1; at <= deadline + 1; at++) {
        bool known = at < claim->now.ms;
        for (size_t i = 0; i < *count && !known; i++) known = times[i].ms == at;
        if (!known && *count < CLAIM_CASES_TIMES_MAX) times[(*count)++].ms = at;
    }
}

size_t claim_cases_times(const struct claim_case *claim, struct store_ms *out_times) {
    const struct claim_record *known = &claim->model.known;
    size_t count = 1;
    out_times[0] = claim->now;
    if (!claim->stored) return count;
    if (known->state == CLAIM_PROCESSING) {
        int64_t lapse = known->lease_expires_at.ms;
        add_time(claim, lapse, out_times, &count);
        add_time(claim, known->granted_at.ms + CLAIM_CASES_HOLD_MS, out_times, &count);
        add_time(claim, lapse + CLAIM_CASES_DEAD_MS, out_times, &count);
    }
    if (known->state == CLAIM_RETRYING) {
        add_time(claim, known->next_attempt_at.ms, out_times, &count);
    }
    if (known->expires_at.present) add_time(claim, known->expires_at.at.ms, out_times, &count);
    return count;
}

static void note(const struct claim_case *claim, const struct claim_command *command,
                 const struct claim_context *context, const struct model_answer *answer,
                 enum err err, const struct claim_decision *decision, const char *field,
                 bool settled) {
    counts.differed++;
    int state = claim->stored ? (int)claim->record.state : 0;
    size_t i = 0;
    while (i < kind_count &&
           !(strcmp(kinds[i].field, field) == 0 && kinds[i].verb == command->verb &&
             kinds[i].state == state && kinds[i].settled == settled)) {
        i++;
    }
    if (i == KINDS_MAX) return;
    if (i == kind_count) {
        kinds[kind_count++] = (struct kind){field, command->verb, state, settled, 0};
    }
    if (++kinds[i].count > SHOWN_OF_EACH_KIND) return;
    printf("%s of [%s]%s, %" PRId64 " ms later: %s differs\n", verbs[command->verb], claim->name,
           settled ? " as settled" : "", context->now.ms - claim->now.ms, field);
    printf("    expected %s, outcome %d, change %d, state %d; got %s, outcome %d, change %d, "
           "state %d\n",
           error_reason(answer->err), (int)answer->outcome, (int)answer->change,
           answer->exists ? (int)answer->record.state : 0, error_reason(err),
           (int)decision->outcome, (int)decision->change,
           decision->exists ? (int)decision->record.state : 0);
}

// A sweep that came just before changes no answer, only what is left to write.
static const char *settled_difference(const struct claim_case *claim,
                                      const struct claim_command *command,
                                      const struct claim_context *context,
                                      const struct model_answer *answer, enum err *out_err,
                                      struct claim_decision *out_decision) {
    struct claim_record settled = claim->record;
    bool left = claim_settle(&settled, context->now, context->wall_now);
    *out_err = claim_decide(left ? &settled : NULL, command, context, out_decision);
    struct model_answer expected = *answer;
    expected.change = out_decision->change;
    expected.lapse_counted = out_decision->lapse_counted;
    return claim_model_difference(&expected, *out_err, out_decision);
}

bool claim_cases_compare(const struct claim_case *claim, const struct claim_command *command,
                         const struct claim_context *context) {
    struct model_claim model = claim->model;
    struct model_answer answer;
    struct claim_decision decision;
    claim_model_decide(&model, command, context, &answer);
    enum err err = claim_decide(claim->stored ? &claim->record : NULL, command, context, &decision);
    const char *field = claim_model_difference(&answer, err, &decision);
    counts.compared++;
    if (field != NULL) {
        note(claim, command, context, &answer, err, &decision, field, false);
        return false;
    }
    if (!claim->stored) return true;
    field = settled_difference(claim, command, context, &answer, &err, &decision);
    if (field != NULL) note(claim, command, context, &answer, err, &decision, field, true);
    return field == NULL;
}

struct claim_cases_count claim_cases_finish(const char *what) {
    struct claim_cases_count result = counts;
    printf("%s: %" PRIu64 " combinations compared, %" PRIu64 " differ\n", what, result.compared,
           result.differed);
    for (size_t i = 0; i < kind_count; i++) {
        printf("    %" PRIu64 " x %s of a record in state %d%s: %s\n", kinds[i].count,
               verbs[kinds[i].verb], kinds[i].state, kinds[i].settled ? " as settled" : "",
               kinds[i].field);
    }
    fflush(stdout); // a failed check ends the process without doing so
    counts = (struct claim_cases_count){0};
    kind_count = 0;
    return result;
}
