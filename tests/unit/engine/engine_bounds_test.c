// What is bounded is refused one past its bound: queues, disk, consumers; and draining.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "engine/engine_private.h"
#include "engine/prune.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static struct fixture_answer verb_do(const char *id, enum claim_verb verb) {
    return fixture_do(&fixture,
                      &(struct fixture_request){
                          .id = id, .command = {.verb = verb, .reason = bytes_of("a reason")}});
}

static uint32_t count_err(const struct fixture_call *calls, size_t count, enum err err) {
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        ck_assert(calls[i].done);
        found += calls[i].answer.err == err;
    }
    return found;
}

// --- queues -------------------------------------------------------------------------------------

static struct fixture_call *calls_of(size_t count) {
    struct fixture_call *calls = calloc(count, sizeof *calls);
    ck_assert_ptr_nonnull(calls);
    return calls;
}

START_TEST(beginnings_are_refused_before_ends) {
    enum { CALLS = LIMIT_OPS_MAX + 2 };
    static char ids[CALLS][16];
    struct fixture_call *calls = calls_of(CALLS);
    for (unsigned i = 0; i < CALLS; i++) {
        bool begins = i <= LIMIT_OPS_BEGIN_MAX;
        (void)snprintf(ids[i], sizeof ids[i], "k%u", i);
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){
                          .id = ids[i],
                          .command = {.verb = begins ? CLAIM_BEGIN : CLAIM_COMPLETE, .token = 1}});
    }
    fixture_settle(&fixture);
    // One Begin too many, and then as many others as there was room for.
    ck_assert_uint_eq(count_err(calls, LIMIT_OPS_BEGIN_MAX, ERR_OK), LIMIT_OPS_BEGIN_MAX);
    FIXTURE_EXPECT_ERR(calls[LIMIT_OPS_BEGIN_MAX].answer, ERR_QUEUE_FULL);
    ck_assert_uint_eq(count_err(calls, CALLS, ERR_NOT_FOUND),
                      LIMIT_OPS_MAX - LIMIT_OPS_BEGIN_MAX - 1);
    FIXTURE_EXPECT_ERR(calls[CALLS - 1].answer, ERR_QUEUE_FULL);
    free(calls);
    struct engine_stats stats = fixture_stats(&fixture);
    ck_assert_uint_eq(stats.begins_by_outcome[CLAIM_CLAIMED], LIMIT_OPS_BEGIN_MAX);
    ck_assert_uint_eq(stats.begins_refused, 1);
    fixture_claim(&fixture, "afterwards", 1000); // it recovers by itself
}
END_TEST

START_TEST(parked_calls_take_no_place) {
    enum { KEYS = LIMIT_WAITERS_MAX / LIMIT_WAITERS_PER_KEY_MAX };
    static char ids[KEYS][16];
    _Static_assert(LIMIT_WAITERS_MAX >= LIMIT_OPS_BEGIN_MAX, "as many as there are places");
    struct fixture_call *calls = calls_of(LIMIT_WAITERS_MAX);
    for (unsigned key = 0; key < KEYS; key++) {
        (void)snprintf(ids[key], sizeof ids[key], "k%u", key);
        struct fixture_request request = {
            .id = ids[key], .command = {.verb = CLAIM_BEGIN}, .wait_ms = LIMIT_WAIT_MS_MAX};
        struct fixture_call *of_key = &calls[key * LIMIT_WAITERS_PER_KEY_MAX];
        fixture_claim(&fixture, ids[key], LIMIT_LEASE_MS_MAX);
        for (size_t i = 0; i < LIMIT_WAITERS_PER_KEY_MAX; i++) {
            fixture_start(&fixture, &of_key[i], &request);
        }
        fixture_settle(&fixture);
        ck_assert(fixture_is_parked(&of_key[LIMIT_WAITERS_PER_KEY_MAX - 1]));
    }
    fixture_claim(&fixture, "another", 1000);
    engine_drain(fixture.engine);
    fixture_settle(&fixture);
    ck_assert_uint_eq(count_err(calls, LIMIT_WAITERS_MAX, ERR_OK), LIMIT_WAITERS_MAX);
    free(calls);
}
END_TEST

START_TEST(one_key_has_a_bounded_queue) {
    enum { CALLS = LIMIT_LATCH_QUEUE_MAX + 1 };
    struct fixture_call *calls = calls_of(CALLS);
    static const struct fixture_request request = {.id = "k", .command = {.verb = CLAIM_GET}};
    fixture_claim(&fixture, "k", 30000);
    for (size_t i = 0; i < CALLS; i++) fixture_start(&fixture, &calls[i], &request);
    fixture_settle(&fixture);
    ck_assert_uint_eq(count_err(calls, CALLS, ERR_OK), LIMIT_LATCH_QUEUE_MAX);
    FIXTURE_EXPECT_ERR(calls[CALLS - 1].answer, ERR_QUEUE_FULL);
    free(calls);
    struct fixture_answer answer = fixture_get(&fixture, "k");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}
