// Replies of the commands that are not Begin.
#include "unit/rpc/rpc_encode_testing.h"

static void *encode(rpc_encode_fn *encode_fn, const struct engine_op *op) {
    struct rpc_reply reply;
    memset(&reply, 0xAA, sizeof reply);
    encode_fn(op, &reply);
    return testing_round_trip(&reply);
}

static struct engine_op final_op(enum claim_state state) {
    struct engine_op op = testing_op(state);
    op.decision.record.expires_at = (struct optional_store_ms){true, {TESTING_NOW_MS + 60000}};
    return op;
}

START_TEST(complete_tells_how_long_duplicates_are_known) {
    struct engine_op op = final_op(CLAIM_SUCCEEDED);
    Claimd__V1__CompleteResponse *complete = encode(rpc_encode_complete, &op);
    ck_assert_int_eq(complete->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_SUCCEEDED);
    ck_assert(!complete->replayed);
    testing_assert_time(complete->complete_time, TESTING_WALL_MS - 1000);
    testing_assert_time(complete->expire_time, TESTING_WALL_MS + 60000);
    testing_free(complete);

    op.decision.replayed = true;
    op.wall_now.ms += 5; // shown as of now
    complete = encode(rpc_encode_complete, &op);
    ck_assert(complete->replayed);
    testing_assert_time(complete->complete_time, TESTING_WALL_MS - 1000);
    testing_assert_time(complete->expire_time, TESTING_WALL_MS + 60005);
    testing_free(complete);
}
END_TEST

START_TEST(reject_is_answered_alike) {
    struct engine_op op = final_op(CLAIM_REJECTED);
    op.decision.replayed = true;
    Claimd__V1__RejectResponse *reject = encode(rpc_encode_reject, &op);
    ck_assert_int_eq(reject->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_REJECTED);
    ck_assert(reject->replayed);
    testing_assert_time(reject->complete_time, TESTING_WALL_MS - 1000);
    testing_assert_time(reject->expire_time, TESTING_WALL_MS + 60000);
    testing_free(reject);
}
END_TEST

START_TEST(fail_tells_what_became_of_the_claim) {
    struct engine_op op = testing_op(CLAIM_RETRYING);
    Claimd__V1__FailResponse *fail = encode(rpc_encode_fail, &op);
    ck_assert_int_eq(fail->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_RETRYING);
    ck_assert(!fail->replayed);
    testing_assert_time(fail->next_attempt_time, TESTING_WALL_MS + 2500);
    testing_assert_duration(fail->retry_after, 2500);
    testing_free(fail);

    op.decision.replayed = true; // long after it was due
    op.now.ms = TESTING_NOW_MS + 9000;
    op.wall_now.ms = TESTING_WALL_MS + 9000;
    fail = encode(rpc_encode_fail, &op);
    ck_assert(fail->replayed);
    testing_assert_time(fail->next_attempt_time, TESTING_WALL_MS + 2500);
    testing_assert_duration(fail->retry_after, 0);
    testing_free(fail);
}
END_TEST

START_TEST(fail_without_another_attempt_has_no_times) {
    const enum claim_state states[] = {CLAIM_DEAD_LETTERED, CLAIM_UNKNOWN};
    for (size_t i = 0; i < 2; i++) {
        struct engine_op op = final_op(states[i]);
        Claimd__V1__FailResponse *fail = encode(rpc_encode_fail, &op);
        ck_assert_int_eq((int)fail->state, (int)states[i]);
        ck_assert_ptr_null(fail->next_attempt_time);
        ck_assert_ptr_null(fail->retry_after);
        testing_free(fail);
    }
}
END_TEST

START_TEST(renew_shows_the_lease) {
    struct engine_op op = testing_op(CLAIM_PROCESSING);
    Claimd__V1__RenewResponse *renew = encode(rpc_encode_renew, &op);
    ck_assert(!renew->lapsed);
    testing_assert_time(renew->lease->expire_time, TESTING_WALL_MS + 2500);
    testing_assert_duration(renew->lease->remaining, 2500);
    testing_free(renew);
    op.decision.renewed_lapsed = true;
    renew = encode(rpc_encode_renew, &op);
    ck_assert(renew->lapsed);
    testing_free(renew);
}
END_TEST

