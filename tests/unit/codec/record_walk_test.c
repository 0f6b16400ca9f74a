// Storing a record and reading it again changes no decision: two claims live the same random life,
// one in memory, the other through its stored form after every step.
//
// Whatever the decisions make must be encodable, and what the codec leaves out must not matter.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "codec/record_codec.h"
#include "core/claim.h"
#include "gen.h"

#define WALKS 4000
#define STEPS 40

struct walk {
    struct gen *gen;
    struct policy policy;
    struct claim_context context;
    bool exists;
    struct claim_record live;   // never stored; its views borrow from the pool
    struct claim_record stored; // read from bytes
    struct buf bytes;
};

static struct optional_ms gen_duration(struct gen *gen, uint32_t max) {
    if (gen_one_in(gen, 2)) return (struct optional_ms){.present = false};
    return (struct optional_ms){true, 1 + (int64_t)gen_below(gen, max)};
}

static struct policy walk_policy(struct gen *gen) {
    struct policy policy = policy_default;
    policy.default_lease_ms = 100;
    policy.max_hold = gen_duration(gen, 300);
    policy.on_lapse = gen_one_in(gen, 2) ? POLICY_HOLD : POLICY_RETRY;
    policy.on_unknown = gen_one_in(gen, 2) ? POLICY_HOLD : POLICY_RETRY;
    policy.backoff_first_ms = 50;
    policy.backoff_max_ms = 200;
    policy.retention_ms = 1000;
    policy.dead_letter_retention = gen_duration(gen, 500);
    for (unsigned kind = 0; kind < RETRY_KINDS; kind++) {
        policy.max_retries[kind] = (int32_t)gen_below(gen, 4) - 1;
    }
    return policy;
}

// Bytes that are equal now and then.
static struct bytes gen_word(struct gen *gen) {
    static const char *const words[] = {"", "a", "b", "worker-7"};
    return bytes_of(words[gen_below(gen, 4)]);
}

static struct claim_body gen_sent_body(struct gen *gen) {
    struct claim_body body = {.present = !gen_one_in(gen, 3)};
    if (!body.present) return body;
    body.size_bytes = gen_one_in(gen, 4) ? LIMIT_BODY_INLINE_BYTES_MAX + 1 : gen_below(gen, 9);
    body.data = (struct bytes){gen->pool, body.size_bytes};
    return body;
}

static struct claim_command walk_command(struct walk *walk) {
    struct gen *gen = walk->gen;
    bool current = walk->exists && walk->live.has_token && !gen_one_in(gen, 8);
    enum claim_verb verb =
        gen_one_in(gen, 2) ? CLAIM_BEGIN : (enum claim_verb)gen_below(gen, CLAIM_VERBS);
    return (struct claim_command){
        .verb = verb,
        .token = current ? walk->live.token : 1,
        .lease = gen_duration(gen, 200),
        .owner = gen_word(gen),
        .request_id = gen_word(gen),
        .fingerprint = gen_one_in(gen, 3) ? bytes_of("f") : (struct bytes){0},
        .payload_ref = gen_word(gen),
        .event_time = {gen_one_in(gen, 2), {gen_below(gen, 5)}},
        .reclaim = gen_one_in(gen, 3),
        .result = gen_sent_body(gen),
        .payload = gen_sent_body(gen),
        .checkpoint = gen_sent_body(gen),
        .reason = gen_word(gen),
        .fail_kind = (enum fail_kind)(FAIL_TRANSIENT + gen_below(gen, 4)),
        .message = gen_one_in(gen, 4) ? (struct bytes){(const uint8_t *)"", 0} : bytes_of("why"),
        .retry_after = gen_duration(gen, 100),
        .resolution = (enum claim_resolution)(CLAIM_AS_SUCCEEDED + gen_below(gen, 4)),
        .prune_before = {(int64_t)gen_below(gen, 2000)},
        .prune_final_age_min = gen_duration(gen, 500),
    };
}

