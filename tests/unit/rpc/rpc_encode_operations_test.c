// Replies of the operators' API: a claim in full and in part, Prune, GetStatus.
#define _GNU_SOURCE // memmem
#include "unit/rpc/rpc_encode_testing.h"

static Claimd__V1__GetClaimResponse *encode(const struct engine_op *op) {
    struct rpc_reply reply;
    memset(&reply, 0xAA, sizeof reply);
    rpc_encode_get_claim(op, &reply);
    return testing_round_trip(&reply);
}

// A record in which every field has a value. Together with PROCESSING, which has the lease.
static struct engine_op full_op(enum claim_state state) {
    struct engine_op op = testing_op(state);
    struct claim_record *rec = &op.decision.record;
    op.command.verb = CLAIM_GET;
    rec->reopen_count = 3;
    rec->attempt_count = 12;
    rec->attempt.number = 12;
    rec->earlier_count = LIMIT_ATTEMPTS_KEPT - 1;
    for (uint32_t i = 0; i < rec->earlier_count; i++) {
        rec->earlier[i] = rec->earlier[0];
        rec->earlier[i].number = 5 + i;
    }
    for (uint32_t kind = 0; kind < RETRY_KINDS; kind++) rec->retry_counts[kind] = kind + 1;
    rec->expires_at = (struct optional_store_ms){true, {TESTING_NOW_MS + 60000}};
    rec->fingerprint = bytes_of("\xfe\xff");
    rec->payload_ref = bytes_of("topic/3/99");
    rec->event_time = (struct optional_wall_ms){true, {TESTING_WALL_MS - 20000}};
    rec->last_error = testing_error(FAIL_UNCLASSIFIED, "no idea");
    rec->reason = bytes_of("because");
    rec->result = testing_body("paid");
    memset(rec->result_digest.data, 0xDD, DIGEST_BYTES);
    rec->checkpoint = testing_body("half way");
    rec->payload = testing_body("{}");
    return op;
}

START_TEST(a_full_claim_is_shown) {
    struct engine_op op = full_op(CLAIM_PROCESSING);
    Claimd__V1__GetClaimResponse *get = encode(&op);
    const Claimd__V1__Claim *claim = get->claim;
    testing_assert_data(claim->consumer, "billing/capture");
    testing_assert_data(claim->message_id, "pi_1:captured");
    ck_assert_int_eq(claim->state, CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_PROCESSING);
    ck_assert_uint_eq(claim->attempt, 12);
    ck_assert(!claim->lapsed);
    ck_assert_uint_eq(claim->retries->transient, 1);
    ck_assert_uint_eq(claim->retries->unclassified, 2);
    ck_assert_uint_eq(claim->retries->poison, 3);
    ck_assert_uint_eq(claim->retries->lapsed, 4);
    testing_assert_data(claim->owner, "second");
    testing_assert_time(claim->lease->expire_time, TESTING_WALL_MS + 2500);
    testing_assert_duration(claim->lease->remaining, 2500);
    testing_assert_data(claim->last_error->message, "no idea");
    ck_assert_ptr_null(claim->next_attempt_time); // RETRYING only
    testing_assert_time(claim->create_time, TESTING_WALL_MS - 10000);
    testing_assert_time(claim->update_time, TESTING_WALL_MS - 1000);
    ck_assert_ptr_null(claim->complete_time); // not final
    testing_assert_time(claim->expire_time, TESTING_WALL_MS + 60000);
    testing_assert_time(claim->event_time, TESTING_WALL_MS - 20000);
    testing_assert_data(claim->fingerprint, "\xfe\xff");
    testing_assert_data(claim->payload_ref, "topic/3/99");
    testing_assert_data(claim->reason, "because");
    ck_assert_uint_eq(claim->reopen_count, 3);
    char key[IDENTITY_EFFECT_KEY_CHARS + 1];
    identity_effect_key(&op.identity, 3, key);
    testing_assert_data(claim->effect_key, key);
    testing_free(get);
}
END_TEST

