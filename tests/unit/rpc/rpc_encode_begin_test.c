// BeginResponse: which fields each outcome carries, and that it carries no others.
#include "unit/rpc/rpc_encode_testing.h"

static Claimd__V1__BeginResponse *encode(const struct engine_op *op) {
    struct rpc_reply reply;
    memset(&reply, 0xAA, sizeof reply); // needs no initialisation
    rpc_encode_begin(op, &reply);
    return testing_round_trip(&reply);
}

static struct engine_op begin_op(enum claim_outcome outcome, enum claim_state state) {
    struct engine_op op = testing_op(state);
    op.command.verb = CLAIM_BEGIN;
    op.decision.outcome = outcome;
    return op;
}

// Everything that only some outcomes carry, cleared by the test for those that it expects.
enum carried {
    CARRIES_TOKEN = 1,
    CARRIES_LEASE = 2,
    CARRIES_TAKEOVER = 4,
    CARRIES_OWNER = 8,
    CARRIES_RETRY_AFTER = 16,
    CARRIES_NEXT_TIME = 32,
    CARRIES_ERROR = 64,
    CARRIES_CHECKPOINT = 128,
    CARRIES_FINAL = 256,
    CARRIES_RESULT = 512,
    CARRIES_REASON = 1024,
};

static void assert_carries(const Claimd__V1__BeginResponse *begin, unsigned carried) {
    ck_assert_int_eq(begin->token != 0, (carried & CARRIES_TOKEN) != 0);
    ck_assert_int_eq(begin->effect_key.len != 0, (carried & CARRIES_TOKEN) != 0);
    ck_assert_int_eq(begin->lease != NULL, (carried & CARRIES_LEASE) != 0);
    ck_assert_int_eq(begin->takeover != NULL, (carried & CARRIES_TAKEOVER) != 0);
    ck_assert_int_eq(begin->owner.len != 0, (carried & CARRIES_OWNER) != 0);
    ck_assert_int_eq(begin->retry_after != NULL, (carried & CARRIES_RETRY_AFTER) != 0);
    ck_assert_int_eq(begin->next_attempt_time != NULL, (carried & CARRIES_NEXT_TIME) != 0);
    ck_assert_int_eq(begin->last_error != NULL, (carried & CARRIES_ERROR) != 0);
    ck_assert_int_eq(begin->optional_checkpoint_case != 0, (carried & CARRIES_CHECKPOINT) != 0);
    ck_assert_int_eq(begin->complete_time != NULL, (carried & CARRIES_FINAL) != 0);
    ck_assert_int_eq(begin->expire_time != NULL, (carried & CARRIES_FINAL) != 0);
    ck_assert_int_eq(begin->optional_result_case != 0, (carried & CARRIES_RESULT) != 0);
    ck_assert_int_eq(begin->reason.len != 0, (carried & CARRIES_REASON) != 0);
}

// A record that has something to tell in every field, so that what is left out was left out.
static struct engine_op full_op(enum claim_outcome outcome, enum claim_state state) {
    struct engine_op op = begin_op(outcome, state);
    struct claim_record *rec = &op.decision.record;
    rec->last_error = testing_error(FAIL_TRANSIENT, "503");
    rec->checkpoint = testing_body("half way");
    rec->result = testing_body("paid");
    rec->reason = bytes_of("because");
    rec->expires_at = (struct optional_store_ms){true, {TESTING_NOW_MS + 60000}};
    return op;
}

START_TEST(first_claim_has_no_takeover) {
    struct engine_op op = full_op(CLAIM_CLAIMED, CLAIM_PROCESSING);
    op.decision.record.attempt_count = 1;
    op.decision.record.earlier_count = 0;
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_TOKEN | CARRIES_LEASE);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_CLAIMED);
    ck_assert_int_eq(begin->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_PROCESSING);
    ck_assert_uint_eq(begin->token, 987654321);
    ck_assert_uint_eq(begin->attempt, 1);
    testing_assert_time(begin->lease->expire_time, TESTING_WALL_MS + 2500);
    testing_assert_duration(begin->lease->remaining, 2500);
    char key[IDENTITY_EFFECT_KEY_CHARS + 1];
    identity_effect_key(&op.identity, 0, key);
    testing_assert_data(begin->effect_key, key);
    testing_free(begin);
}
END_TEST

