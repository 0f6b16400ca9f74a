// Long random histories of a few claims: what must hold at every step, whatever happens.
//
// The seed is printed; CLAIMD_TEST_SEED repeats a walk.
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rand.h"
#include "lib/claim_cases.h"

#define CLAIMS 8
#define STEPS 200000
#define TOKENS_KEPT 4

// libcheck writes a line to a file for each assertion that holds; here millions do.
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) ck_abort_msg("does not hold: " #condition);                              \
    } while (0)

struct walked {
    struct claim_record record;
    bool stored;
    struct claim_record twin; // the same claim, with sweeps at other times
    bool twin_stored;
    struct model_claim model;
    uint64_t tokens[TOKENS_KEPT]; // of the last grants, newest first
    bool held;                    // somebody may believe to hold it...
    int64_t held_until;           // ...until then
    uint32_t attempt_count;       // the highest seen of this life
};

struct walk {
    struct rand rand;
    struct store_ms now;
    int64_t wall_offset;
    bool wall_jumps; // else twins are compared
    uint64_t token_last;
    struct walked claims[CLAIMS];
    uint64_t outcomes[CLAIM_OUTCOMES];
    uint64_t errors[ERR_LOCKED + 1];
};

static uint64_t below(struct walk *walk, uint64_t bound) { return rand_u64(&walk->rand) % bound; }

// Policies change between commands.
static struct policy any_policy(struct walk *walk) {
    static const int32_t limits[4] = {0, 1, 3, POLICY_NO_LIMIT};
    struct policy policy = policy_default;
    policy.default_lease_ms = 1000;
    policy.max_hold = (struct optional_ms){below(walk, 3) == 0, 2500};
    policy.on_lapse = below(walk, 3) == 0 ? POLICY_HOLD : POLICY_RETRY;
    policy.on_unknown = below(walk, 2) == 0 ? POLICY_HOLD : POLICY_RETRY;
    policy.backoff_first_ms = 100;
    policy.backoff_max_ms = 1500;
    policy.backoff_jitter_percent = below(walk, 3) == 0 ? 100 : 0;
    for (size_t i = 0; i < RETRY_KINDS; i++) policy.max_retries[i] = limits[below(walk, 4)];
    policy.retention_ms = 4000;
    policy.dead_letter_retention = (struct optional_ms){below(walk, 2) == 0, 3000};
    policy.require_fingerprint = below(walk, 50) == 0;
    if (below(walk, 50) == 0) policy.result_bytes_max = 3;
    return policy;
}

static uint64_t any_token(struct walk *walk, const struct walked *claim) {
    uint64_t which = below(walk, 8);
    if (which == 0) return walk->claims[below(walk, CLAIMS)].tokens[0] | 1;
    if (which == 1) return claim->tokens[1 + below(walk, TOKENS_KEPT - 1)] | 1;
    return claim->tokens[0] | 1; // tokens are odd
}

static enum claim_verb any_verb(struct walk *walk) {
    static const enum claim_verb verbs[] = {
        CLAIM_BEGIN,   CLAIM_BEGIN,    CLAIM_BEGIN, CLAIM_BEGIN,  CLAIM_BEGIN,    CLAIM_BEGIN,
        CLAIM_RENEW,   CLAIM_RENEW,    CLAIM_FAIL,  CLAIM_FAIL,   CLAIM_FAIL,     CLAIM_RELEASE,
        CLAIM_RELEASE, CLAIM_COMPLETE, CLAIM_GET,   CLAIM_REJECT, CLAIM_REGISTER, CLAIM_RESOLVE,
        CLAIM_RESOLVE, CLAIM_CANCEL,   CLAIM_PRUNE, CLAIM_SETTLE,
    };
    return verbs[below(walk, sizeof verbs / sizeof verbs[0])];
}