END_TEST

START_TEST(more_than_a_group_holds_goes_into_several) {
    enum { CALLS = 3 * LIMIT_GROUP_OPS_MAX + 5 };
    static char ids[CALLS][16];
    struct fixture_call *calls = calls_of(CALLS);
    uint64_t groups = fixture_stats(&fixture).groups;
    for (unsigned i = 0; i < CALLS; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "k%u", i);
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){.id = ids[i], .command = {.verb = CLAIM_BEGIN}});
    }
    fixture_settle(&fixture);
    ck_assert_uint_eq(count_err(calls, CALLS, ERR_OK), CALLS);
    uint64_t seen = fixture_stats(&fixture).groups - groups;
    ck_assert_uint_ge(seen, 4);
    ck_assert_uint_le(seen, 6);
    static bool given[CALLS]; // each token once, and none left out
    for (size_t i = 0; i < CALLS; i++) {
        uint64_t place = calls[i].answer.decision.record.token - FIXTURE_FIRST_TOKEN;
        ck_assert_uint_lt(place, CALLS);
        ck_assert(!given[place]);
        given[place] = true;
    }
    free(calls);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), CALLS);
}
END_TEST

START_TEST(commands_on_one_key_are_answered_in_order) {
    enum { CALLS = 100 };
    struct fixture_call *calls = calls_of(CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){
                          .id = "k", .command = {.verb = i % 2 ? CLAIM_GET : CLAIM_BEGIN}});
    }
    fixture_settle(&fixture);
    fixture_expect_outcome(&calls[0].answer, CLAIM_CLAIMED);
    for (size_t i = 1; i < CALLS; i++) {
        ck_assert_uint_eq(calls[i].done_order, calls[i - 1].done_order + 1);
        if (i % 2 == 0) fixture_expect_outcome(&calls[i].answer, CLAIM_IN_FLIGHT);
    }
    free(calls);
}
END_TEST

// --- done may submit ----------------------------------------------------------------------------

struct chain {
    struct engine_op op;
    char id[16];
    unsigned left;
};

static void chain_next(struct engine_op *op) {
    struct chain *chain = (struct chain *)(void *)op; // its first member
    FIXTURE_EXPECT_ERR(*op, ERR_OK);
    engine_op_release(fixture.engine, op);
    if (chain->left == 0) return;
    (void)snprintf(chain->id, sizeof chain->id, "c%u", --chain->left);
    *op = (struct engine_op){
        .identity = {.consumer = bytes_of(FIXTURE_CONSUMER), .message_id = bytes_of(chain->id)},
        .command = {.verb = chain->left % 2 ? CLAIM_BEGIN : CLAIM_REGISTER},
        .done = chain_next};
    ck_assert_int_eq(engine_submit(fixture.engine, op), ERR_OK);
}

START_TEST(done_may_submit_the_next) {
    static struct chain chain = {.id = "first", .left = 1000};
    chain.op = (struct engine_op){
        .identity = {.consumer = bytes_of(FIXTURE_CONSUMER), .message_id = bytes_of(chain.id)},
        .command = {.verb = CLAIM_BEGIN},
        .done = chain_next};
    ck_assert_int_eq(engine_submit(fixture.engine, &chain.op), ERR_OK);
    fixture_settle(&fixture);
    ck_assert_uint_eq(chain.left, 0);
    ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 1001);
}
END_TEST

// --- consumers ----------------------------------------------------------------------------------

START_TEST(names_are_not_data) {
    char name[32];
    struct fixture_request request = {
        .consumer = name, .id = "k", .command = {.verb = CLAIM_BEGIN}};
    for (int i = 0; i < LIMIT_CONSUMERS_PER_TENANT_MAX; i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        struct fixture_answer answer = fixture_do(&fixture, &request);
        fixture_expect_outcome(&answer, CLAIM_CLAIMED);
        fixture_forget(&fixture);
    }
    (void)snprintf(name, sizeof name, "one more");
    struct fixture_answer answer = fixture_do(&fixture, &request);
    FIXTURE_EXPECT_ERR(answer, ERR_CONSUMER_QUOTA);
    fixture_reopen(&fixture);
    answer = fixture_do(&fixture, &request);
    FIXTURE_EXPECT_ERR(answer, ERR_CONSUMER_QUOTA);
    request.command.verb = CLAIM_GET; // asking takes no place
    answer = fixture_do(&fixture, &request);
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
    request.command.verb = CLAIM_BEGIN;
    request.tenant = "another";
    answer = fixture_do(&fixture, &request);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    request.tenant = NULL;
    (void)snprintf(name, sizeof name, "c999");
    answer = fixture_do(&fixture, &request);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
}
END_TEST

