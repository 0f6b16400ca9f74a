// A long random walk: many commands in flight on few keys, restarts, crashes, prunes and clocks
// that jump, and every answer compared with the model of claim_model.h.
//
// The seed is printed; CLAIMD_TEST_SEED repeats a walk.
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "engine/prune.h"
#include "lib/claim_model.h"
#include "lib/engine_calls.h"

#define KEYS 48
#define CALLS_MAX 64
#define OPS UINT64_C(100000)
#define OPS_SANITIZED UINT64_C(20000)

struct key {
    char id[48];
    const char *consumer;
    const char *tenant;
    struct model_claim model;
    uint64_t tokens[4]; // the last ones granted, newest first
};

struct slot {
    bool used;
    struct key *key;
    struct fixture_call call;
};

static struct engine_fixture fixture;
static struct rand chance;
static uint64_t seed;
static struct key keys[KEYS];
static struct slot slots[CALLS_MAX];
static uint64_t ops_done;
static uint64_t step;
static uint64_t token_max;
static uint64_t outcomes[CLAIM_OUTCOMES];
static uint8_t data[6000];

static uint64_t below(uint64_t bound) { return rand_u64(&chance) % bound; }
static bool one_in(uint64_t count) { return below(count) == 0; }

// --- commands -----------------------------------------------------------------------------------

static const char *pick_text(void) {
    static const char *const texts[] = {"", "w0", "w1", "h\xC3\xA9", "the quick brown fox"};
    return texts[below(sizeof texts / sizeof texts[0])];
}

static struct claim_body pick_body(void) {
    static const uint32_t sizes[] = {0, 5, 256, 257, 6000};
    if (one_in(3)) return (struct claim_body){.present = false};
    uint32_t size = sizes[below(5)];
    return (struct claim_body){.present = true, .size_bytes = size, .data = {data, size}};
}

static struct optional_ms pick_lease(void) {
    static const int64_t leases[] = {100, 1000, 5000, 30000};
    return (struct optional_ms){!one_in(4), leases[below(4)]};
}

static enum claim_verb pick_verb(void) {
    static const enum claim_verb verbs[] = {
        CLAIM_BEGIN, CLAIM_BEGIN, CLAIM_BEGIN,  CLAIM_BEGIN,   CLAIM_COMPLETE, CLAIM_COMPLETE,
        CLAIM_FAIL,  CLAIM_FAIL,  CLAIM_RENEW,  CLAIM_RENEW,   CLAIM_REJECT,   CLAIM_RELEASE,
        CLAIM_GET,   CLAIM_GET,   CLAIM_CANCEL, CLAIM_RESOLVE, CLAIM_REGISTER,
    };
    return verbs[below(sizeof verbs / sizeof verbs[0])];
}

static struct claim_command pick_begin(void) {
    return (struct claim_command){.verb = CLAIM_BEGIN,
                                  .lease = pick_lease(),
                                  .owner = bytes_of(pick_text()),
                                  .request_id = bytes_of(one_in(2) ? "" : pick_text()),
                                  .fingerprint = bytes_of(one_in(4)   ? "f"
                                                          : one_in(8) ? "g"
                                                                      : ""),
                                  .payload_ref = bytes_of(one_in(4) ? "topic/3/77" : ""),
                                  .event_time = {one_in(2), {123456}},
                                  .reclaim = one_in(8)};
}

static struct claim_command pick_fail(uint64_t token) {
    return (struct claim_command){.verb = CLAIM_FAIL,
                                  .token = token,
                                  .fail_kind = (enum fail_kind)(FAIL_TRANSIENT + below(4)),
                                  .message = bytes_of(pick_text()),
                                  .payload = pick_body(),
                                  .retry_after = {one_in(3), (int64_t)below(3000)}};
}

