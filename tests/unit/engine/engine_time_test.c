// Store time: what decides deadlines is the time that the store was served, and nothing else.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "lib/engine_calls.h"

#define HOUR_MS INT64_C(3600000)
#define LEASE_MS INT64_C(30000)

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static int64_t lease_left_ms(const char *id) {
    struct fixture_answer answer = fixture_begin_for(&fixture, id, 1000);
    fixture_expect_outcome(&answer, CLAIM_IN_FLIGHT);
    return fixture_lease_left_ms(&answer);
}

// The lease of "k" lasts exactly this long.
static void expect_lease_ends_in(int64_t left_ms) {
    ck_assert_int_eq(lease_left_ms("k"), left_ms);
    fixture_advance(&fixture, left_ms - 1);
    ck_assert_int_eq(lease_left_ms("k"), 1);
    fixture_advance(&fixture, 1);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", LEASE_MS);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
    ck_assert_uint_eq(answer.decision.record.attempt_count, 2);
}

// --- parts of a millisecond ---------------------------------------------------------------------

// Granted half a millisecond after a whole one, and asked for at the whole one before its end: the
// lease, counted from the grant, still runs.
START_TEST(a_lease_is_not_cut_to_whole_milliseconds) {
    atomic_fetch_add(&fixture.clock.boot_ns, 500000);
    fixture_claim(&fixture, "k", LEASE_MS);
    ck_assert_int_eq(lease_left_ms("k"), LEASE_MS + 1);
    atomic_fetch_sub(&fixture.clock.boot_ns, 500000);
    fixture_advance(&fixture, LEASE_MS);
    ck_assert_int_eq(lease_left_ms("k"), 1);
    fixture_advance(&fixture, 1);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", LEASE_MS);
    fixture_expect_outcome(&answer, CLAIM_CLAIMED);
}
END_TEST

// --- the wall clock -----------------------------------------------------------------------------

START_TEST(wall_clock_set_while_it_runs_changes_nothing) {
    fixture_claim(&fixture, "k", LEASE_MS);
    fake_clock_shift_wall(&fixture.clock, -HOUR_MS);
    fixture_settle(&fixture);
    ck_assert_int_eq(lease_left_ms("k"), LEASE_MS);
    fake_clock_shift_wall(&fixture.clock, 48 * HOUR_MS);
    fixture_settle(&fixture);
    expect_lease_ends_in(LEASE_MS);
}
END_TEST

START_TEST(restart_with_the_wall_an_hour_back) {
    fixture_claim(&fixture, "k", LEASE_MS);
    fixture_advance(&fixture, 10000);
    fixture_close(&fixture);
    fake_clock_shift_wall(&fixture.clock, -HOUR_MS);
    fake_clock_reboot(&fixture.clock);
    fixture_open(&fixture);
    expect_lease_ends_in(20000);
}
END_TEST

START_TEST(restart_with_the_wall_an_hour_ahead) {
    fixture_claim(&fixture, "k", LEASE_MS);
    fixture_advance(&fixture, 10000);
    fixture_close(&fixture);
    fake_clock_shift_wall(&fixture.clock, HOUR_MS);
    fake_clock_reboot(&fixture.clock);
    fixture_open(&fixture);
    expect_lease_ends_in(20000);
}
END_TEST

START_TEST(times_for_people_follow_the_wall) {
    fixture_succeed(&fixture, "k", NULL);
    fake_clock_shift_wall(&fixture.clock, -HOUR_MS);
    fixture_succeed(&fixture, "k2", NULL);
    struct fixture_answer first = fixture_get(&fixture, "k");
    struct fixture_answer second = fixture_get(&fixture, "k2");
    ck_assert_int_eq(first.decision.record.updated_at.ms, FAKE_CLOCK_WALL_MS);
    ck_assert_int_eq(second.decision.record.updated_at.ms, FAKE_CLOCK_WALL_MS - HOUR_MS);
    ck_assert_int_eq(second.decision.record.final_at.ms, first.decision.record.final_at.ms);
}
END_TEST

// --- down time ----------------------------------------------------------------------------------

START_TEST(down_time_does_not_count) {
    uint64_t token = fixture_claim(&fixture, "failed", LEASE_MS);
    fixture_fail_after(&fixture, "failed", token, 5000);
    fixture_claim(&fixture, "k", LEASE_MS);
    fixture_advance(&fixture, 1);
    fixture_close(&fixture);
    fake_clock_advance(&fixture.clock, 1000 * HOUR_MS);
    fixture_open(&fixture);
    struct fixture_answer answer = fixture_begin_for(&fixture, "failed", 1000);
    fixture_expect_outcome(&answer, CLAIM_NOT_YET);
    ck_assert_int_eq(fixture_delay_left_ms(&answer), 4999);
    expect_lease_ends_in(LEASE_MS - 1);
}
END_TEST

