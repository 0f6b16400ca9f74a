#include "rpc/rpc_encode.h"

#include "base/check.h"
#include "rpc/rpc_reply.h"

// --- Begin ---------------------------------------------------------------------------------------

static Claimd__V1__Takeover *put_takeover(struct rpc_reply *reply, const struct claim_record *rec) {
    if (rec->attempt_count <= 1) return NULL;
    Claimd__V1__Takeover *takeover = rpc_reply_message(reply, &claimd__v1__takeover__descriptor);
    if (rec->earlier_count > 0) {
        const struct claim_attempt *before = &rec->earlier[rec->earlier_count - 1];
        takeover->previous_owner = rpc_reply_bytes(before->owner);
        takeover->previous_end = (Claimd__V1__AttemptEnd)before->end;
    }
    takeover->last_error = rpc_reply_error(reply, &rec->last_error);
    if (rpc_reply_has_body(&rec->checkpoint)) {
        takeover->optional_checkpoint_case = CLAIMD__V1__TAKEOVER__OPTIONAL_CHECKPOINT_CHECKPOINT;
        takeover->checkpoint = rpc_reply_bytes(rec->checkpoint.data);
    }
    return takeover;
}

static void put_claimed(Claimd__V1__BeginResponse *begin, struct rpc_reply *reply,
                        const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    begin->token = rec->token;
    begin->lease = rpc_reply_lease(reply, op);
    begin->effect_key = rpc_reply_effect_key(reply, op);
    begin->takeover = put_takeover(reply, rec);
}

static void put_duplicate(Claimd__V1__BeginResponse *begin, struct rpc_reply *reply,
                          const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    begin->complete_time = rpc_reply_complete_time(reply, op);
    begin->expire_time = rpc_reply_expire_time(reply, op);
    if (rec->state != CLAIM_SUCCEEDED) begin->reason = rpc_reply_bytes(rec->reason);
    begin->result_expired = rec->result.present && rec->result.expired;
    begin->result_omitted = rec->result.present && !rec->result.expired && rec->result.in_blob;
    if (!begin->result_omitted && rpc_reply_has_body(&rec->result)) {
        begin->optional_result_case = CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_RESULT_RESULT;
        begin->result = rpc_reply_bytes(rec->result.data);
    }
}

static void put_unknown(Claimd__V1__BeginResponse *begin, struct rpc_reply *reply,
                        const struct engine_op *op) {
    const struct claim_record *rec = &op->decision.record;
    begin->last_error = rpc_reply_error(reply, &rec->last_error);
    if (rpc_reply_has_body(&rec->checkpoint)) {
        begin->optional_checkpoint_case =
            CLAIMD__V1__BEGIN_RESPONSE__OPTIONAL_CHECKPOINT_CHECKPOINT;
        begin->checkpoint = rpc_reply_bytes(rec->checkpoint.data);
    }
}

void rpc_encode_begin(const struct engine_op *op, struct rpc_reply *reply) {
    const struct claim_record *rec = &op->decision.record;
    rpc_reply_start(reply);
    Claimd__V1__BeginResponse *begin =
        rpc_reply_message(reply, &claimd__v1__begin_response__descriptor);
    begin->state = rpc_reply_state(op);
    begin->outcome = (Claimd__V1__BeginOutcome)op->decision.outcome;
    begin->attempt = rec->attempt_count;
    switch (op->decision.outcome) {
    case CLAIM_CLAIMED:
        put_claimed(begin, reply, op);
        break;
    case CLAIM_DUPLICATE:
        put_duplicate(begin, reply, op);
        break;
    case CLAIM_IN_FLIGHT:
        begin->owner = rpc_reply_bytes(rec->attempt.owner);
        begin->lease = rpc_reply_lease(reply, op);
        begin->retry_after = rpc_reply_remaining(reply, op, rec->lease_expires_at, 1);
        break;
    case CLAIM_NOT_YET:
        begin->next_attempt_time = rpc_reply_deadline(reply, op, rec->next_attempt_at);
        begin->retry_after = rpc_reply_remaining(reply, op, rec->next_attempt_at, 1);
        begin->last_error = rpc_reply_error(reply, &rec->last_error);
        break;
    case CLAIM_OUTCOME_UNKNOWN:
        put_unknown(begin, reply, op);
        break;
    case CLAIM_DEAD_LETTER:
        begin->last_error = rpc_reply_error(reply, &rec->last_error);
        break;
    case CLAIM_OUT_OF_ORDER: // nothing more to tell until there is ordering
        break;
    case CLAIM_OUTCOME_NONE:
        CHECK(op->decision.outcome != CLAIM_OUTCOME_NONE);
    }
    rpc_reply_finish(reply, &begin->base);
}