// Through the stored form and back.
static void walk_store(struct walk *walk, const struct claim_decision *live,
                       const struct claim_decision *stored) {
    struct buf bytes = {0};
    SCOPE_BUF struct buf other = {0};
    record_codec_encode(&stored->record, &bytes);
    record_codec_encode(&live->record, &other);
    if (!bytes_equal(buf_bytes(&bytes), buf_bytes(&other))) ck_abort_msg("they differ");
    buf_deinit(&walk->bytes); // what the views of the last record borrowed from
    walk->bytes = bytes;
    walk->live = live->record;
    enum err err = record_codec_decode(buf_bytes(&walk->bytes), &walk->stored);
    if (err != ERR_OK) ck_abort_msg("not read again: %s", error_reason(err));
}

static bool walk_same(const struct claim_decision *a, const struct claim_decision *b) {
    return a->outcome == b->outcome && a->change == b->change && a->granted == b->granted &&
           a->replayed == b->replayed && a->created == b->created &&
           a->renewed_lapsed == b->renewed_lapsed && a->lapse_counted == b->lapse_counted &&
           a->exists == b->exists;
}

static bool walk_same_time(struct optional_store_ms a, struct optional_store_ms b) {
    return a.present == b.present && (!a.present || a.at.ms == b.at.ms);
}

// One command; the error of it, and whether something was written in out_change.
static enum err walk_step(struct walk *walk, enum claim_change *out_change) {
    struct claim_command command = walk_command(walk);
    struct claim_decision live;
    struct claim_decision stored;
    int64_t passed_ms = gen_one_in(walk->gen, 3) ? (int64_t)gen_below(walk->gen, 300) : 0;
    walk->context.now.ms += passed_ms;
    walk->context.wall_now.ms += passed_ms;
    enum err err = claim_decide(walk->exists ? &walk->live : NULL, &command, &walk->context, &live);
    enum err same =
        claim_decide(walk->exists ? &walk->stored : NULL, &command, &walk->context, &stored);
    if (err != same) ck_abort_msg("%s, stored %s", error_reason(err), error_reason(same));
    *out_change = CLAIM_UNCHANGED;
    if (err != ERR_OK) return err;
    if (!walk_same(&live, &stored)) ck_abort_msg("verb %d decides otherwise", (int)command.verb);
    if (live.granted) walk->context.token_next++;
    *out_change = live.change;
    if (live.change == CLAIM_UNCHANGED) return ERR_OK;
    walk->exists = live.change == CLAIM_WRITTEN;
    if (!walk->exists) return ERR_OK;
    walk_store(walk, &live, &stored);
    if (!walk_same_time(claim_settle_due(&walk->live), claim_settle_due(&walk->stored)) ||
        !walk_same_time(claim_runs_until(&walk->live), claim_runs_until(&walk->stored))) {
        ck_abort_msg("verb %d: another deadline", (int)command.verb);
    }
    return ERR_OK;
}

START_TEST(test_storing_changes_no_decision) {
    static struct gen gen;
    gen_init(&gen, "walk");
    static uint32_t written[CLAIM_STATES + 1];
    uint32_t removed = 0;
    for (int i = 0; i < WALKS; i++) {
        struct walk walk = {.gen = &gen, .policy = walk_policy(&gen)};
        walk.context = (struct claim_context){
            .now = {1000}, .wall_now = {5000}, .policy = &walk.policy, .token_next = 100};
        for (int step = 0; step < STEPS; step++) {
            enum claim_change change;
            if (walk_step(&walk, &change) != ERR_OK) continue;
            if (change == CLAIM_WRITTEN) written[walk.live.state]++;
            if (change == CLAIM_REMOVED) removed++;
        }
        buf_deinit(&walk.bytes);
    }
    // Every state that today's commands lead to was there, or the walk would show little.
    for (unsigned state = CLAIM_RECEIVED; state < CLAIM_DISCARDED; state++) {
        ck_assert_uint_gt(written[state], 100);
    }
    ck_assert_uint_gt(removed, 100);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("record_walk");
    TCase *tests = tcase_create("record_walk");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_storing_changes_no_decision);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