// Each verb with arguments of its own only.
static struct claim_command pick_command(const struct key *key) {
    uint64_t token = one_in(4) ? key->tokens[below(4)] : key->tokens[0];
    struct claim_command command = {.verb = pick_verb(), .token = token == 0 ? 1 : token};
    switch (command.verb) {
    case CLAIM_BEGIN:
        return pick_begin();
    case CLAIM_FAIL:
        return pick_fail(command.token);
    case CLAIM_REJECT:
        command.reason = bytes_of(pick_text());
        command.result = pick_body();
        break;
    case CLAIM_COMPLETE:
        command.result = pick_body();
        break;
    case CLAIM_RENEW:
        command.lease = pick_lease();
        command.checkpoint = pick_body();
        break;
    case CLAIM_RESOLVE:
        command.result = pick_body();
        command.resolution = (enum claim_resolution)(CLAIM_AS_SUCCEEDED + below(4));
        command.reason = bytes_of(pick_text());
        break;
    case CLAIM_CANCEL:
        command.reason = bytes_of(pick_text());
        break;
    case CLAIM_REGISTER:
        command.payload_ref = bytes_of(one_in(2) ? "topic/4/78" : "");
        break;
    case CLAIM_RELEASE:
    case CLAIM_GET:
    case CLAIM_SETTLE:
    case CLAIM_PRUNE:
        break;
    }
    return command;
}

static void start_one(void) {
    struct slot *slot = &slots[below(CALLS_MAX)];
    if (slot->used) return; // parked: another time
    slot->used = true;
    slot->key = &keys[one_in(2) ? below(4) : below(KEYS)];
    fixture_start(&fixture, &slot->call,
                  &(struct fixture_request){.tenant = slot->key->tenant,
                                            .consumer = slot->key->consumer,
                                            .id = slot->key->id,
                                            .command = pick_command(slot->key),
                                            .wait_ms = one_in(4) ? 1 + (int64_t)below(20000) : 0,
                                            .include_bodies = one_in(2)});
}

// --- comparing ----------------------------------------------------------------------------------

static void fail_at(const struct slot *slot, const struct model_answer *expected,
                    const char *what) {
    const struct claim_decision *decision = &slot->call.answer.decision;
    ck_abort_msg("seed %" PRIu64 ", step %" PRIu64 ", op %" PRIu64 ": %s of %s: %s differs; "
                 "expected %s, outcome %d, state %d; got %s, outcome %d, state %d",
                 seed, step, ops_done, engine_verb_name(slot->call.op.command.verb), slot->key->id,
                 what, error_reason(expected->err), (int)expected->outcome,
                 expected->exists ? (int)expected->record.state : 0,
                 error_reason(slot->call.answer.err), (int)decision->outcome,
                 decision->exists ? (int)decision->record.state : 0);
}

// A body that the answer need not show is known by its size; the rest of it is taken on trust here.
static bool show_body(struct claim_body *body, const struct claim_body *expected, bool must_show) {
    if (!body->present || !body->in_blob) return true;
    body->in_blob = false;
    body->data = expected->data;
    return !must_show;
}

static void compare(struct slot *slot) {
    struct fixture_answer *answer = &slot->call.answer;
    struct claim_decision *decision = &answer->decision;
    const struct claim_command *command = &slot->call.op.command;
    struct model_answer expected;
    struct claim_context context = {.now = answer->now,
                                    .wall_now = answer->wall_now,
                                    .policy = &fixture.policy,
                                    .token_next = token_max + 1};
    if (decision->granted) {
        context.token_next = decision->record.token;
    }
    claim_model_decide(&slot->key->model, command, &context, &expected);
    bool all = command->verb == CLAIM_GET && slot->call.op.include_bodies && answer->err == ERR_OK;
    bool takeover = decision->outcome == CLAIM_CLAIMED && decision->record.attempt_count > 1;
    bool shown = show_body(&decision->record.result, &expected.record.result,
                           all || decision->outcome == CLAIM_DUPLICATE);
    shown &= show_body(&decision->record.checkpoint, &expected.record.checkpoint,
                       all || takeover || decision->outcome == CLAIM_OUTCOME_UNKNOWN);
    shown &= show_body(&decision->record.payload, &expected.record.payload, all);
    const char *difference = claim_model_difference(&expected, answer->err, decision);
    if (difference == NULL && !shown) difference = "a body that must be shown";
    if (difference != NULL) fail_at(slot, &expected, difference);
    if (expected.exists) claim_model_adopt(&slot->key->model, &decision->record);
    if (decision->granted) {
        memmove(&slot->key->tokens[1], &slot->key->tokens[0], 3 * sizeof slot->key->tokens[0]);
        slot->key->tokens[0] = decision->record.token;
        if (decision->record.token > token_max) token_max = decision->record.token;
    }
    outcomes[decision->outcome]++;
    ops_done++;
}

