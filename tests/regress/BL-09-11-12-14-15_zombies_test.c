// BL-09, 11, 12, 14, 15: those who come back after their claim was given to somebody else.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "claimd/v1/claims.pb-c.h"
#include "claimd/v1/operations.pb-c.h"
#include "lib/engine_calls.h"
#include "rpc/rpc_encode.h"

static struct engine_fixture fixture;

static void setup(void) { fixture_init(&fixture); }

static void teardown(void) { fixture_deinit(&fixture); }

static struct fixture_answer begin_as(const char *owner, int64_t lease_ms) {
    return fixture_begin(
        &fixture, "K", (struct claim_command){.owner = bytes_of(owner), .lease = {true, lease_ms}});
}

// All that the old token can still try is refused, with the state of now, and changes nothing.
static void expect_fenced(uint64_t old_token, enum claim_state state) {
    struct fixture_answer before = fixture_get(&fixture, "K");
    uint64_t position = fixture_stats(&fixture).position;
    struct fixture_answer answers[] = {
        fixture_complete(&fixture, "K", old_token, "a"),
        fixture_fail(&fixture, "K", old_token, FAIL_TRANSIENT),
        fixture_renew(&fixture, "K", old_token, 60000),
        fixture_release(&fixture, "K", old_token),
        fixture_reject(&fixture, "K", old_token, "no"),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        FIXTURE_EXPECT_ERR(answers[i], ERR_STALE_TOKEN);
        ck_assert_int_eq(fixture_state(&answers[i]), state);
    }
    struct fixture_answer after = fixture_get(&fixture, "K");
    const struct claim_record *a = &before.decision.record;
    const struct claim_record *b = &after.decision.record;
    ck_assert_int_eq(a->state, b->state);
    ck_assert_uint_eq(a->attempt_count, b->attempt_count);
    ck_assert_mem_eq(a->retry_counts, b->retry_counts, sizeof a->retry_counts);
    ck_assert_int_eq(a->lease_expires_at.ms, b->lease_expires_at.ms);
    ck_assert_int_eq(a->last_error.kind, b->last_error.kind);
    ck_assert_int_eq(a->updated_at.ms, b->updated_at.ms);
    ck_assert_uint_eq(fixture_stats(&fixture).position, position);
}

START_TEST(BL_09_a_late_ack_is_not_the_ack_of_the_next_delivery) {
    uint64_t t1 = fixture_claim(&fixture, "K", 1000);
    fixture_advance(&fixture, 1001);
    uint64_t t2 = fixture_claim(&fixture, "K", 1000);
    expect_fenced(t1, CLAIM_PROCESSING);
    struct fixture_answer done = fixture_complete(&fixture, "K", t2, "b");
    FIXTURE_EXPECT_ERR(done, ERR_OK);
    expect_fenced(t1, CLAIM_SUCCEEDED);
    struct fixture_answer answer = fixture_begin_for(&fixture, "K", 1000);
    fixture_expect_result(&answer, bytes_of("b"));
}
END_TEST

START_TEST(BL_11_a_workers_name_is_no_identity) {
    struct fixture_answer first = begin_as("w0", 1000);
    fixture_advance(&fixture, 1000);
    struct fixture_answer second = begin_as("w0", 7000);
    fixture_expect_outcome(&second, CLAIM_CLAIMED);
    ck_assert_uint_gt(second.decision.record.token, first.decision.record.token);
    expect_fenced(first.decision.record.token, CLAIM_PROCESSING);
    struct fixture_answer seen = fixture_get(&fixture, "K");
    ck_assert_int_eq(fixture_lease_left_ms(&seen), 7000);
}
END_TEST

START_TEST(BL_12_a_repeated_fail_releases_nobody_elses_claim) {
    uint64_t t1 = fixture_claim(&fixture, "K", 1000);
    struct fixture_answer failed = fixture_fail_after(&fixture, "K", t1, 0);
    ck_assert_int_eq(fixture_delay_left_ms(&failed), 0);
    struct fixture_answer repeated = fixture_fail_after(&fixture, "K", t1, 0);
    FIXTURE_EXPECT_ERR(repeated, ERR_OK); // nobody has taken over yet
    ck_assert(repeated.decision.replayed);
    struct fixture_answer second = begin_as("another", 5000);
    fixture_expect_outcome(&second, CLAIM_CLAIMED);
    repeated = fixture_fail_after(&fixture, "K", t1, 0);
    FIXTURE_EXPECT_ERR(repeated, ERR_STALE_TOKEN);
    struct fixture_answer third = begin_as("third", 5000);
    fixture_expect_outcome(&third, CLAIM_IN_FLIGHT);
    ck_assert_uint_eq(third.decision.record.retry_counts[RETRY_TRANSIENT], 1); // counted once
}
END_TEST

