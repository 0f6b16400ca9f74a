// Without memory: the n-th allocation fails, for every n there is, at the start and while serving.
// Nothing ends, what is refused was not done, what was answered is there, and the next try
// succeeds.
#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lib/engine_calls.h"

#define NEVER (INT64_C(1) << 60)

static struct engine_fixture fixture;
static _Atomic int64_t allocations_left = NEVER; // before the one that fails
static uint8_t data[5000];

static bool fault(void) { return atomic_fetch_sub(&allocations_left, 1) == 0; }

static void setup(void) {
    mem_set_fault_hook(fault); // before there are threads
    fixture_init(&fixture);
}

static void teardown(void) { fixture_deinit(&fixture); }

static void fail_after(int64_t count) { atomic_store(&allocations_left, count); }

// Ends the faults; true if there was one.
static bool faults_end(void) { return atomic_exchange(&allocations_left, NEVER) < 0; }

// --- serving ------------------------------------------------------------------------------------

// A call without a fixture's conveniences, which need memory.
struct bare_call {
    struct engine_op op;
    bool done;
    enum err err;
    enum claim_outcome outcome;
    uint64_t token;
};

static void bare_done(struct engine_op *op) {
    struct bare_call *call = CONTAINER_OF(op, struct bare_call, op);
    call->done = true;
    call->err = op->err;
    call->outcome = op->decision.outcome;
    call->token = op->decision.record.token;
    engine_op_release(fixture.engine, op);
}

static bool is_done(void *arg) {
    const struct bare_call *call = arg;
    return call->done;
}

static struct bare_call bare_do(const char *id, struct claim_command command) {
    static struct bare_call call;
    call = (struct bare_call){
        .op = {.identity = {.consumer = bytes_of(FIXTURE_CONSUMER), .message_id = bytes_of(id)},
               .command = command,
               .done = bare_done}};
    call.err = engine_submit(fixture.engine, &call.op);
    if (call.err != ERR_OK) return call; // not taken: `done` never runs
    fixture_turn_until(&fixture, is_done, &call);
    return call;
}

static struct claim_body body_of_len(size_t len) {
    return (struct claim_body){.present = true, .size_bytes = (uint32_t)len, .data = {data, len}};
}

// A claim's whole life, as far as it gets. Each step that is refused is tried once more, which
// succeeds, since one allocation fails and no more.
static uint64_t step(const char *id, struct claim_command command, enum claim_outcome outcome) {
    struct bare_call call = bare_do(id, command);
    if (call.err != ERR_OK) {
        ck_assert_str_eq(error_reason(call.err), error_reason(ERR_NO_MEMORY));
        call = bare_do(id, command);
    }
    ck_assert_str_eq(error_reason(call.err), error_reason(ERR_OK));
    ck_assert_int_eq(call.outcome, outcome);
    return call.token;
}

static void live(const char *id) {
    struct claim_command begin = {
        .verb = CLAIM_BEGIN, .lease = {true, 1000}, .fingerprint = bytes_of("fp")};
    uint64_t token = step(id, begin, CLAIM_CLAIMED);
    step(id, begin, CLAIM_IN_FLIGHT);
    step(id,
         (struct claim_command){.verb = CLAIM_RENEW,
                                .token = token,
                                .lease = {true, 1000},
                                .checkpoint = body_of_len(sizeof data)},
         CLAIM_OUTCOME_NONE);
    fake_clock_advance(&fixture.clock, 1000);
    token = step(id, begin, CLAIM_CLAIMED); // with the checkpoint
    step(id,
         (struct claim_command){
             .verb = CLAIM_COMPLETE, .token = token, .result = body_of_len(sizeof data)},
         CLAIM_OUTCOME_NONE);
    step(id, begin, CLAIM_DUPLICATE);
}

START_TEST(every_allocation_may_fail_while_serving) {
    int failed = 0;
    for (int64_t n = 0;; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "K%d", (int)n);
        // A new engine has nothing in store: no free operations, no grown buffers.
        fixture_reopen(&fixture);
        if (n % 2) fixture.policy.on_lapse = POLICY_RETRY;
        fail_after(n);
        live(id);
        bool fired = faults_end();
        fixture_settle(&fixture);
        fixture_expect_counts_true(&fixture);
        struct fixture_answer answer = fixture_begin_for(&fixture, id, 1000);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
        fixture_expect_result(&answer, (struct bytes){data, sizeof data});
        fixture_forget(&fixture);
        if (!fired) break;
        failed++;
    }
    ck_assert_int_ge(failed, 20);
}
END_TEST

// The deadline of a lapse that is a transition takes memory as well. Without it the lapse is true
// all the same, and written by whoever comes, or after the next start.
START_TEST(a_lapse_needs_no_memory_to_be_true) {
    fixture.policy.on_lapse = POLICY_HOLD;
    for (int64_t n = 0;; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "K%d", (int)n);
        fixture_reopen(&fixture);
        fail_after(n);
        struct claim_command begin = {.verb = CLAIM_BEGIN, .lease = {true, 1000}};
        step(id, begin, CLAIM_CLAIMED);
        fake_clock_advance(&fixture.clock, 1000);
        fixture_turn(&fixture);
        bool fired = faults_end();
        fixture_settle(&fixture);
        struct fixture_answer answer = fixture_get(&fixture, id);
        ck_assert_int_eq(fixture_state(&answer), CLAIM_UNKNOWN);
        fixture_reopen(&fixture);
        fixture_advance(&fixture, 0);
        fixture_expect_counts_true(&fixture);
        if (!fired) break;
    }
}
END_TEST

// --- starting -----------------------------------------------------------------------------------

START_TEST(every_allocation_may_fail_at_the_start) {
    fixture.policy.on_lapse = POLICY_HOLD;
    for (int i = 0; i < 5; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "K%d", i);
        fixture_claim(&fixture, id, 1000);
    }
    fixture_close(&fixture);
    int failed = 0;
    for (int64_t n = 0;; n++) {
        struct error_detail detail = {0};
        fail_after(n);
        enum err err = fixture_try_open(&fixture, &detail);
        bool fired = faults_end();
        if (err == ERR_OK) {
            fixture_settle(&fixture);
            ck_assert_uint_eq(fixture_expect_counts_true(&fixture), 5);
            fixture_close(&fixture);
        } else {
            ck_assert_msg(err == ERR_NO_MEMORY, "%d: %s: %s", (int)n, error_reason(err),
                          detail.text);
            failed++;
        }
        if (!fired) break;
    }
    ck_assert_int_ge(failed, 10);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/fault");
    TCase *cases = tcase_create("fault");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, every_allocation_may_fail_while_serving);
    tcase_add_test(cases, a_lapse_needs_no_memory_to_be_true);
    tcase_add_test(cases, every_allocation_may_fail_at_the_start);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