START_TEST(a_crash_gives_less_than_a_second) {
    for (int64_t served_ms = 0; served_ms < 3000; served_ms += 170) {
        char id[32];
        (void)snprintf(id, sizeof id, "k%lld", (long long)served_ms);
        fixture_claim(&fixture, id, LEASE_MS);
        for (int64_t i = 0; i < served_ms; i += 10) fixture_advance(&fixture, 10);
        fixture_crash(&fixture);
        int64_t left_ms = lease_left_ms(id);
        ck_assert_int_ge(left_ms, LEASE_MS - served_ms);
        ck_assert_int_lt(left_ms, LEASE_MS - served_ms + 1000);
    }
}
END_TEST

START_TEST(a_clean_stop_gives_nothing) {
    fixture_claim(&fixture, "k", LEASE_MS);
    for (int i = 1; i <= 20; i++) {
        fixture_advance(&fixture, 333);
        fixture_reopen(&fixture);
        ck_assert_int_eq(lease_left_ms("k"), LEASE_MS - 333 * i);
    }
}
END_TEST

START_TEST(time_goes_on_from_the_mark) {
    fixture_advance(&fixture, 90 * HOUR_MS);
    int64_t before_ms = fixture_now(&fixture).ms;
    fixture_reopen(&fixture);
    ck_assert_int_eq(fixture_now(&fixture).ms, before_ms);
    fixture_advance(&fixture, 5);
    fixture_crash(&fixture);
    ck_assert_int_ge(fixture_now(&fixture).ms, before_ms);
    ck_assert_int_le(fixture_now(&fixture).ms, before_ms + 5);
}
END_TEST

// --- marks and wake-ups -------------------------------------------------------------------------

START_TEST(nothing_is_written_while_the_clock_stands_still) {
    fixture_claim(&fixture, "k", LEASE_MS);
    fixture_settle(&fixture);
    uint64_t groups = fixture_stats(&fixture).groups;
    for (int i = 0; i < 100; i++) fixture_turn(&fixture);
    ck_assert_uint_eq(fixture_stats(&fixture).groups, groups);
}
END_TEST

// The next turn is asked for in time for the mark, and so the mark is never older than a second.
START_TEST(marks_each_second_while_a_lease_runs_else_each_minute) {
    fixture_settle(&fixture);
    uint64_t groups = fixture_stats(&fixture).groups;
    for (int i = 0; i < 600; i++) fixture_advance(&fixture, 1000);
    uint64_t idle_groups = fixture_stats(&fixture).groups - groups;
    ck_assert_uint_ge(idle_groups, 9);
    ck_assert_uint_le(idle_groups, 11);

    fixture_claim(&fixture, "k", 100000);
    groups = fixture_stats(&fixture).groups;
    for (int i = 0; i < 1000; i++) fixture_advance(&fixture, 100);
    uint64_t busy_groups = fixture_stats(&fixture).groups - groups;
    ck_assert_uint_ge(busy_groups, 100);
    ck_assert_uint_le(busy_groups, 112);

    groups = fixture_stats(&fixture).groups;
    for (int i = 0; i < 600; i++) fixture_advance(&fixture, 1000); // it has lapsed: nothing runs
    idle_groups = fixture_stats(&fixture).groups - groups;
    ck_assert_uint_ge(idle_groups, 9);
    ck_assert_uint_le(idle_groups, 11);
}
END_TEST

START_TEST(turns_are_asked_for_no_later_than_a_deadline) {
    fixture.policy.on_lapse = POLICY_HOLD;
    fixture_claim(&fixture, "k", LEASE_MS);
    // Moves from due time to due time only, as a server's loop does.
    int64_t end_ns = time_boot(&fixture.options.time).ns + LEASE_MS * 1000000;
    int turns = 0;
    while (time_boot(&fixture.options.time).ns < end_ns) {
        int64_t now_ns = time_boot(&fixture.options.time).ns;
        int64_t ahead_ms = (fixture.turn_due.ns - now_ns + 999999) / 1000000;
        ck_assert_int_le(fixture.turn_due.ns, end_ns);
        fixture_advance(&fixture, ahead_ms);
        turns++;
    }
    ck_assert_int_le(turns, 100);
    ck_assert_uint_eq(fixture_stats(&fixture).records_by_state[CLAIM_UNKNOWN - 1], 1);
}
END_TEST

// --- tokens -------------------------------------------------------------------------------------