// Whatever a look at a claim shows, none of it is a credential.
START_TEST(BL_14_looking_gives_no_credential) {
    struct fixture_answer first = begin_as("w0", 5000);
    uint64_t token = first.decision.record.token;
    struct fixture_answer seen = fixture_get(&fixture, "K");
    const uint64_t shown[] = {
        seen.decision.record.attempt_count,
        (uint64_t)seen.decision.record.created_at.ms,
        (uint64_t)seen.decision.record.granted_at.ms + 1,
        (uint64_t)seen.decision.record.lease_expires_at.ms,
        UINT64_MAX,
    };
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        ck_assert_uint_ne(shown[i], token);
        struct fixture_answer answer = fixture_release(&fixture, "K", shown[i]);
        FIXTURE_EXPECT_ERR(answer, ERR_STALE_TOKEN);
        answer = fixture_renew(&fixture, "K", shown[i], 1000);
        FIXTURE_EXPECT_ERR(answer, ERR_STALE_TOKEN);
        answer = fixture_complete(&fixture, "K", shown[i], NULL);
        FIXTURE_EXPECT_ERR(answer, ERR_STALE_TOKEN);
        answer = fixture_fail(&fixture, "K", shown[i], FAIL_TRANSIENT);
        FIXTURE_EXPECT_ERR(answer, ERR_STALE_TOKEN);
    }
}
END_TEST

// What Get sends holds the token nowhere, as a field or as bytes, and neither does IN_FLIGHT.
static void expect_not_sent(rpc_encode_fn *encode, struct fixture_call *call, uint64_t token) {
    static struct rpc_reply reply;
    static uint8_t packed[4096];
    call->op.err = call->answer.err;
    call->op.decision = call->answer.decision;
    call->op.now = call->answer.now;
    call->op.wall_now = call->answer.wall_now;
    encode(&call->op, &reply);
    ck_assert_uint_le(reply.len, sizeof packed);
    rpc_encode_pack(&reply, packed);
    uint8_t varint[10];
    size_t varint_len = 0;
    for (uint64_t rest = token; rest > 0 || varint_len == 0; rest >>= 7) {
        varint[varint_len++] = (uint8_t)((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
    }
    ck_assert_uint_ge(varint_len, 8); // long enough not to be there by chance
    for (size_t i = 0; i + varint_len <= reply.len; i++) {
        ck_assert(memcmp(packed + i, varint, varint_len) != 0);
    }
}

START_TEST(BL_14_no_look_sends_the_token) {
    static struct fixture_call call;
    struct error_detail detail;
    // Tokens as a real store has them: microseconds since 1970.
    const uint64_t token = UINT64_C(1700000000123457);
    fixture_close(&fixture);
    temp_dir_remove_path(fixture.dir);
    ck_assert_int_eq(store_create(fixture.dir, token, &detail), ERR_OK);
    fixture_open(&fixture);
    ck_assert_uint_eq(fixture_claim(&fixture, "K", 5000), token);
    fixture_start(&fixture, &call,
                  &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_GET}});
    FIXTURE_EXPECT_ERR(*fixture_finish(&call), ERR_OK);
    expect_not_sent(rpc_encode_get_claim, &call, token);
    fixture_start(&fixture, &call,
                  &(struct fixture_request){.id = "K", .command = {.verb = CLAIM_BEGIN}});
    fixture_expect_outcome(fixture_finish(&call), CLAIM_IN_FLIGHT);
    expect_not_sent(rpc_encode_begin, &call, token);
}
END_TEST

START_TEST(BL_15_the_loser_is_told_and_told_why) {
    struct fixture_answer first = begin_as("A", 1000);
    fixture_advance(&fixture, 1000);
    struct fixture_answer second = begin_as("B", 1000);
    fixture_expect_outcome(&second, CLAIM_CLAIMED);
    struct fixture_answer renewed = fixture_renew(&fixture, "K", first.decision.record.token, 1000);
    FIXTURE_EXPECT_ERR(renewed, ERR_STALE_TOKEN);
    ck_assert_str_eq(error_reason(renewed.err), "STALE_TOKEN"); // what a program reads
    ck_assert_int_eq(fixture_state(&renewed), CLAIM_PROCESSING);
    ck_assert_uint_eq(renewed.decision.record.attempt_count, 2);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("regress/zombies");
    TCase *cases = tcase_create("zombies");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, BL_09_a_late_ack_is_not_the_ack_of_the_next_delivery);
    tcase_add_test(cases, BL_11_a_workers_name_is_no_identity);
    tcase_add_test(cases, BL_12_a_repeated_fail_releases_nobody_elses_claim);
    tcase_add_test(cases, BL_14_looking_gives_no_credential);
    tcase_add_test(cases, BL_14_no_look_sends_the_token);
    tcase_add_test(cases, BL_15_the_loser_is_told_and_told_why);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