static struct claim_command any_command(struct walk *walk, const struct walked *claim) {
    struct claim_command command = {.verb = any_verb(walk)};
    if (command.verb == CLAIM_SETTLE && !walk->wall_jumps) command.verb = CLAIM_GET;
    command.lease = (struct optional_ms){below(walk, 2) == 0, 100 + (int64_t)below(walk, 2000)};
    switch (command.verb) {
    case CLAIM_BEGIN:
        command.owner = claim_cases_owners[below(walk, 3)];
        command.request_id = claim_cases_requests[below(walk, 3)];
        command.fingerprint = claim_cases_fingerprints[below(walk, 20) == 0 ? 2 : below(walk, 2)];
        command.payload_ref = claim_cases_payload_refs[below(walk, 2)];
        command.reclaim = below(walk, 4) == 0;
        break;
    case CLAIM_COMPLETE:
    case CLAIM_REJECT:
        command.token = any_token(walk, claim);
        command.result = claim_cases_bodies[below(walk, 4)];
        if (command.verb == CLAIM_REJECT) command.reason = claim_cases_reasons[below(walk, 3)];
        break;
    case CLAIM_FAIL:
        command.token = any_token(walk, claim);
        command.fail_kind = (enum fail_kind)(FAIL_TRANSIENT + below(walk, 4));
        command.message = claim_cases_messages[below(walk, 2)];
        command.payload = claim_cases_bodies[below(walk, 3)];
        command.retry_after =
            (struct optional_ms){below(walk, 4) == 0, (int64_t)below(walk, 2) * 700};
        break;
    case CLAIM_RENEW:
        command.token = any_token(walk, claim);
        command.checkpoint = claim_cases_bodies[below(walk, 4)];
        break;
    case CLAIM_RELEASE:
        command.token = any_token(walk, claim);
        break;
    case CLAIM_REGISTER:
        command.payload_ref = claim_cases_payload_refs[below(walk, 2)];
        break;
    case CLAIM_CANCEL:
        command.reason = claim_cases_reasons[below(walk, 3)];
        break;
    case CLAIM_RESOLVE:
        command.resolution = (enum claim_resolution)(CLAIM_AS_SUCCEEDED + below(walk, 4));
        command.reason = claim_cases_reasons[below(walk, 3)];
        if (command.resolution <= CLAIM_AS_REJECTED) {
            command.result = claim_cases_bodies[below(walk, 4)];
        }
        break;
    case CLAIM_PRUNE:
        command.prune_before.ms = walk->wall_offset + walk->now.ms - (int64_t)below(walk, 3000);
        command.prune_final_age_min =
            (struct optional_ms){below(walk, 2) == 0, (int64_t)below(walk, 3000)};
        break;
    case CLAIM_GET:
    case CLAIM_SETTLE:
        break;
    }
    return command;
}

// Mostly a little, often to the neighbourhood of a deadline of the claim, sometimes a lot.
static void let_time_pass(struct walk *walk, const struct walked *claim) {
    struct claim_case like = {.stored = claim->stored, .now = walk->now, .model = claim->model};
    struct store_ms times[CLAIM_CASES_TIMES_MAX];
    uint64_t how = below(walk, 16);
    if (how < 8) {
        walk->now.ms += (int64_t)below(walk, 120);
    } else if (how < 14) {
        struct store_ms at = times[below(walk, claim_cases_times(&like, times))];
        if (at.ms - walk->now.ms < 4000) walk->now = at;
    } else if (how == 14) {
        walk->now.ms += (int64_t)below(walk, 1500);
    }
    if (walk->wall_jumps && below(walk, 100) == 0) {
        walk->wall_offset += (int64_t)below(walk, 7200000) - 3600000;
    }
}

static void store(struct claim_record *record, bool *stored,
                  const struct claim_decision *decision) {
    if (decision->change == CLAIM_WRITTEN) {
        *record = decision->record;
        *stored = true;
    }
    if (decision->change == CLAIM_REMOVED) *stored = false;
}