START_TEST(attempts_are_shown_oldest_first_with_the_running_one) {
    struct engine_op op = full_op(CLAIM_PROCESSING);
    Claimd__V1__GetClaimResponse *get = encode(&op);
    const Claimd__V1__Claim *claim = get->claim;
    ck_assert_uint_eq(claim->n_attempts, LIMIT_ATTEMPTS_KEPT);
    for (size_t i = 0; i < LIMIT_ATTEMPTS_KEPT; i++) {
        ck_assert_uint_eq(claim->attempts[i]->attempt, 5 + i);
    }
    testing_assert_data(claim->attempts[0]->owner, "first");
    testing_assert_time(claim->attempts[0]->begin_time, TESTING_WALL_MS - 9000);
    testing_assert_time(claim->attempts[0]->end_time, TESTING_WALL_MS - 8000);
    ck_assert_int_eq(claim->attempts[0]->end, CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_FAILED);
    testing_assert_data(claim->attempts[0]->error, "boom");
    const Claimd__V1__Attempt *running = claim->attempts[LIMIT_ATTEMPTS_KEPT - 1];
    testing_assert_data(running->owner, "second");
    testing_assert_time(running->begin_time, TESTING_WALL_MS - 2000);
    ck_assert_ptr_null(running->end_time);
    ck_assert_int_eq(running->end, CLAIMD__V1__ATTEMPT_END__ATTEMPT_END_UNSPECIFIED);
    testing_free(get);
}
END_TEST

START_TEST(a_registered_claim_has_hardly_anything) {
    struct engine_op op = testing_op(CLAIM_RECEIVED);
    struct claim_record *rec = &op.decision.record;
    *rec = (struct claim_record){
        .state = CLAIM_RECEIVED, .created_at = {TESTING_WALL_MS}, .updated_at = {TESTING_WALL_MS}};
    Claimd__V1__GetClaimResponse *get = encode(&op);
    const Claimd__V1__Claim *claim = get->claim;
    ck_assert_uint_eq(claim->n_attempts, 0);
    ck_assert_uint_eq(claim->owner.len, 0);
    ck_assert_ptr_null(claim->lease);
    ck_assert_ptr_null(claim->last_error);
    ck_assert_ptr_null(claim->expire_time);
    ck_assert_ptr_null(claim->event_time);
    ck_assert_ptr_null(claim->result_info);
    ck_assert_ptr_null(claim->checkpoint_info);
    ck_assert_ptr_null(claim->payload_info);
    testing_free(get);
}
END_TEST

START_TEST(the_lease_is_live_iff_now_is_before_its_end) {
    struct engine_op op = full_op(CLAIM_PROCESSING);
    const struct {
        int64_t left_ms;
        bool lapsed;
    } cases[] = {{1, false}, {0, true}, {-1, true}};
    for (size_t i = 0; i < 3; i++) {
        op.decision.record.lease_expires_at.ms = TESTING_NOW_MS + cases[i].left_ms;
        Claimd__V1__GetClaimResponse *get = encode(&op);
        ck_assert_int_eq(get->claim->lapsed, cases[i].lapsed);
        testing_assert_time(get->claim->lease->expire_time, TESTING_WALL_MS + cases[i].left_ms);
        testing_assert_duration(get->claim->lease->remaining, i == 0 ? 1 : 0);
        testing_free(get);
    }
}
END_TEST

START_TEST(each_state_has_its_times) {
    for (int state = CLAIM_RECEIVED; state <= CLAIM_DISCARDED; state++) {
        struct engine_op op = full_op((enum claim_state)state);
        Claimd__V1__GetClaimResponse *get = encode(&op);
        ck_assert_int_eq((int)get->claim->state, state);
        ck_assert_int_eq(get->claim->lease != NULL, state == CLAIM_PROCESSING);
        ck_assert_int_eq(get->claim->next_attempt_time != NULL, state == CLAIM_RETRYING);
        bool final =
            state == CLAIM_SUCCEEDED || state == CLAIM_REJECTED || state == CLAIM_DISCARDED;
        ck_assert_int_eq(get->claim->complete_time != NULL, final);
        testing_free(get);
    }
}
END_TEST