START_TEST(later_claim_tells_how_the_one_before_ended) {
    struct engine_op op = full_op(CLAIM_CLAIMED, CLAIM_PROCESSING);
    struct claim_record *rec = &op.decision.record;
    rec->attempt_count = 3;
    rec->earlier[1] =
        (struct claim_attempt){.number = 2, .owner = bytes_of("crashed"), .end = CLAIM_END_LAPSED};
    rec->earlier_count = 2;
    rec->reopen_count = 1;
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_TOKEN | CARRIES_LEASE | CARRIES_TAKEOVER);
    ck_assert_uint_eq(begin->attempt, 3);
    testing_assert_data(begin->takeover->previous_owner, "crashed");
    ck_assert_int_eq(begin->takeover->previous_end, CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_LAPSED);
    testing_assert_data(begin->takeover->last_error->message, "503");
    ck_assert_int_eq(begin->takeover->last_error->kind,
                     CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_TRANSIENT);
    testing_assert_time(begin->takeover->last_error->occur_time, TESTING_WALL_MS - 7500);
    ck_assert_int_eq(begin->takeover->optional_checkpoint_case,
                     CLAIMD__V1__TAKEOVER__OPTIONAL_CHECKPOINT_CHECKPOINT);
    testing_assert_data(begin->takeover->checkpoint, "half way");
    char key[IDENTITY_EFFECT_KEY_CHARS + 1];
    identity_effect_key(&op.identity, 1, key); // another one after a reopen
    testing_assert_data(begin->effect_key, key);
    testing_free(begin);
}
END_TEST

START_TEST(takeover_may_have_nothing_to_tell) {
    struct engine_op op = begin_op(CLAIM_CLAIMED, CLAIM_PROCESSING);
    op.decision.record.earlier[0].end = CLAIM_END_RELEASED;
    op.decision.record.earlier[0].owner = (struct bytes){0};
    Claimd__V1__BeginResponse *begin = encode(&op);
    ck_assert_ptr_nonnull(begin->takeover);
    ck_assert_uint_eq(begin->takeover->previous_owner.len, 0);
    ck_assert_int_eq(begin->takeover->previous_end, CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_RELEASED);
    ck_assert_ptr_null(begin->takeover->last_error);
    ck_assert_int_eq(begin->takeover->optional_checkpoint_case, 0);
    testing_free(begin);
}
END_TEST

START_TEST(an_empty_checkpoint_is_not_an_absent_one) {
    struct engine_op op = begin_op(CLAIM_CLAIMED, CLAIM_PROCESSING);
    op.decision.record.checkpoint = (struct claim_body){.present = true};
    Claimd__V1__BeginResponse *begin = encode(&op);
    ck_assert_int_eq(begin->takeover->optional_checkpoint_case,
                     CLAIMD__V1__TAKEOVER__OPTIONAL_CHECKPOINT_CHECKPOINT);
    ck_assert_uint_eq(begin->takeover->checkpoint.len, 0);
    testing_free(begin);
}
END_TEST

START_TEST(duplicate_has_the_result) {
    struct engine_op op = full_op(CLAIM_DUPLICATE, CLAIM_SUCCEEDED);
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_FINAL | CARRIES_RESULT);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_DUPLICATE);
    ck_assert_int_eq(begin->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_SUCCEEDED);
    ck_assert_uint_eq(begin->attempt, 2);
    testing_assert_data(begin->result, "paid");
    testing_assert_time(begin->complete_time, TESTING_WALL_MS - 1000);
    testing_assert_time(begin->expire_time, TESTING_WALL_MS + 60000);
    ck_assert(!begin->result_expired && !begin->result_omitted);
    testing_free(begin);
}
END_TEST

START_TEST(duplicate_of_a_refusal_has_its_reason) {
    const enum claim_state states[] = {CLAIM_REJECTED, CLAIM_DISCARDED};
    for (size_t i = 0; i < 2; i++) {
        struct engine_op op = full_op(CLAIM_DUPLICATE, states[i]);
        Claimd__V1__BeginResponse *begin = encode(&op);
        assert_carries(begin, CARRIES_FINAL | CARRIES_RESULT | CARRIES_REASON);
        ck_assert_int_eq((int)begin->state, (int)states[i]);
        testing_assert_data(begin->reason, "because");
        testing_free(begin);
    }
}
END_TEST

START_TEST(results_empty_absent_expired_and_not_loaded_differ) {
    struct engine_op op = full_op(CLAIM_DUPLICATE, CLAIM_SUCCEEDED);
    struct claim_body *result = &op.decision.record.result;
    *result = (struct claim_body){.present = true};
    Claimd__V1__BeginResponse *begin = encode(&op);
    ck_assert_int_eq(begin->optional_result_case,
                     CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_RESULT_RESULT);
    ck_assert_uint_eq(begin->result.len, 0);
    testing_free(begin);

    *result = (struct claim_body){0};
    begin = encode(&op);
    assert_carries(begin, CARRIES_FINAL);
    ck_assert(!begin->result_expired && !begin->result_omitted);
    testing_free(begin);

    *result = (struct claim_body){.present = true, .expired = true, .size_bytes = 9};
    begin = encode(&op);
    assert_carries(begin, CARRIES_FINAL);
    ck_assert(begin->result_expired && !begin->result_omitted);
    testing_free(begin);

    *result = (struct claim_body){.present = true, .in_blob = true, .size_bytes = 900};
    begin = encode(&op);
    assert_carries(begin, CARRIES_FINAL);
    ck_assert(!begin->result_expired && begin->result_omitted);
    testing_free(begin);
}
END_TEST