START_TEST(asking_for_unknown_consumers_stores_nothing) {
    struct fixture_answer answer = fixture_do(
        &fixture,
        &(struct fixture_request){.consumer = "nobody", .id = "k", .command = {.verb = CLAIM_GET}});
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
    answer = fixture_do(&fixture,
                        &(struct fixture_request){.consumer = "nobody",
                                                  .id = "k",
                                                  .command = {.verb = CLAIM_COMPLETE, .token = 9}});
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
    ck_assert_uint_eq(fixture.engine->consumers.count, 0);
}
END_TEST

// --- the disk -----------------------------------------------------------------------------------

static uint64_t held_token;
static uint64_t other_token;

// A claim that is held, one that lapsed, one that may be retried, one that waits, one that is done.
static void make_claims(void) {
    fixture_claim(&fixture, "lapsed", 1000);
    uint64_t token = fixture_claim(&fixture, "failed", 1000);
    fixture_fail_after(&fixture, "failed", token, 60000);
    struct fixture_answer answer = verb_do("received", CLAIM_REGISTER);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    fixture_succeed(&fixture, "done", "x");
    fixture_advance(&fixture, 1000);
    held_token = fixture_claim(&fixture, "held", 60000);
    other_token = fixture_claim(&fixture, "other", 60000);
}

static void reopen_with(uint64_t soft_bytes, uint64_t hard_bytes) {
    fixture_close(&fixture);
    fixture.options.disk_soft_reserve_bytes = soft_bytes;
    fixture.options.disk_hard_reserve_bytes = hard_bytes;
    fixture_open(&fixture);
}

START_TEST(soft_reserve_refuses_what_begins) {
    make_claims();
    reopen_with(UINT64_MAX, 0);
    ck_assert(fixture_stats(&fixture).disk_reserve_reached);
    static const char *const grants[] = {"new", "lapsed", "received"};
    for (size_t i = 0; i < sizeof grants / sizeof grants[0]; i++) {
        struct fixture_answer answer = verb_do(grants[i], CLAIM_BEGIN);
        FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    }
    struct fixture_answer answer = verb_do("new", CLAIM_REGISTER);
    FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    answer = verb_do("new", CLAIM_CANCEL);
    FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    answer = verb_do("new", CLAIM_GET);
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND); // nothing of all that was kept
    ck_assert_uint_eq(fixture.engine->consumers.count, 1);
}
END_TEST

START_TEST(soft_reserve_lets_all_else_go_on) {
    make_claims();
    reopen_with(UINT64_MAX, 0);
    struct fixture_answer answer = verb_do("held", CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    answer = verb_do("done", CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_DUPLICATE);
    answer = verb_do("failed", CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_NOT_YET);
    answer = verb_do("received", CLAIM_REGISTER);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = verb_do("received", CLAIM_CANCEL);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_renew(&fixture, "held", held_token, 60000);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_complete(&fixture, "held", held_token, "x");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_fail(&fixture, "other", other_token, FAIL_TRANSIENT);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    fixture_expect_counts_true(&fixture);
}
END_TEST

START_TEST(hard_reserve_refuses_every_write) {
    make_claims();
    reopen_with(UINT64_MAX, UINT64_MAX);
    struct fixture_answer answer = fixture_complete(&fixture, "held", held_token, "x");
    FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    answer = fixture_renew(&fixture, "held", held_token, 60000);
    FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    answer = verb_do("new", CLAIM_BEGIN);
    FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    answer = verb_do("done", CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_DUPLICATE);
    reopen_with(0, 0);
    answer = fixture_complete(&fixture, "held", held_token, "x"); // the claim stayed held
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert(!answer.decision.replayed);
}
END_TEST

START_TEST(it_recovers_by_itself) {
    make_claims();
    reopen_with(UINT64_MAX, 0);
    struct fixture_answer answer = verb_do("new", CLAIM_BEGIN);
    FIXTURE_EXPECT_ERR(answer, ERR_DISK_RESERVE);
    // There is room again: the next look, a second later, finds it.
    fixture.engine->options.disk_soft_reserve_bytes = 0;
    fixture_advance(&fixture, LIMIT_HOUSEKEEPING_MS);
    ck_assert(!fixture_stats(&fixture).disk_reserve_reached);
    answer = verb_do("new", CLAIM_BEGIN);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

// The sweep may not write at the hard reserve; what it did not write, it writes when there is room.
START_TEST(the_sweep_catches_up_when_there_is_room) {
    fixture.policy.on_lapse = POLICY_HOLD;
    fixture_claim(&fixture, "k", 10000);
    fixture.engine->options.disk_hard_reserve_bytes = UINT64_MAX;
    fixture_advance(&fixture, LIMIT_HOUSEKEEPING_MS);
    fixture_advance(&fixture, 10000);
    struct fixture_answer answer = fixture_get(&fixture, "k");
    ck_assert_int_eq(fixture_state(&answer), CLAIM_UNKNOWN); // true all the same
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_PROCESSING - 1], 1);
    fixture.engine->options.disk_hard_reserve_bytes = 0;
    for (int i = 0; i < 3; i++) fixture_advance(&fixture, LIMIT_HOUSEKEEPING_MS);
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_UNKNOWN - 1], 1);
    fixture_expect_counts_true(&fixture);
}
END_TEST