START_TEST(bodies_come_only_when_asked_for) {
    struct engine_op op = full_op(CLAIM_PROCESSING);
    Claimd__V1__GetClaimResponse *get = encode(&op);
    const Claimd__V1__Claim *claim = get->claim;
    ck_assert_int_eq(claim->optional_result_case, 0);
    ck_assert_int_eq(claim->optional_checkpoint_case, 0);
    ck_assert_int_eq(claim->optional_payload_case, 0);
    ck_assert_uint_eq(claim->result_info->size_bytes, 4);
    ck_assert_uint_eq(claim->result_info->sha256.len, DIGEST_BYTES);
    ck_assert_uint_eq(claim->result_info->sha256.data[31], 0xDD);
    ck_assert_uint_eq(claim->checkpoint_info->size_bytes, 8);
    ck_assert_uint_eq(claim->checkpoint_info->sha256.len, 0);
    ck_assert_uint_eq(claim->payload_info->size_bytes, 2);
    testing_free(get);

    op.include_bodies = true;
    op.decision.record.payload = (struct claim_body){.present = true}; // empty is not absent
    get = encode(&op);
    claim = get->claim;
    ck_assert_int_eq(claim->optional_result_case, CLAIMD__V1__CLAIM__OPTIONAL_RESULT_RESULT);
    testing_assert_data(claim->result, "paid");
    ck_assert_int_eq(claim->optional_checkpoint_case,
                     CLAIMD__V1__CLAIM__OPTIONAL_CHECKPOINT_CHECKPOINT);
    testing_assert_data(claim->checkpoint, "half way");
    ck_assert_int_eq(claim->optional_payload_case, CLAIMD__V1__CLAIM__OPTIONAL_PAYLOAD_PAYLOAD);
    ck_assert_uint_eq(claim->payload.len, 0);
    testing_free(get);
}
END_TEST

START_TEST(a_body_in_the_store_or_let_go_is_described) {
    struct engine_op op = full_op(CLAIM_SUCCEEDED);
    op.decision.record.result =
        (struct claim_body){.present = true, .in_blob = true, .size_bytes = 900};
    Claimd__V1__GetClaimResponse *get = encode(&op); // not asked for, so not loaded
    ck_assert_uint_eq(get->claim->result_info->size_bytes, 900);
    ck_assert(!get->claim->result_info->expired);
    testing_free(get);

    op.include_bodies = true;
    op.decision.record.result =
        (struct claim_body){.present = true, .expired = true, .size_bytes = 900};
    get = encode(&op);
    ck_assert_int_eq(get->claim->optional_result_case, 0);
    ck_assert_uint_eq(get->claim->result_info->size_bytes, 900);
    ck_assert(get->claim->result_info->expired);
    ck_assert_uint_eq(get->claim->result_info->sha256.len, DIGEST_BYTES); // outlives the body
    testing_free(get);
}
END_TEST