// --- the other commands --------------------------------------------------------------------------

void rpc_encode_complete(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__CompleteResponse *complete =
        rpc_reply_message(reply, &claimd__v1__complete_response__descriptor);
    complete->state = rpc_reply_state(op);
    complete->replayed = op->decision.replayed;
    complete->complete_time = rpc_reply_complete_time(reply, op);
    complete->expire_time = rpc_reply_expire_time(reply, op);
    rpc_reply_finish(reply, &complete->base);
}

void rpc_encode_reject(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__RejectResponse *reject =
        rpc_reply_message(reply, &claimd__v1__reject_response__descriptor);
    reject->state = rpc_reply_state(op);
    reject->replayed = op->decision.replayed;
    reject->complete_time = rpc_reply_complete_time(reply, op);
    reject->expire_time = rpc_reply_expire_time(reply, op);
    rpc_reply_finish(reply, &reject->base);
}

void rpc_encode_fail(const struct engine_op *op, struct rpc_reply *reply) {
    const struct claim_record *rec = &op->decision.record;
    rpc_reply_start(reply);
    Claimd__V1__FailResponse *fail =
        rpc_reply_message(reply, &claimd__v1__fail_response__descriptor);
    fail->state = rpc_reply_state(op);
    fail->replayed = op->decision.replayed;
    if (rec->state == CLAIM_RETRYING) {
        fail->next_attempt_time = rpc_reply_deadline(reply, op, rec->next_attempt_at);
        fail->retry_after = rpc_reply_remaining(reply, op, rec->next_attempt_at, 0);
    }
    rpc_reply_finish(reply, &fail->base);
}

void rpc_encode_renew(const struct engine_op *op, struct rpc_reply *reply) {
    CHECK(rpc_reply_state(op) == CLAIMD__V1__CLAIM_STATE__CLAIM_STATE_PROCESSING);
    rpc_reply_start(reply);
    Claimd__V1__RenewResponse *renew =
        rpc_reply_message(reply, &claimd__v1__renew_response__descriptor);
    renew->lease = rpc_reply_lease(reply, op);
    renew->lapsed = op->decision.renewed_lapsed;
    rpc_reply_finish(reply, &renew->base);
}

void rpc_encode_release(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__ReleaseResponse *release =
        rpc_reply_message(reply, &claimd__v1__release_response__descriptor);
    release->state = rpc_reply_state(op);
    release->replayed = op->decision.replayed;
    rpc_reply_finish(reply, &release->base);
}

void rpc_encode_register(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__RegisterResponse *reg =
        rpc_reply_message(reply, &claimd__v1__register_response__descriptor);
    reg->created = op->decision.created;
    reg->state = rpc_reply_state(op);
    rpc_reply_finish(reply, &reg->base);
}

void rpc_encode_cancel(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__CancelResponse *cancel =
        rpc_reply_message(reply, &claimd__v1__cancel_response__descriptor);
    cancel->state = rpc_reply_state(op);
    cancel->replayed = op->decision.replayed;
    rpc_reply_finish(reply, &cancel->base);
}

void rpc_encode_resolve(const struct engine_op *op, struct rpc_reply *reply) {
    rpc_reply_start(reply);
    Claimd__V1__ResolveResponse *resolve =
        rpc_reply_message(reply, &claimd__v1__resolve_response__descriptor);
    resolve->state = rpc_reply_state(op);
    rpc_reply_finish(reply, &resolve->base);
}