// --- deadlines in memory ------------------------------------------------------------------------

START_TEST(renewing_often_keeps_no_deadline_of_each) {
    fixture.policy.on_lapse = POLICY_HOLD;
    uint64_t token = fixture_claim(&fixture, "k", LIMIT_LEASE_MS_MAX);
    for (int i = 0; i < 1000; i++) {
        fixture_advance(&fixture, 1);
        struct fixture_answer answer = fixture_renew(&fixture, "k", token, LIMIT_LEASE_MS_MAX);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
        fixture_forget(&fixture);
    }
    ck_assert_uint_lt(fixture.engine->timers.count, 20);
    // The one that is kept looks again at the newest deadline.
    fixture_advance(&fixture, LIMIT_LEASE_MS_MAX - 1);
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_PROCESSING - 1], 1);
    fixture_advance(&fixture, 1);
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_UNKNOWN - 1], 1);
}
END_TEST

// --- draining -----------------------------------------------------------------------------------

START_TEST(draining_ends_claims_and_begins_none) {
    make_claims();
    engine_drain(fixture.engine);
    static const enum claim_verb begins[] = {CLAIM_BEGIN, CLAIM_REGISTER, CLAIM_CANCEL};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        struct fixture_answer answer = verb_do("new", begins[i]);
        FIXTURE_EXPECT_ERR(answer, ERR_DRAINING);
    }
    struct prune_request request = {.force = true};
    ck_assert_int_eq(prune_start(fixture.engine, &request), ERR_DRAINING);
    struct fixture_answer answer = fixture_complete(&fixture, "held", held_token, "x");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    answer = fixture_release(&fixture, "other", other_token);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    fixture_settle(&fixture);
    fixture_become_idle(&fixture);
    ck_assert_uint_eq(fixture_stats(&fixture).begins_refused, 1);
}
END_TEST

START_TEST(what_was_under_way_is_answered) {
    static struct fixture_call calls[50];
    static char ids[50][32];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "k%d", i);
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){.id = ids[i], .command = {.verb = CLAIM_BEGIN}});
    }
    engine_drain(fixture.engine);
    fixture_settle(&fixture);
    for (int i = 0; i < 50; i++) fixture_expect_outcome(&calls[i].answer, CLAIM_CLAIMED);
    fixture_become_idle(&fixture);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/bounds");
    TCase *cases = tcase_create("bounds");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, beginnings_are_refused_before_ends);
    tcase_add_test(cases, parked_calls_take_no_place);
    tcase_add_test(cases, one_key_has_a_bounded_queue);
    tcase_add_test(cases, more_than_a_group_holds_goes_into_several);
    tcase_add_test(cases, commands_on_one_key_are_answered_in_order);
    tcase_add_test(cases, done_may_submit_the_next);
    tcase_add_test(cases, names_are_not_data);
    tcase_add_test(cases, asking_for_unknown_consumers_stores_nothing);
    tcase_add_test(cases, soft_reserve_refuses_what_begins);
    tcase_add_test(cases, soft_reserve_lets_all_else_go_on);
    tcase_add_test(cases, hard_reserve_refuses_every_write);
    tcase_add_test(cases, it_recovers_by_itself);
    tcase_add_test(cases, the_sweep_catches_up_when_there_is_room);
    tcase_add_test(cases, renewing_often_keeps_no_deadline_of_each);
    tcase_add_test(cases, draining_ends_claims_and_begins_none);
    tcase_add_test(cases, what_was_under_way_is_answered);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