// At most one unexpired holder; a holder is what a CLAIMED has told that it is one.
static void check_holder(struct walk *walk, struct walked *claim,
                         const struct claim_command *command, enum err err,
                         const struct claim_decision *decision) {
    const struct claim_record *record = &decision->record;
    if (decision->granted) {
        bool own = command->reclaim && command->owner.len > 0 && record->earlier_count > 0 &&
                   bytes_equal(command->owner, record->earlier[record->earlier_count - 1].owner);
        HOLDS(!claim->held || walk->now.ms >= claim->held_until || own);
        HOLDS(record->token > walk->token_last);
        claim->held = true;
        claim->held_until = record->lease_expires_at.ms;
    } else if (decision->outcome == CLAIM_CLAIMED) {
        HOLDS(claim->held && walk->now.ms < claim->held_until);
        HOLDS(record->token == claim->tokens[0]);
        HOLDS(record->lease_expires_at.ms == claim->held_until);
    } else if (err == ERR_OK && command->verb == CLAIM_RENEW) {
        HOLDS(record->lease_expires_at.ms >= claim->held_until);
        claim->held_until = record->lease_expires_at.ms;
    } else if (decision->change == CLAIM_WRITTEN && record->state != CLAIM_PROCESSING) {
        claim->held = false;
    }
}

static void check_step(struct walk *walk, struct walked *claim, const struct claim_command *command,
                       bool was_there, const struct claim_record *before, enum err err,
                       const struct claim_decision *decision) {
    if (err != ERR_OK) HOLDS(decision->change == CLAIM_UNCHANGED);
    if (decision->change == CLAIM_UNCHANGED) {
        HOLDS(decision->exists == was_there);
        if (was_there) {
            HOLDS(claim_model_record_difference(before, &decision->record, 0) == NULL);
        }
    }
    if (!was_there) claim->attempt_count = 0;
    if (decision->exists) {
        HOLDS(decision->record.attempt_count >= claim->attempt_count);
        claim->attempt_count = decision->record.attempt_count;
        HOLDS(!decision->record.has_token || decision->record.token <= walk->token_last + 2);
    }
    check_holder(walk, claim, command, err, decision);
}

// The same commands at the same times, but with sweeps in between: the same answers.
static void check_twin(struct walk *walk, struct walked *claim, const struct claim_command *command,
                       const struct claim_context *context, enum err err,
                       const struct claim_decision *decision) {
    struct claim_decision twin;
    if (below(walk, 3) == 0) {
        struct claim_command settle = {.verb = CLAIM_SETTLE};
        enum err settled =
            claim_decide(claim->twin_stored ? &claim->twin : NULL, &settle, context, &twin);
        HOLDS(settled == ERR_OK);
        store(&claim->twin, &claim->twin_stored, &twin);
    }
    enum err twin_err =
        claim_decide(claim->twin_stored ? &claim->twin : NULL, command, context, &twin);
    struct model_answer expected = {.err = err,
                                    .outcome = decision->outcome,
                                    .change = twin.change,
                                    .granted = decision->granted,
                                    .replayed = decision->replayed,
                                    .created = decision->created,
                                    .renewed_lapsed = decision->renewed_lapsed,
                                    .lapse_counted = twin.lapse_counted,
                                    .exists = decision->exists};
    if (decision->exists) expected.record = decision->record;
    const char *field = claim_model_difference(&expected, twin_err, &twin);
    if (field != NULL)
        ck_abort_msg("a sweep has changed an answer: %s of verb %d", field, (int)command->verb);
    store(&claim->twin, &claim->twin_stored, &twin);
}

static void redrive(struct claim_record *record) {
    record->state = CLAIM_RECEIVED;
    record->has_token = false;
    record->memory = CLAIM_MEMORY_NONE;
    record->made_by_lapse = false;
    record->expires_at.present = false;
    for (size_t i = 0; i < RETRY_KINDS; i++) record->retry_counts[i] = 0;
}

// What operators' later verbs will do to a dead letter, lest all claims end as one.
static void operate(struct walk *walk, struct walked *claim) {
    struct wall_ms wall_now = {walk->wall_offset + walk->now.ms};
    struct claim_record view;
    bool here = claim_model_look(&claim->model, walk->now, wall_now, &view);
    if (!here || view.state != CLAIM_DEAD_LETTERED || below(walk, 8) != 0) return;
    claim->held = false;
    if (below(walk, 2) == 0) { // forgotten
        claim->attempt_count = 0;
        claim->model.exists = claim->stored = claim->twin_stored = false;
        return;
    }
    redrive(&view);
    claim->model.known = view;
    claim->model.lapse_noted = false;
    HOLDS(claim_settle(&claim->record, walk->now, wall_now));
    redrive(&claim->record);
    if (walk->wall_jumps) return;
    HOLDS(claim_settle(&claim->twin, walk->now, wall_now));
    redrive(&claim->twin);
}