// Compares all that is done, in the order in which it was decided on each key.
static void take_done(void) {
    for (;;) {
        struct slot *next = NULL;
        for (size_t i = 0; i < CALLS_MAX; i++) {
            struct slot *slot = &slots[i];
            if (!slot->used || !slot->call.done) continue;
            if (next == NULL || slot->call.done_order < next->call.done_order) next = slot;
        }
        if (next == NULL) break;
        compare(next);
        next->used = false;
    }
    fixture_forget(&fixture);
}

// What the sweep has written by now. What has expired may be there for a while yet, and is alive
// again if a crash takes store time back to before its deadline.
static void settle_models(void) {
    struct claim_context context = {.now = fixture_now(&fixture),
                                    .wall_now = {fake_clock_wall_ms(&fixture.clock)},
                                    .policy = &fixture.policy};
    struct claim_command settle = {.verb = CLAIM_SETTLE};
    struct model_answer answer;
    for (size_t i = 0; i < KEYS; i++) {
        struct claim_record record;
        struct model_claim *model = &keys[i].model;
        if (!claim_model_look(model, context.now, context.wall_now, &record)) continue;
        claim_model_decide(model, &settle, &context, &answer);
    }
}

static void check_counts(void) {
    uint64_t expected[CLAIM_STATES] = {0};
    struct engine_stats stats = fixture_stats(&fixture);
    fixture_expect_counts_true(&fixture);
    for (size_t i = 0; i < KEYS; i++) {
        struct claim_record record;
        if (claim_model_look(&keys[i].model, fixture_now(&fixture),
                             (struct wall_ms){fake_clock_wall_ms(&fixture.clock)}, &record)) {
            expected[record.state - 1]++;
        }
    }
    for (int i = 0; i < CLAIM_STATES; i++) {
        // A final record may have expired and not have been removed yet.
        bool final = claim_state_is_final((enum claim_state)(i + 1));
        bool right = final ? stats.records_by_state[i] >= expected[i]
                           : stats.records_by_state[i] == expected[i];
        ck_assert_msg(right,
                      "seed %" PRIu64 ", step %" PRIu64 ": %s: %" PRIu64 " counted, %" PRIu64, seed,
                      step, claim_state_name((enum claim_state)(i + 1)), stats.records_by_state[i],
                      expected[i]);
    }
}

// --- what else happens --------------------------------------------------------------------------

static void pick_policy(void) {
    static const int32_t limits[] = {0, 1, 5, POLICY_NO_LIMIT};
    struct policy *policy = &fixture.policy;
    *policy = policy_default;
    policy->default_lease_ms = 1000 + (int64_t)below(5000);
    policy->max_hold = (struct optional_ms){one_in(3), 4000};
    policy->on_lapse = one_in(2) ? POLICY_HOLD : POLICY_RETRY;
    policy->on_unknown = one_in(2) ? POLICY_HOLD : POLICY_RETRY;
    policy->backoff_first_ms = 500;
    policy->backoff_max_ms = 8000;
    policy->backoff_jitter_percent = one_in(2) ? 30 : 0;
    for (int i = 0; i < RETRY_KINDS; i++) policy->max_retries[i] = limits[below(4)];
    policy->retention_ms = one_in(4) ? 7200000 : 11000;
    policy->redelivery_window_ms = 10000;
    policy->dead_letter_retention = (struct optional_ms){!one_in(20), 8000};
    policy->result_bytes_max = one_in(4) ? 300 : LIMIT_RESULT_BYTES_DEFAULT;
    policy->require_fingerprint = one_in(20);
}

struct pruning {
    struct prune_request request;
    struct prune_progress last;
};

static void prune_heard(struct prune_request *request, const struct prune_progress *progress) {
    struct pruning *pruning = (struct pruning *)(void *)request; // its first member
    pruning->last = *progress;
    if (!progress->done) prune_continue(request);
}

static bool prune_is_done(void *arg) {
    const struct pruning *pruning = arg;
    return pruning->last.done;
}