// The token is the credential of the attempt: it must not be in the bytes in any form.
START_TEST(the_token_is_not_shown) {
    struct engine_op op = full_op(CLAIM_PROCESSING);
    op.include_bodies = true;
    op.decision.record.token = UINT64_C(0x123456789ABCDE);
    struct rpc_reply reply;
    rpc_encode_get_claim(&op, &reply);
    uint8_t packed[8192];
    ck_assert_uint_le(reply.len, sizeof packed);
    rpc_encode_pack(&reply, packed);
    uint8_t varint[10];
    size_t len = 0;
    for (uint64_t rest = op.decision.record.token; rest != 0; rest >>= 7) {
        varint[len++] = (uint8_t)((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
    }
    ck_assert_ptr_null(memmem(packed, reply.len, varint, len));
    const uint64_t token = op.decision.record.token;
    ck_assert_ptr_null(memmem(packed, reply.len, &token, 7));
}
END_TEST

START_TEST(the_scratch_has_room_for_the_largest_claim) {
    struct engine_op op = full_op(CLAIM_PROCESSING);
    op.include_bodies = true;
    struct rpc_reply reply;
    rpc_encode_get_claim(&op, &reply);
    // No state has all of lease, next_attempt_time and complete_time; leave room for those, too.
    ck_assert_uint_le(reply.scratch_used + 3 * 64, sizeof reply.scratch);
}
END_TEST

START_TEST(prune_tells_its_progress) {
    struct rpc_reply reply;
    struct prune_progress progress = {.scanned_count = UINT64_MAX, .removed_count = 7};
    rpc_encode_prune(&progress, &reply);
    Claimd__V1__PruneResponse *prune = testing_round_trip(&reply);
    ck_assert_uint_eq(prune->scanned_count, UINT64_MAX);
    ck_assert_uint_eq(prune->removed_count, 7);
    ck_assert(!prune->done);
    testing_free(prune);
    progress.done = true;
    rpc_encode_prune(&progress, &reply);
    prune = testing_round_trip(&reply);
    ck_assert(prune->done);
    testing_free(prune);
}
END_TEST

START_TEST(status_has_every_state_and_outcome) {
    struct engine_stats stats = {
        .store_time = {123456},
        .position = UINT64_MAX,
        .replays_claimed = 5,
        .disk_reserve_reached = true,
    };
    for (size_t i = 0; i < CLAIM_STATES; i++) stats.records_by_state[i] = 10 + i;
    for (size_t i = 0; i < CLAIM_OUTCOMES; i++) stats.begins_by_outcome[i] = 100 + i;
    struct rpc_server_info info = {
        .version = "1.2.3",
        .started_at = {TESTING_WALL_MS},
        .durability_relaxed = true,
        .policy = &policy_default,
    };
    struct rpc_reply reply;
    rpc_encode_get_status(&info, &stats, &reply);
    Claimd__V1__GetStatusResponse *status = testing_round_trip(&reply);
    testing_assert_data(status->version, "1.2.3");
    testing_assert_time(status->start_time, TESTING_WALL_MS);
    ck_assert(status->durability_relaxed);
    ck_assert_uint_eq(status->applied_position, UINT64_MAX);
    testing_assert_duration(status->store_time, 123456);
    ck_assert_uint_eq(status->n_states, 8);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq((int)status->states[i]->state, (int)i + 1);
        ck_assert_uint_eq(status->states[i]->count, 10 + i);
    }
    ck_assert_uint_eq(status->n_begins, 7);
    for (size_t i = 0; i < 7; i++) {
        ck_assert_int_eq((int)status->begins[i]->outcome, (int)i + 1);
        ck_assert_uint_eq(status->begins[i]->count, 101 + i);
    }
    ck_assert_uint_eq(status->replay_claimed_count, 5);
    testing_assert_duration(status->retention, policy_default.retention_ms);
    testing_assert_duration(status->redelivery_window, policy_default.redelivery_window_ms);
    ck_assert(status->disk_reserve_reached);
    testing_free(status);
}
END_TEST

START_TEST(a_body_that_was_not_loaded_is_a_bug) {
    struct engine_op op = full_op(CLAIM_SUCCEEDED);
    op.include_bodies = true;
    op.decision.record.result =
        (struct claim_body){.present = true, .in_blob = true, .size_bytes = 900};
    (void)encode(&op); // aborts
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        a_full_claim_is_shown,
        attempts_are_shown_oldest_first_with_the_running_one,
        a_registered_claim_has_hardly_anything,
        the_lease_is_live_iff_now_is_before_its_end,
        each_state_has_its_times,
        bodies_come_only_when_asked_for,
        a_body_in_the_store_or_let_go_is_described,
        the_token_is_not_shown,
        the_scratch_has_room_for_the_largest_claim,
        prune_tells_its_progress,
        status_has_every_state_and_outcome,
    };
    return testing_run("rpc_encode_operations", tests, sizeof tests / sizeof tests[0],
                       a_body_that_was_not_loaded_is_a_bug);
}
