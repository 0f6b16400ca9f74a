#include "rpc/rpc_encode.h"

#include "base/check.h"
#include "claimd/v1/operations.pb-c.h"
#include "rpc/rpc_reply.h"

// --- GetClaim ------------------------------------------------------------------------------------

static Claimd__V1__Attempt *put_attempt(struct rpc_reply *reply, const struct claim_attempt *from) {
    Claimd__V1__Attempt *attempt = rpc_reply_message(reply, &claimd__v1__attempt__descriptor);
    attempt->attempt = from->number;
    attempt->owner = rpc_reply_bytes(from->owner);
    attempt->begin_time = rpc_reply_time(reply, from->begun_at);
    if (from->end != CLAIM_END_NONE) attempt->end_time = rpc_reply_time(reply, from->ended_at);
    attempt->end = (Claimd__V1__AttemptEnd)from->end;
    attempt->error = rpc_reply_bytes(from->error);
    return attempt;
}

// Those before, and then the running or last one.
static void put_attempts(Claimd__V1__Claim *claim, struct rpc_reply *reply,
                         const struct claim_record *rec) {
    if (rec->attempt_count == 0) return;
    CHECK(rec->earlier_count < LIMIT_ATTEMPTS_KEPT);
    claim->n_attempts = rec->earlier_count + 1;
    claim->attempts = rpc_reply_alloc(reply, claim->n_attempts * sizeof(Claimd__V1__Attempt *));
    for (size_t i = 0; i < rec->earlier_count; i++) {
        claim->attempts[i] = put_attempt(reply, &rec->earlier[i]);
    }
    claim->attempts[rec->earlier_count] = put_attempt(reply, &rec->attempt);
}

static Claimd__V1__BodyInfo *put_body_info(struct rpc_reply *reply, const struct claim_body *body,
                                           const struct digest *digest) {
    if (!body->present) return NULL;
    Claimd__V1__BodyInfo *info = rpc_reply_message(reply, &claimd__v1__body_info__descriptor);
    info->size_bytes = body->size_bytes;
    info->expired = body->expired;
    if (digest != NULL) info->sha256 = rpc_reply_bytes((struct bytes){digest->data, DIGEST_BYTES});
    return info;
}

static void put_bodies(Claimd__V1__Claim *claim, const struct claim_record *rec) {
    if (rpc_reply_has_body(&rec->result)) {
        claim->optional_result_case = CLAIMD__V1__CLAIM__OPTIONAL_RESULT_RESULT;
        claim->result = rpc_reply_bytes(rec->result.data);
    }
    if (rpc_reply_has_body(&rec->checkpoint)) {
        claim->optional_checkpoint_case = CLAIMD__V1__CLAIM__OPTIONAL_CHECKPOINT_CHECKPOINT;
        claim->checkpoint = rpc_reply_bytes(rec->checkpoint.data);
    }
    if (rpc_reply_has_body(&rec->payload)) {
        claim->optional_payload_case = CLAIMD__V1__CLAIM__OPTIONAL_PAYLOAD_PAYLOAD;
        claim->payload = rpc_reply_bytes(rec->payload.data);
    }
}

static void put_claim_times(Claimd__V1__Claim *claim, struct rpc_reply *reply,
                            const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    if (rec->state == CLAIM_RETRYING) {
        claim->next_attempt_time = rpc_reply_deadline(reply, op, rec->next_attempt_at);
    }
    claim->create_time = rpc_reply_time(reply, rec->created_at);
    claim->update_time = rpc_reply_time(reply, rec->updated_at);
    claim->complete_time = rpc_reply_complete_time(reply, op);
    claim->expire_time = rpc_reply_expire_time(reply, op);
    if (rec->event_time.present) claim->event_time = rpc_reply_time(reply, rec->event_time.at);
}

static Claimd__V1__RetryCounts *put_retries(struct rpc_reply *reply,
                                            const struct claim_record *rec) {
    Claimd__V1__RetryCounts *retries =
        rpc_reply_message(reply, &claimd__v1__retry_counts__descriptor);
    retries->transient = rec->retry_counts[RETRY_TRANSIENT];
    retries->unclassified = rec->retry_counts[RETRY_UNCLASSIFIED];
    retries->poison = rec->retry_counts[RETRY_POISON];
    retries->lapsed = rec->retry_counts[RETRY_LAPSED];
    return retries;
}