START_TEST(tokens_only_go_up) {
    uint64_t last = fixture_claim(&fixture, "first", LEASE_MS);
    ck_assert_uint_eq(last, FIXTURE_FIRST_TOKEN);
    for (int i = 0; i < 30; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "k%d", i);
        uint64_t token = fixture_claim(&fixture, id, LEASE_MS);
        ck_assert_uint_gt(token, last);
        last = token;
        if (i % 3 == 0) fixture_reopen(&fixture);
        if (i % 3 == 1) fixture_crash(&fixture);
    }
}
END_TEST

// A store whose counter stands here.
static void start_at_token(uint64_t token) {
    struct error_detail detail;
    fixture_close(&fixture);
    temp_dir_remove_path(fixture.dir);
    ck_assert_int_eq(store_create(fixture.dir, token, &detail), ERR_OK);
    fixture_open(&fixture);
}

START_TEST(tokens_end_before_they_wrap) {
    start_at_token((uint64_t)LIMIT_TOKEN_MAX - 1);
    ck_assert_uint_eq(fixture_claim(&fixture, "a", 1000), (uint64_t)LIMIT_TOKEN_MAX - 1);
    ck_assert_uint_eq(fixture_claim(&fixture, "b", 1000), (uint64_t)LIMIT_TOKEN_MAX);
    struct fixture_answer answer = fixture_begin_for(&fixture, "c", 1000);
    FIXTURE_EXPECT_ERR(answer, ERR_TOKENS_EXHAUSTED);
    fixture_reopen(&fixture);
    answer = fixture_begin_for(&fixture, "c", 1000);
    FIXTURE_EXPECT_ERR(answer, ERR_TOKENS_EXHAUSTED);
    answer = fixture_get(&fixture, "c");
    FIXTURE_EXPECT_ERR(answer, ERR_NOT_FOUND);
    answer = fixture_complete(&fixture, "b", (uint64_t)LIMIT_TOKEN_MAX, "ends go on");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}
END_TEST

// Both are decided while there is one token left, and then wait for their checkpoints.
START_TEST(the_last_token_is_given_once) {
    static struct fixture_call calls[2];
    static const char *const ids[] = {"a", "b"};
    static const uint8_t data[1000];
    start_at_token((uint64_t)LIMIT_TOKEN_MAX - 2);
    for (int i = 0; i < 2; i++) {
        uint64_t token = fixture_claim(&fixture, ids[i], 1000);
        struct fixture_answer answer = fixture_do(
            &fixture, &(struct fixture_request){.id = ids[i],
                                                .command = {.verb = CLAIM_RENEW,
                                                            .token = token,
                                                            .lease = {true, 1000},
                                                            .checkpoint = {.present = true,
                                                                           .size_bytes = 1000,
                                                                           .data = {data, 1000}}}});
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
    fixture_advance(&fixture, 1000);
    fixture_reopen(&fixture);
    for (int i = 0; i < 2; i++) {
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){.id = ids[i], .command = {.verb = CLAIM_BEGIN}});
    }
    fixture_settle(&fixture);
    int granted = 0;
    for (int i = 0; i < 2; i++) {
        if (calls[i].answer.err == ERR_OK) {
            ck_assert_uint_eq(calls[i].answer.decision.record.token, (uint64_t)LIMIT_TOKEN_MAX);
            granted++;
        } else {
            FIXTURE_EXPECT_ERR(calls[i].answer, ERR_TOKENS_EXHAUSTED);
        }
    }
    ck_assert_int_eq(granted, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/time");
    TCase *cases = tcase_create("time");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_lease_is_not_cut_to_whole_milliseconds);
    tcase_add_test(cases, wall_clock_set_while_it_runs_changes_nothing);
    tcase_add_test(cases, restart_with_the_wall_an_hour_back);
    tcase_add_test(cases, restart_with_the_wall_an_hour_ahead);
    tcase_add_test(cases, times_for_people_follow_the_wall);
    tcase_add_test(cases, down_time_does_not_count);
    tcase_add_test(cases, a_crash_gives_less_than_a_second);
    tcase_add_test(cases, a_clean_stop_gives_nothing);
    tcase_add_test(cases, time_goes_on_from_the_mark);
    tcase_add_test(cases, nothing_is_written_while_the_clock_stands_still);
    tcase_add_test(cases, marks_each_second_while_a_lease_runs_else_each_minute);
    tcase_add_test(cases, turns_are_asked_for_no_later_than_a_deadline);
    tcase_add_test(cases, tokens_only_go_up);
    tcase_add_test(cases, tokens_end_before_they_wrap);
    tcase_add_test(cases, the_last_token_is_given_once);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
