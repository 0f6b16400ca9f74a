// Bodies and cold records: bytes come back as they were, from the blob family and through the
// readers, and blobs go when nobody refers to them.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/scope.h"
#include "lib/engine_calls.h"

static struct engine_fixture fixture;
static uint8_t data[LIMIT_RESULT_BYTES_MAX];

static void setup(void) {
    fixture_init(&fixture);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
}

static void teardown(void) { fixture_deinit(&fixture); }

static struct claim_body body_of_len(size_t len) {
    return (struct claim_body){.present = true, .size_bytes = (uint32_t)len, .data = {data, len}};
}

static struct fixture_answer command_do(const char *id, struct claim_command command) {
    return fixture_do(&fixture, &(struct fixture_request){.id = id, .command = command});
}

static void succeed_with(const char *id, struct claim_body result) {
    uint64_t token = fixture_claim(&fixture, id, 30000);
    struct fixture_answer answer = command_do(
        id, (struct claim_command){.verb = CLAIM_COMPLETE, .token = token, .result = result});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}

static void checkpoint(const char *id, uint64_t token, size_t len) {
    struct fixture_answer answer =
        command_do(id, (struct claim_command){
                           .verb = CLAIM_RENEW, .token = token, .checkpoint = body_of_len(len)});
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}

static void expect_body(const struct claim_body *body, size_t len) {
    ck_assert(body->present && !body->in_blob && !body->expired);
    ck_assert_uint_eq(body->size_bytes, len);
    ck_assert_uint_eq(body->data.len, len);
    if (len > 0) ck_assert_mem_eq(body->data.data, data, len);
}

// --- results ------------------------------------------------------------------------------------

static const size_t sizes[] = {0,
                               1,
                               LIMIT_BODY_INLINE_BYTES_MAX,
                               LIMIT_BODY_INLINE_BYTES_MAX + 1,
                               4096,
                               LIMIT_RESULT_BYTES_DEFAULT};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void expect_results(void) {
    for (size_t i = 0; i < SIZES; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "size%zu", sizes[i]);
        struct fixture_answer answer = fixture_begin_for(&fixture, id, 1000);
        fixture_expect_result(&answer, (struct bytes){data, sizes[i]});
    }
    struct fixture_answer absent = fixture_begin_for(&fixture, "absent", 1000);
    fixture_expect_outcome(&absent, CLAIM_DUPLICATE);
    ck_assert(!absent.decision.record.result.present);
}

START_TEST(results_come_back_from_wherever_they_are) {
    for (size_t i = 0; i < SIZES; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "size%zu", sizes[i]);
        succeed_with(id, body_of_len(sizes[i]));
    }
    succeed_with("absent", (struct claim_body){.present = false});
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 3);
    expect_results();
    fixture_flush(&fixture);
    uint64_t missed = fixture_stats(&fixture).reads_missed;
    expect_results();
    ck_assert_uint_gt(fixture_stats(&fixture).reads_missed, missed);
    // Now they are in the cache, as soon as RocksDB has stopped rewriting what was flushed.
    for (int round = 0; fixture_stats(&fixture).reads_missed != missed; round++) {
        ck_assert_int_lt(round, 100);
        missed = fixture_stats(&fixture).reads_missed;
        expect_results();
    }
    fixture_reopen(&fixture);
    expect_results();
    fixture_crash(&fixture);
    expect_results();
}
END_TEST

START_TEST(the_limit_is_the_policys) {
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    struct claim_command command = {.verb = CLAIM_COMPLETE,
                                    .token = token,
                                    .result = body_of_len(LIMIT_RESULT_BYTES_DEFAULT + 1)};
    struct fixture_answer answer = command_do("k", command);
    FIXTURE_EXPECT_ERR(answer, ERR_INVALID_ARGUMENT);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 0);
    fixture.policy.result_bytes_max = LIMIT_RESULT_BYTES_MAX;
    answer = command_do("k", command);
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
}
END_TEST