static void take_step(struct walk *walk) {
    struct walked *claim = &walk->claims[below(walk, CLAIMS)];
    operate(walk, claim);
    let_time_pass(walk, claim);
    struct policy policy = any_policy(walk);
    struct claim_command command = any_command(walk, claim);
    struct claim_context context = {.now = walk->now,
                                    .wall_now = {walk->wall_offset + walk->now.ms},
                                    .policy = &policy,
                                    .token_next = walk->token_last + 2,
                                    .random = rand_u64(&walk->rand)};
    struct model_answer answer;
    struct claim_decision decision;
    struct claim_record before;
    bool was_there = claim_model_look(&claim->model, walk->now, context.wall_now, &before);
    enum err err =
        claim_decide(claim->stored ? &claim->record : NULL, &command, &context, &decision);
    claim_model_decide(&claim->model, &command, &context, &answer);
    const char *field = claim_model_difference(&answer, err, &decision);
    if (field != NULL)
        ck_abort_msg("verb %d of a record in state %d: %s", (int)command.verb,
                     was_there ? (int)before.state : 0, field);
    if (answer.jitter_ms > 0) claim_model_adopt(&claim->model, &decision.record);
    check_step(walk, claim, &command, was_there, &before, err, &decision);
    if (!walk->wall_jumps) check_twin(walk, claim, &command, &context, err, &decision);
    store(&claim->record, &claim->stored, &decision);
    if (decision.granted) {
        walk->token_last = context.token_next;
        for (size_t i = TOKENS_KEPT - 1; i > 0; i--) claim->tokens[i] = claim->tokens[i - 1];
        claim->tokens[0] = walk->token_last;
    }
    if (command.verb == CLAIM_BEGIN) walk->outcomes[decision.outcome]++;
    walk->errors[err]++;
}

static void walk_from(uint64_t seed, bool wall_jumps) {
    static struct walk walk;
    printf("walk: seed %" PRIu64 "%s\n", seed, wall_jumps ? ", the wall clock jumps" : "");
    fflush(stdout);
    walk = (struct walk){.rand = rand_from_seed(seed),
                         .now = {5000},
                         .wall_offset = INT64_C(1700000000000),
                         .wall_jumps = wall_jumps,
                         .token_last = 1001};
    for (int i = 0; i < STEPS; i++) take_step(&walk);
    // A walk that never got anywhere proves nothing.
    for (int i = CLAIM_CLAIMED; i <= CLAIM_DEAD_LETTER; i++) {
        printf("  outcome %d: %" PRIu64 "\n", i, walk.outcomes[i]);
    }
    for (int i = ERR_OK; i <= ERR_MAX_HOLD; i++) {
        printf("  %s: %" PRIu64 "\n", error_reason((enum err)i), walk.errors[i]);
    }
    fflush(stdout);
    for (int i = CLAIM_CLAIMED; i <= CLAIM_DEAD_LETTER; i++)
        ck_assert_uint_gt(walk.outcomes[i], 50);
    for (int i = ERR_OK; i <= ERR_MAX_HOLD; i++) ck_assert_uint_gt(walk.errors[i], 20);
}

static uint64_t seed_of_today(void) {
    const char *text = getenv("CLAIMD_TEST_SEED");
    uint64_t seed = 0;
    if (text != NULL) {
        for (; *text >= '0' && *text <= '9'; text++) seed = seed * 10 + (uint64_t)(*text - '0');
        return seed;
    }
    struct rand rand = rand_from_kernel();
    return rand_u64(&rand);
}

START_TEST(test_walk_with_jumping_wall_clock) {
    walk_from(1, true);
    walk_from(seed_of_today(), true);
}
END_TEST

START_TEST(test_sweeps_change_no_answer) {
    walk_from(2, false);
    walk_from(seed_of_today(), false);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claim_walk");
    TCase *tcase = tcase_create("walk");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_walk_with_jumping_wall_clock);
    tcase_add_test(tcase, test_sweeps_change_no_answer);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