START_TEST(release_register_cancel_and_resolve_tell_the_state) {
    struct engine_op op = testing_op(CLAIM_RECEIVED);
    op.decision.replayed = true;
    Claimd__V1__ReleaseResponse *release = encode(rpc_encode_release, &op);
    ck_assert_int_eq(release->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_RECEIVED);
    ck_assert(release->replayed);
    testing_free(release);

    op.decision.created = true;
    Claimd__V1__RegisterResponse *reg = encode(rpc_encode_register, &op);
    ck_assert_int_eq(reg->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_RECEIVED);
    ck_assert(reg->created);
    testing_free(reg);

    op = testing_op(CLAIM_SUCCEEDED);
    reg = encode(rpc_encode_register, &op);
    ck_assert_int_eq(reg->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_SUCCEEDED);
    ck_assert(!reg->created);
    testing_free(reg);

    op = testing_op(CLAIM_REJECTED);
    Claimd__V1__CancelResponse *cancel = encode(rpc_encode_cancel, &op);
    ck_assert_int_eq(cancel->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_REJECTED);
    ck_assert(!cancel->replayed);
    testing_free(cancel);
    op.decision.replayed = true;
    cancel = encode(rpc_encode_cancel, &op);
    ck_assert(cancel->replayed);
    testing_free(cancel);

    op = testing_op(CLAIM_DEAD_LETTERED);
    Claimd__V1__ResolveResponse *resolve = encode(rpc_encode_resolve, &op);
    ck_assert_int_eq(resolve->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_DEAD_LETTERED);
    testing_free(resolve);
}
END_TEST

START_TEST(times_are_clamped_to_what_can_be_said) {
    const int64_t year_1_ms = INT64_C(-62135596800000);
    const int64_t year_9999_ms = INT64_C(253402300799999);
    struct engine_op op = testing_op(CLAIM_RETRYING);
    op.decision.record.next_attempt_at.ms = INT64_MAX;
    Claimd__V1__FailResponse *fail = encode(rpc_encode_fail, &op);
    testing_assert_time(fail->next_attempt_time, year_9999_ms);
    testing_assert_duration(fail->retry_after, INT64_C(315576000000000));
    testing_free(fail);
    op.decision.record.next_attempt_at.ms = INT64_MIN;
    fail = encode(rpc_encode_fail, &op);
    testing_assert_time(fail->next_attempt_time, year_1_ms);
    testing_assert_duration(fail->retry_after, 0);
    testing_free(fail);

    op = final_op(CLAIM_SUCCEEDED);
    op.decision.record.updated_at.ms = -1; // a clock at boot may be before 1970
    Claimd__V1__CompleteResponse *complete = encode(rpc_encode_complete, &op);
    ck_assert_int_eq(complete->complete_time->seconds, -1);
    ck_assert_int_eq(complete->complete_time->nanos, 999000000);
    testing_free(complete);
}
END_TEST

START_TEST(a_reply_to_a_failed_operation_is_a_bug) {
    struct engine_op op = testing_op(CLAIM_SUCCEEDED);
    op.err = ERR_STALE_TOKEN;
    (void)encode(rpc_encode_complete, &op); // aborts
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        complete_tells_how_long_duplicates_are_known,
        reject_is_answered_alike,
        fail_tells_what_became_of_the_claim,
        fail_without_another_attempt_has_no_times,
        renew_shows_the_lease,
        release_register_cancel_and_resolve_tell_the_state,
        times_are_clamped_to_what_can_be_said,
    };
    return testing_run("rpc_encode_verbs", tests, sizeof tests / sizeof tests[0],
                       a_reply_to_a_failed_operation_is_a_bug);
}