START_TEST(a_result_is_byte_for_byte_up_to_its_limit) {
    struct engine_op op = full_op(CLAIM_DUPLICATE, CLAIM_SUCCEEDED);
    ProtobufCBinaryData large = testing_fill(LIMIT_RESULT_BYTES_MAX);
    for (size_t i = 0; i < large.len; i++) large.data[i] = (uint8_t)(i * 31 >> 3);
    op.decision.record.result = (struct claim_body){
        .present = true, .size_bytes = LIMIT_RESULT_BYTES_MAX, .data = {large.data, large.len}};
    Claimd__V1__BeginResponse *begin = encode(&op);
    ck_assert_uint_eq(begin->result.len, large.len);
    ck_assert_mem_eq(begin->result.data, large.data, large.len);
    testing_free(begin);
}
END_TEST

START_TEST(in_flight_tells_who_and_how_long) {
    struct engine_op op = full_op(CLAIM_IN_FLIGHT, CLAIM_PROCESSING);
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_OWNER | CARRIES_LEASE | CARRIES_RETRY_AFTER);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_IN_FLIGHT);
    testing_assert_data(begin->owner, "second");
    testing_assert_duration(begin->retry_after, 2500);
    testing_assert_duration(begin->lease->remaining, 2500);
    testing_free(begin);

    op.decision.record.lease_expires_at.ms = TESTING_NOW_MS + 1; // the last instant
    begin = encode(&op);
    testing_assert_duration(begin->retry_after, 1);
    testing_assert_duration(begin->lease->remaining, 1);
    testing_free(begin);
}
END_TEST

START_TEST(not_yet_tells_from_when) {
    struct engine_op op = full_op(CLAIM_NOT_YET, CLAIM_RETRYING);
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_NEXT_TIME | CARRIES_RETRY_AFTER | CARRIES_ERROR);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_NOT_YET);
    testing_assert_time(begin->next_attempt_time, TESTING_WALL_MS + 2500);
    testing_assert_duration(begin->retry_after, 2500);
    testing_assert_data(begin->last_error->message, "503");
    testing_free(begin);
}
END_TEST

START_TEST(outcome_unknown_has_what_is_needed_to_find_out) {
    struct engine_op op = full_op(CLAIM_OUTCOME_UNKNOWN, CLAIM_UNKNOWN);
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_ERROR | CARRIES_CHECKPOINT);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_OUTCOME_UNKNOWN);
    ck_assert_int_eq(begin->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_UNKNOWN);
    testing_assert_data(begin->checkpoint, "half way");
    testing_free(begin);
}
END_TEST

START_TEST(dead_lettered_has_its_error) {
    struct engine_op op = full_op(CLAIM_DEAD_LETTER, CLAIM_DEAD_LETTERED);
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, CARRIES_ERROR);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_DEAD_LETTERED);
    testing_free(begin);
}
END_TEST

START_TEST(out_of_order_says_only_that) {
    struct engine_op op = full_op(CLAIM_OUT_OF_ORDER, CLAIM_RECEIVED);
    Claimd__V1__BeginResponse *begin = encode(&op);
    assert_carries(begin, 0);
    ck_assert_int_eq(begin->outcome, CLAIMD__V1__BEGIN_OUTCOME__BEGIN_OUTCOME_OUT_OF_ORDER);
    testing_free(begin);
}
END_TEST

START_TEST(a_lapse_has_the_servers_own_text) {
    struct engine_op op = begin_op(CLAIM_DEAD_LETTER, CLAIM_DEAD_LETTERED);
    op.decision.record.last_error = testing_error(FAIL_LAPSED, "");
    Claimd__V1__BeginResponse *begin = encode(&op);
    ck_assert_int_eq(begin->last_error->kind, CLAIMD__V1__FAILURE_KIND__FAILURE_KIND_LAPSED);
    testing_assert_data(begin->last_error->message, "lease expired");
    testing_free(begin);
}
END_TEST

START_TEST(a_checkpoint_that_was_not_loaded_is_a_bug) {
    struct engine_op op = begin_op(CLAIM_CLAIMED, CLAIM_PROCESSING);
    op.decision.record.checkpoint =
        (struct claim_body){.present = true, .in_blob = true, .size_bytes = 900};
    (void)encode(&op); // aborts
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        first_claim_has_no_takeover,
        later_claim_tells_how_the_one_before_ended,
        takeover_may_have_nothing_to_tell,
        an_empty_checkpoint_is_not_an_absent_one,
        duplicate_has_the_result,
        duplicate_of_a_refusal_has_its_reason,
        results_empty_absent_expired_and_not_loaded_differ,
        a_result_is_byte_for_byte_up_to_its_limit,
        in_flight_tells_who_and_how_long,
        not_yet_tells_from_when,
        outcome_unknown_has_what_is_needed_to_find_out,
        dead_lettered_has_its_error,
        out_of_order_says_only_that,
        a_lapse_has_the_servers_own_text,
    };
    return testing_run("rpc_encode_begin", tests, sizeof tests / sizeof tests[0],
                       a_checkpoint_that_was_not_loaded_is_a_bug);
}