START_TEST(many_of_a_mebibyte_at_once) {
    enum { CALLS = 24 }; // three times what a group holds
    static struct fixture_call calls[CALLS];
    static char ids[CALLS][32];
    fixture.policy.result_bytes_max = LIMIT_RESULT_BYTES_MAX;
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "m%d", i);
        uint64_t token = fixture_claim(&fixture, ids[i], 30000);
        fixture_start(
            &fixture, &calls[i],
            &(struct fixture_request){.id = ids[i],
                                      .command = {.verb = CLAIM_COMPLETE,
                                                  .token = token,
                                                  .result = body_of_len(LIMIT_RESULT_BYTES_MAX)}});
    }
    fixture_settle(&fixture);
    for (int i = 0; i < CALLS; i++) {
        ck_assert(calls[i].done);
        FIXTURE_EXPECT_ERR(calls[i].answer, ERR_OK);
    }
    fixture_forget(&fixture);
    fixture_reopen(&fixture);
    for (int i = 0; i < CALLS; i++) {
        struct fixture_answer answer = fixture_begin_for(&fixture, ids[i], 1000);
        fixture_expect_result(&answer, (struct bytes){data, LIMIT_RESULT_BYTES_MAX});
    }
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), CALLS);
}
END_TEST

// --- checkpoints --------------------------------------------------------------------------------

START_TEST(takeover_shows_the_last_checkpoint) {
    for (int cold = 0; cold < 2; cold++) {
        const char *id = cold ? "cold" : "warm";
        uint64_t token = fixture_claim(&fixture, id, 30000);
        checkpoint(id, token, 300);
        checkpoint(id, token, LIMIT_CHECKPOINT_BYTES_MAX);
        fixture_advance(&fixture, 30000);
        if (cold) fixture_reopen(&fixture);
        struct fixture_answer answer = fixture_begin_for(&fixture, id, 30000);
        fixture_expect_outcome(&answer, CLAIM_CLAIMED);
        ck_assert_uint_eq(answer.decision.record.attempt_count, 2);
        expect_body(&answer.decision.record.checkpoint, LIMIT_CHECKPOINT_BYTES_MAX);
        // It is still there for the next one.
        fixture_release(&fixture, id, answer.decision.record.token);
        answer = fixture_begin_for(&fixture, id, 30000);
        expect_body(&answer.decision.record.checkpoint, LIMIT_CHECKPOINT_BYTES_MAX);
    }
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 2);
}
END_TEST

START_TEST(a_shorter_checkpoint_frees_the_blob) {
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    checkpoint("k", token, 5000);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 1);
    struct fixture_answer answer = fixture_renew(&fixture, "k", token, 30000); // keeps it
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 1);
    checkpoint("k", token, 5);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 0);
    answer = fixture_get(&fixture, "k");
    expect_body(&answer.decision.record.checkpoint, 5);
}
END_TEST

START_TEST(unknown_outcome_shows_the_checkpoint) {
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    checkpoint("k", token, 5000);
    fixture_fail(&fixture, "k", token, FAIL_OUTCOME_UNKNOWN);
    fixture_reopen(&fixture);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", 1000);
    fixture_expect_outcome(&answer, CLAIM_OUTCOME_UNKNOWN);
    expect_body(&answer.decision.record.checkpoint, 5000);
}
END_TEST

// --- payloads -----------------------------------------------------------------------------------

START_TEST(payload_is_kept_with_a_dead_letter_and_on_request) {
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    struct claim_command fail = {.verb = CLAIM_FAIL,
                                 .token = token,
                                 .fail_kind = FAIL_TRANSIENT,
                                 .payload = body_of_len(LIMIT_PAYLOAD_BYTES_MAX),
                                 .retry_after = {true, 0}};
    struct fixture_answer answer = command_do("k", fail);
    ck_assert_int_eq(fixture_state(&answer), CLAIM_RETRYING);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 0); // no dead letter, no payload
    fail.token = fixture_claim(&fixture, "k", 30000);
    fail.fail_kind = FAIL_POISON;
    answer = command_do("k", fail);
    ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED);
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 1);
    fixture_reopen(&fixture);
    answer = fixture_get(&fixture, "k");
    FIXTURE_EXPECT_ERR(answer, ERR_OK);
    expect_body(&answer.decision.record.payload, LIMIT_PAYLOAD_BYTES_MAX);
    answer = command_do("k", (struct claim_command){.verb = CLAIM_GET});
    ck_assert(answer.decision.record.payload.present);
    ck_assert(answer.decision.record.payload.in_blob);
    ck_assert_uint_eq(answer.decision.record.payload.size_bytes, LIMIT_PAYLOAD_BYTES_MAX);
    answer = fixture_begin_for(&fixture, "k", 1000);
    fixture_expect_outcome(&answer, CLAIM_DEAD_LETTER);
}
END_TEST