// Everything but the token, which is the holder's credential.
static Claimd__V1__Claim *put_claim(struct rpc_reply *reply, const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    Claimd__V1__Claim *claim = rpc_reply_message(reply, &claimd__v1__claim__descriptor);
    claim->consumer = rpc_reply_bytes(op->identity.consumer);
    claim->message_id = rpc_reply_bytes(op->identity.message_id);
    claim->state = rpc_reply_state(op);
    claim->attempt = rec->attempt_count;
    claim->lapsed = rec->state == CLAIM_PROCESSING && op->now.ms >= rec->lease_expires_at.ms;
    claim->retries = put_retries(reply, rec);
    if (rec->attempt_count > 0) claim->owner = rpc_reply_bytes(rec->attempt.owner);
    claim->lease = rpc_reply_lease(reply, op);
    claim->last_error = rpc_reply_error(reply, &rec->last_error);
    put_claim_times(claim, reply, op);
    claim->fingerprint = rpc_reply_bytes(rec->fingerprint);
    claim->payload_ref = rpc_reply_bytes(rec->payload_ref);
    claim->reason = rpc_reply_bytes(rec->reason);
    claim->reopen_count = rec->reopen_count;
    claim->effect_key = rpc_reply_effect_key(reply, op);
    put_attempts(claim, reply, rec);
    claim->result_info = put_body_info(reply, &rec->result, &rec->result_digest);
    claim->checkpoint_info = put_body_info(reply, &rec->checkpoint, NULL);
    claim->payload_info = put_body_info(reply, &rec->payload, NULL);
    if (op->include_bodies) put_bodies(claim, rec);
    return claim;
}

void rpc_encode_get_claim(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__GetClaimResponse *get =
        rpc_reply_message(reply, &claimd__v1__get_claim_response__descriptor);
    get->claim = put_claim(reply, op);
    rpc_reply_finish(reply, &get->base);
}

// --- Prune and GetStatus -------------------------------------------------------------------------

void rpc_encode_prune(const struct prune_progress *progress, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__PruneResponse *prune =
        rpc_reply_message(reply, &claimd__v1__prune_response__descriptor);
    prune->scanned_count = progress->scanned_count;
    prune->removed_count = progress->removed_count;
    prune->done = progress->done;
    rpc_reply_finish(reply, &prune->base);
}

static void put_counts(Claimd__V1__GetStatusResponse *status, struct rpc_reply *reply,
                       const struct engine_stats *stats) {
    status->n_states = CLAIM_STATES;
    status->states = rpc_reply_alloc(reply, CLAIM_STATES * sizeof(Claimd__V1__StateCount *));
    for (size_t i = 0; i < CLAIM_STATES; i++) {
        Claimd__V1__StateCount *count =
            rpc_reply_message(reply, &claimd__v1__state_count__descriptor);
        count->state = (Claimd__V1__ClaimState)(i + 1);
        count->count = stats->records_by_state[i];
        status->states[i] = count;
    }
    status->n_begins = CLAIM_OUTCOMES - 1; // CLAIM_OUTCOME_NONE is not one
    status->begins = rpc_reply_alloc(reply, status->n_begins * sizeof(Claimd__V1__OutcomeCount *));
    for (size_t i = 0; i < status->n_begins; i++) {
        Claimd__V1__OutcomeCount *count =
            rpc_reply_message(reply, &claimd__v1__outcome_count__descriptor);
        count->outcome = (Claimd__V1__BeginOutcome)(i + 1);
        count->count = stats->begins_by_outcome[i + 1];
        status->begins[i] = count;
    }
}

void rpc_encode_get_status(const struct rpc_server_info *info, const struct engine_stats *stats,
                           struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__GetStatusResponse *status =
        rpc_reply_message(reply, &claimd__v1__get_status_response__descriptor);
    status->version = rpc_reply_bytes(bytes_of(info->version));
    status->start_time = rpc_reply_time(reply, info->started_at);
    status->durability_relaxed = info->durability_relaxed;
    status->applied_position = stats->position;
    status->store_time = rpc_reply_duration(reply, stats->store_time.ms, 0);
    put_counts(status, reply, stats);
    status->replay_claimed_count = stats->replays_claimed;
    status->retention = rpc_reply_duration(reply, info->policy->retention_ms, 0);
    status->redelivery_window = rpc_reply_duration(reply, info->policy->redelivery_window_ms, 0);
    status->disk_reserve_reached = stats->disk_reserve_reached;
    rpc_reply_finish(reply, &status->base);
}