static void prune_some(void) {
    int64_t before_ms = fake_clock_wall_ms(&fixture.clock) - (int64_t)below(30000);
    struct pruning pruning = {.request = {.before = {before_ms}, // the empty tenant's
                                          .force = true,
                                          .progress = prune_heard}};
    ck_assert_int_eq(prune_start(fixture.engine, &pruning.request), ERR_OK);
    fixture_turn_until(&fixture, prune_is_done, &pruning);
    ck_assert_int_eq(pruning.last.err, ERR_OK);
    struct claim_context context = {.now = fixture_now(&fixture),
                                    .wall_now = {fake_clock_wall_ms(&fixture.clock)},
                                    .policy = &fixture.policy};
    struct claim_command command = {.verb = CLAIM_PRUNE, .prune_before = {before_ms}};
    for (size_t i = 0; i < KEYS; i++) {
        struct model_answer answer;
        if (keys[i].tenant[0] != '\0') continue;
        claim_model_decide(&keys[i].model, &command, &context, &answer);
    }
}

static void restart(void) {
    bool crash = one_in(2);
    fixture_settle(&fixture);
    if (crash)
        fixture_crash_closed(&fixture);
    else
        fixture_close(&fixture);
    take_done(); // closing has answered the parked ones
    fake_clock_advance(&fixture.clock, (int64_t)below(100000)); // down time
    if (one_in(3)) fake_clock_reboot(&fixture.clock);
    fixture_open(&fixture);
    settle_models();
}

static void pass_time(void) {
    static const uint64_t spans[] = {2, 200, 1500, 6000, 25000, 100000};
    fixture_advance(&fixture, (int64_t)below(spans[below(6)]));
    take_done();
    settle_models();
}

static void walk_step(void) {
    uint64_t calls = one_in(4) ? 1 : below(16);
    for (uint64_t i = 0; i < calls; i++) start_one();
    if (one_in(10)) { // somebody goes away
        struct slot *slot = &slots[below(CALLS_MAX)];
        if (slot->used && slot->call.op.command.verb == CLAIM_GET) {
            engine_cancel(fixture.engine, &slot->call.op);
        }
    }
    fixture_settle(&fixture);
    take_done();
    if (one_in(3)) pass_time();
    if (one_in(40)) fake_clock_shift_wall(&fixture.clock, (int64_t)below(7200000) - 3600000);
    if (one_in(50)) pick_policy();
    if (one_in(150)) fixture_flush(&fixture);
    if (one_in(150)) prune_some();
    if (one_in(200)) restart();
    if (one_in(50)) check_counts();
}

// --- the walk -----------------------------------------------------------------------------------

static uint64_t pick_seed(void) {
    const char *text = getenv("CLAIMD_TEST_SEED");
    uint64_t value = 0;
    struct rand kernel = rand_from_kernel();
    if (text == NULL) return rand_u64(&kernel);
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

static void setup(void) {
    static const char *const consumers[] = {"billing", "billing/capture", "mail"};
    static const char *const tenants[] = {"", "", "acme"};
    seed = pick_seed();
    chance = rand_from_seed(seed);
    (void)fprintf(stderr, "engine_random: seed %" PRIu64 "\n", seed);
    fixture_init_closed(&fixture);
    fixture.store_options.relaxed = true; // the disk is not what is tested here
    fixture.options.random_seed = seed;
    pick_policy();
    fixture_open(&fixture);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 2654435761u >> 11);
    for (size_t i = 0; i < KEYS; i++) {
        // The same few IDs for each consumer, as text and as what is packed.
        if (i % 2 == 0) {
            (void)snprintf(keys[i].id, sizeof keys[i].id, "id-%zu", i / 6);
        } else {
            (void)snprintf(keys[i].id, sizeof keys[i].id, "6ba7b810-9dad-11d1-80b4-%012zx", i / 6);
        }
        keys[i].consumer = consumers[i / 2 % 3];
        keys[i].tenant = tenants[i / 2 % 3];
    }
}

static void teardown(void) { fixture_deinit(&fixture); }

START_TEST(every_answer_is_the_models) {
    const char *sanitize = getenv("CLAIMD_SANITIZE");
    bool slow = sanitize != NULL && sanitize[0] != '\0';
    for (step = 1; ops_done < (slow ? OPS_SANITIZED : OPS); step++) walk_step();
    fixture_close(&fixture);
    take_done();
    fixture_open(&fixture);
    settle_models();
    check_counts();
    // A walk that does not get about proves little.
    for (int i = CLAIM_CLAIMED; i <= CLAIM_DEAD_LETTER; i++) {
        (void)fprintf(stderr, "outcome %d: %" PRIu64 "\n", i, outcomes[i]);
        ck_assert_uint_gt(outcomes[i], 0);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/random");
    TCase *cases = tcase_create("random");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, every_answer_is_the_models);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