START_TEST(a_final_record_lets_the_payload_go) {
    fixture.policy.max_retries[RETRY_LAPSED] = 0;
    uint64_t token = fixture_claim(&fixture, "k", 1000);
    fixture_advance(&fixture, 1000);
    struct fixture_answer answer =
        command_do("k", (struct claim_command){.verb = CLAIM_FAIL,
                                               .token = token,
                                               .fail_kind = FAIL_TRANSIENT,
                                               .payload = body_of_len(1000)});
    ck_assert_int_eq(fixture_state(&answer), CLAIM_DEAD_LETTERED); // a lapse had buried it
    ck_assert_uint_eq(fixture_scan_keys(&fixture, KEYSPACE_BLOB), 1);
    answer = fixture_complete(&fixture, "k", token, "x");
    FIXTURE_EXPECT_ERR(answer, ERR_WRONG_STATE); // the Fail has ended the attempt
}
END_TEST

// --- cold records -------------------------------------------------------------------------------

START_TEST(a_cold_key_keeps_the_order) {
    static struct fixture_call calls[3];
    uint64_t token = fixture_claim(&fixture, "k", 30000);
    fixture_succeed(&fixture, "other", "x");
    fixture_flush(&fixture);
    uint64_t missed = fixture_stats(&fixture).reads_missed;
    fixture_start(
        &fixture, &calls[0],
        &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_RENEW, .token = token}});
    fixture_start(
        &fixture, &calls[1],
        &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_COMPLETE, .token = token}});
    fixture_start(&fixture, &calls[2],
                  &(struct fixture_request){.id = "k", .command = {.verb = CLAIM_BEGIN}});
    fixture_settle(&fixture);
    ck_assert_uint_gt(fixture_stats(&fixture).reads_missed, missed);
    FIXTURE_EXPECT_ERR(calls[0].answer, ERR_OK);
    FIXTURE_EXPECT_ERR(calls[1].answer, ERR_OK);
    fixture_expect_outcome(&calls[2].answer, CLAIM_DUPLICATE);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(calls[i].done_order, calls[0].done_order + (uint64_t)i);
}
END_TEST

START_TEST(a_cold_key_holds_up_no_other) {
    static struct fixture_call cold;
    fixture_claim(&fixture, "cold", 30000);
    fixture_flush(&fixture);
    fixture_claim(&fixture, "warm", 30000);
    fixture_start(&fixture, &cold,
                  &(struct fixture_request){.id = "cold", .command = {.verb = CLAIM_BEGIN}});
    struct fixture_call warm;
    fixture_start(&fixture, &warm,
                  &(struct fixture_request){.id = "warm", .command = {.verb = CLAIM_BEGIN}});
    fixture_turn(&fixture); // the readers' answer can only come in with the next turn
    ck_assert(warm.done && !cold.done);
    fixture_finish(&cold);
    fixture_expect_outcome(&cold.answer, CLAIM_IN_FLIGHT);
}
END_TEST

START_TEST(grants_that_load_a_checkpoint_get_tokens_of_their_own) {
    static struct fixture_call calls[4];
    static const char *const ids[] = {"a", "b", "new1", "new2"};
    for (int i = 0; i < 2; i++) {
        uint64_t token = fixture_claim(&fixture, ids[i], 1000);
        checkpoint(ids[i], token, 5000);
    }
    fixture_advance(&fixture, 30000);
    fixture_reopen(&fixture);
    for (int i = 0; i < 4; i++) {
        fixture_start(&fixture, &calls[i],
                      &(struct fixture_request){.id = ids[i], .command = {.verb = CLAIM_BEGIN}});
    }
    fixture_settle(&fixture);
    for (int i = 0; i < 4; i++) {
        fixture_expect_outcome(&calls[i].answer, CLAIM_CLAIMED);
        for (int j = 0; j < i; j++) {
            ck_assert_uint_ne(calls[i].answer.decision.record.token,
                              calls[j].answer.decision.record.token);
        }
        // What is stored is what was answered.
        struct fixture_answer answer =
            fixture_complete(&fixture, ids[i], calls[i].answer.decision.record.token, NULL);
        FIXTURE_EXPECT_ERR(answer, ERR_OK);
    }
}
END_TEST

// --- damage -------------------------------------------------------------------------------------

static struct bytes claim_key(struct buf *out, const char *id) {
    keyspace_put_claim(out, 0, bytes_of(id));
    return buf_bytes(out);
}

START_TEST(a_missing_body_is_damage_and_not_an_empty_result) {
    SCOPE_BUF struct buf key = {0};
    SCOPE_BUF struct buf blob = {0};
    succeed_with("k", body_of_len(1000));
    fixture_close(&fixture);
    keyspace_put_blob(&blob, claim_key(&key, "k"), KEYSPACE_BLOB_RESULT);
    fixture_edit_delete(&fixture, KEYSPACE_BLOB, buf_bytes(&blob));
    fixture_open(&fixture);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", 1000);
    FIXTURE_EXPECT_ERR(answer, ERR_CORRUPT);
    fixture_claim(&fixture, "k2", 1000); // others go on
}
END_TEST

START_TEST(a_damaged_record_answers_corrupt) {
    SCOPE_BUF struct buf key = {0};
    fixture_succeed(&fixture, "k", "x");
    fixture_close(&fixture);
    fixture_edit_put(&fixture, KEYSPACE_DONE, claim_key(&key, "k"), bytes_of("no record"));
    fixture_open(&fixture);
    struct fixture_answer answer = fixture_begin_for(&fixture, "k", 1000);
    FIXTURE_EXPECT_ERR(answer, ERR_CORRUPT);
    fixture_claim(&fixture, "k2", 1000);
}
END_TEST

START_TEST(a_damaged_open_record_refuses_to_start) {
    SCOPE_BUF struct buf key = {0};
    struct error_detail detail = {0};
    fixture_claim(&fixture, "k", 1000);
    fixture_close(&fixture);
    fixture_edit_put(&fixture, KEYSPACE_OPEN, claim_key(&key, "k"), bytes_of("no record"));
    ck_assert_int_eq(fixture_try_open(&fixture, &detail), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(detail.text, "open records"));
    ck_assert_ptr_nonnull(strstr(detail.text, "backup"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/body");
    TCase *cases = tcase_create("body");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, results_come_back_from_wherever_they_are);
    tcase_add_test(cases, the_limit_is_the_policys);
    tcase_add_test(cases, many_of_a_mebibyte_at_once);
    tcase_add_test(cases, takeover_shows_the_last_checkpoint);
    tcase_add_test(cases, a_shorter_checkpoint_frees_the_blob);
    tcase_add_test(cases, unknown_outcome_shows_the_checkpoint);
    tcase_add_test(cases, payload_is_kept_with_a_dead_letter_and_on_request);
    tcase_add_test(cases, a_final_record_lets_the_payload_go);
    tcase_add_test(cases, a_cold_key_keeps_the_order);
    tcase_add_test(cases, a_cold_key_holds_up_no_other);
    tcase_add_test(cases, grants_that_load_a_checkpoint_get_tokens_of_their_own);
    tcase_add_test(cases, a_missing_body_is_damage_and_not_an_empty_result);
    tcase_add_test(cases, a_damaged_record_answers_corrupt);
    tcase_add_test(cases, a_damaged_open_record_refuses_to_start);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
