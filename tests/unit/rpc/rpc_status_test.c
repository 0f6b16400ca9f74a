// Statuses: code, text and details of every error; what they tell, and what they never tell.
#define _GNU_SOURCE // memmem
#include "google/rpc/status.pb-c.h"
#include "unit/rpc/rpc_encode_testing.h"

// The details as a client reads them.
struct details {
    Google__Rpc__Status *status;
    Google__Rpc__ErrorInfo *info;
    Google__Rpc__BadRequest *bad;
    Google__Rpc__RetryInfo *retry;
};

static ProtobufCMessage *read_any(const Google__Protobuf__Any *any, const char *name,
                                  const ProtobufCMessageDescriptor *descriptor) {
    char url[96];
    (void)snprintf(url, sizeof url, "type.googleapis.com/google.rpc.%s", name);
    if (strcmp(any->type_url, url) != 0) return NULL;
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, NULL, any->value.len, any->value.data);
    ck_assert_ptr_nonnull(message);
    return message;
}

static struct details read_details(const struct rpc_status *status) {
    struct details details = {0};
    details.status = google__rpc__status__unpack(NULL, status->details_len, status->details);
    ck_assert_ptr_nonnull(details.status);
    ck_assert_int_eq(details.status->code, status->code);
    ck_assert_str_eq(details.status->message, status->message);
    for (size_t i = 0; i < details.status->n_details; i++) {
        const Google__Protobuf__Any *any = details.status->details[i];
        ProtobufCMessage *info = read_any(any, "ErrorInfo", &google__rpc__error_info__descriptor);
        ProtobufCMessage *bad = read_any(any, "BadRequest", &google__rpc__bad_request__descriptor);
        ProtobufCMessage *retry = read_any(any, "RetryInfo", &google__rpc__retry_info__descriptor);
        ck_assert_msg(info != NULL || bad != NULL || retry != NULL, "unknown %s", any->type_url);
        if (info != NULL) details.info = (Google__Rpc__ErrorInfo *)info;
        if (bad != NULL) details.bad = (Google__Rpc__BadRequest *)bad;
        if (retry != NULL) details.retry = (Google__Rpc__RetryInfo *)retry;
    }
    ck_assert_ptr_nonnull(details.info); // always: without it a client must repeat the request
    ck_assert_str_eq(details.info->domain, "claimd");
    return details;
}

static void free_details(struct details *details) {
    google__rpc__status__free_unpacked(details->status, NULL);
    google__rpc__error_info__free_unpacked(details->info, NULL);
    if (details->bad != NULL) google__rpc__bad_request__free_unpacked(details->bad, NULL);
    if (details->retry != NULL) google__rpc__retry_info__free_unpacked(details->retry, NULL);
}

static const char *metadata(const struct details *details, const char *key) {
    for (size_t i = 0; i < details->info->n_metadata; i++) {
        if (strcmp(details->info->metadata[i]->key, key) == 0) {
            return details->info->metadata[i]->value;
        }
    }
    return NULL;
}

static struct rpc_status make(const struct rpc_status_cause *cause) {
    struct rpc_status status;
    memset(&status, 0xAA, sizeof status);
    rpc_status_make(cause, &status);
    ck_assert_uint_lt(strlen(status.message), 1024);
    ck_assert_uint_gt(strlen(status.message), 10);
    for (const char *at = status.message; *at != '\0'; at++) {
        ck_assert_msg(*at >= 0x20 && *at < 0x7F, "not ASCII: %s", status.message);
    }
    return status;
}

START_TEST(every_error_has_its_code_and_reason) {
    static const enum err all[] = {
#define ERR_ITEM(name, reason, grpc, retry) name,
        ERR_TABLE(ERR_ITEM)
#undef ERR_ITEM
    };
    for (size_t i = 1; i < sizeof all / sizeof all[0]; i++) {
        struct rpc_status status = make(&(struct rpc_status_cause){.err = all[i]});
        struct details details = read_details(&status);
        ck_assert_int_eq(status.code, error_grpc_code(all[i]));
        ck_assert_str_eq(details.info->reason, error_reason(all[i]));
        ck_assert_uint_eq(details.info->n_metadata, 0);
        ck_assert_ptr_null(details.bad);
        // RESOURCE_EXHAUSTED and UNAVAILABLE that pass
        bool waits = error_is_retryable(all[i]) && (status.code == 8 || status.code == 14);
        ck_assert_msg((details.retry != NULL) == waits, "%s", error_reason(all[i]));
        free_details(&details);
    }
}
END_TEST

START_TEST(a_retry_delay_may_be_given) {
    struct rpc_status_cause cause = {.err = ERR_QUEUE_FULL, .retry_delay = {true, 1500}};
    struct rpc_status status = make(&cause);
    struct details details = read_details(&status);
    testing_assert_duration(details.retry->retry_delay, 1500);
    free_details(&details);

    cause.retry_delay.ms = 0; // never to be repeated at once
    status = make(&cause);
    details = read_details(&status);
    testing_assert_duration(details.retry->retry_delay, 1);
    free_details(&details);

    cause = (struct rpc_status_cause){.err = ERR_NOT_FOUND, .retry_delay = {true, 1500}};
    status = make(&cause);
    details = read_details(&status);
    ck_assert_ptr_null(details.retry); // waiting does not help
    free_details(&details);
}
END_TEST

START_TEST(a_refused_argument_is_named_with_its_limit) {
    struct rpc_fault fault;
    rpc_fault_set(&fault, "owner", "256 bytes", "owner has %d bytes; the most is 256", 300);
    struct rpc_status status =
        make(&(struct rpc_status_cause){.err = ERR_INVALID_ARGUMENT, .fault = &fault});
    struct details details = read_details(&status);
    ck_assert_int_eq(status.code, 3);
    ck_assert_str_eq(status.message, "owner has 300 bytes; the most is 256");
    ck_assert_str_eq(metadata(&details, "field"), "owner");
    ck_assert_str_eq(metadata(&details, "limit"), "256 bytes");
    ck_assert_uint_eq(details.bad->n_field_violations, 1);
    ck_assert_str_eq(details.bad->field_violations[0]->field, "owner");
    ck_assert_str_eq(details.bad->field_violations[0]->description,
                     "owner has 300 bytes; the most is 256");
    free_details(&details);
}
END_TEST

START_TEST(a_fault_without_a_limit_has_none) {
    struct rpc_fault fault;
    rpc_fault_set(&fault, "request", NULL, "not a message at all");
    struct rpc_status status =
        make(&(struct rpc_status_cause){.err = ERR_INVALID_ARGUMENT, .fault = &fault});
    struct details details = read_details(&status);
    ck_assert_str_eq(metadata(&details, "field"), "request");
    ck_assert_ptr_null(metadata(&details, "limit"));
    free_details(&details);
}
END_TEST

// Every buffer filled to its end.
START_TEST(the_longest_fault_fits) {
    char text[1024];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct rpc_fault fault;
    rpc_fault_set(&fault, text, text, "%s", text);
    struct rpc_status status =
        make(&(struct rpc_status_cause){.err = ERR_INVALID_ARGUMENT, .fault = &fault});
    struct details details = read_details(&status);
    ck_assert_uint_eq(strlen(details.bad->field_violations[0]->description), sizeof fault.text - 1);
    ck_assert_uint_eq(strlen(metadata(&details, "field")), sizeof fault.field - 1);
    ck_assert_uint_eq(strlen(metadata(&details, "limit")), sizeof fault.limit - 1);
    free_details(&details);
}
END_TEST

START_TEST(a_stale_token_tells_the_state) {
    for (int state = CLAIM_RECEIVED; state <= CLAIM_DISCARDED; state++) {
        struct engine_op op = testing_op((enum claim_state)state);
        op.err = ERR_STALE_TOKEN;
        op.command.verb = CLAIM_COMPLETE;
        op.command.token = 17;
        struct rpc_status status = make(&(struct rpc_status_cause){.err = op.err, .op = &op});
        struct details details = read_details(&status);
        ck_assert_int_eq(status.code, 9);
        ck_assert_str_eq(details.info->reason, "STALE_TOKEN");
        ck_assert_str_eq(metadata(&details, "state"), claim_state_name(op.decision.record.state));
        ck_assert_ptr_nonnull(strstr(status.message, "token 17 "));
        ck_assert_ptr_nonnull(strstr(status.message, claim_state_name(op.decision.record.state)));
        free_details(&details);
    }
}
END_TEST

START_TEST(a_wrong_state_tells_the_verb_and_the_state) {
    const struct {
        enum claim_verb verb;
        const char *name;
    } verbs[] = {
        {CLAIM_BEGIN, "Begin"},       {CLAIM_COMPLETE, "Complete"},  {CLAIM_REJECT, "Reject"},
        {CLAIM_FAIL, "Fail"},         {CLAIM_RENEW, "Renew"},        {CLAIM_RELEASE, "Release"},
        {CLAIM_REGISTER, "Register"}, {CLAIM_CANCEL, "Cancel"},      {CLAIM_RESOLVE, "Resolve"},
        {CLAIM_GET, "GetClaim"},      {CLAIM_SETTLE, "the request"}, {CLAIM_PRUNE, "the request"},
    };
    _Static_assert(sizeof verbs / sizeof verbs[0] == CLAIM_VERBS, "every verb");
    for (size_t i = 0; i < CLAIM_VERBS; i++) {
        struct engine_op op = testing_op(CLAIM_UNKNOWN);
        op.err = ERR_WRONG_STATE;
        op.command.verb = verbs[i].verb;
        struct rpc_status status = make(&(struct rpc_status_cause){.err = op.err, .op = &op});
        struct details details = read_details(&status);
        ck_assert_int_eq(status.code, 9);
        ck_assert_str_eq(details.info->reason, "WRONG_STATE");
        ck_assert_str_eq(metadata(&details, "state"), "UNKNOWN");
        ck_assert_ptr_nonnull(strstr(status.message, "the claim is UNKNOWN"));
        ck_assert_int_eq(strncmp(status.message, verbs[i].name, strlen(verbs[i].name)), 0);
        free_details(&details);
    }
}
END_TEST

START_TEST(a_state_is_told_only_if_there_is_a_record) {
    struct engine_op op = testing_op(CLAIM_SUCCEEDED);
    op.err = ERR_STALE_TOKEN;
    op.decision.exists = false;
    struct rpc_status status = make(&(struct rpc_status_cause){.err = op.err, .op = &op});
    struct details details = read_details(&status);
    ck_assert_ptr_null(metadata(&details, "state"));
    free_details(&details);
}
END_TEST

// Whoever holds another token must not learn the valid one from the refusal.
START_TEST(the_current_token_is_never_told) {
    const enum err errs[] = {ERR_STALE_TOKEN,          ERR_WRONG_STATE, ERR_MAX_HOLD,
                             ERR_FINGERPRINT_MISMATCH, ERR_NOT_FOUND,   ERR_INVALID_ARGUMENT};
    for (size_t i = 0; i < sizeof errs / sizeof errs[0]; i++) {
        for (int verb = 0; verb < CLAIM_VERBS; verb++) {
            struct engine_op op = testing_op(CLAIM_PROCESSING);
            op.err = errs[i];
            op.command.verb = (enum claim_verb)verb;
            op.command.token = 17;
            struct rpc_status status = make(
                &(struct rpc_status_cause){.err = op.err, .op = &op, .policy = &policy_default});
            ck_assert_ptr_null(strstr(status.message, "987654321"));
            ck_assert_ptr_null(memmem(status.details, status.details_len, "987654321", 9));
        }
    }
}
END_TEST

START_TEST(a_fingerprint_mismatch_tells_nothing_of_the_claim) {
    struct engine_op op = testing_op(CLAIM_SUCCEEDED);
    op.err = ERR_FINGERPRINT_MISMATCH;
    op.command.verb = CLAIM_BEGIN;
    op.decision.record.result = testing_body("SECRET-RESULT");
    op.decision.record.reason = bytes_of("SECRET-REASON");
    op.decision.record.fingerprint = bytes_of("SECRET-PRINT");
    op.decision.record.last_error = testing_error(FAIL_TRANSIENT, "SECRET-ERROR");
    struct rpc_status status =
        make(&(struct rpc_status_cause){.err = op.err, .op = &op, .policy = &policy_default});
    struct details details = read_details(&status);
    ck_assert_int_eq(status.code, 9);
    ck_assert_str_eq(details.info->reason, "FINGERPRINT_MISMATCH");
    ck_assert_uint_eq(details.info->n_metadata, 0);
    ck_assert_ptr_null(memmem(status.details, status.details_len, "SECRET", 6));
    ck_assert_ptr_null(memmem(status.details, status.details_len, "SUCCEEDED", 9));
    free_details(&details);
}
END_TEST

START_TEST(a_refusal_by_the_policy_names_the_field) {
    struct engine_op op = testing_op(CLAIM_PROCESSING);
    op.err = ERR_INVALID_ARGUMENT;
    op.command.verb = CLAIM_COMPLETE;
    op.command.result.size_bytes = 70000;
    struct rpc_status_cause cause = {.err = op.err, .op = &op, .policy = &policy_default};
    struct rpc_status status = make(&cause);
    struct details details = read_details(&status);
    ck_assert_str_eq(details.bad->field_violations[0]->field, "result");
    ck_assert_str_eq(metadata(&details, "limit"), "65536 bytes");
    ck_assert_ptr_nonnull(strstr(status.message, "70000"));
    free_details(&details);

    cause.policy = NULL;
    status = make(&cause);
    details = read_details(&status);
    ck_assert_str_eq(metadata(&details, "field"), "result");
    ck_assert_ptr_null(metadata(&details, "limit"));
    free_details(&details);

    op.command.verb = CLAIM_BEGIN;
    status = make(&cause);
    details = read_details(&status);
    ck_assert_str_eq(details.bad->field_violations[0]->field, "fingerprint");
    ck_assert_str_eq(metadata(&details, "limit"), "1 to 64 bytes");
    free_details(&details);
}
END_TEST

START_TEST(a_status_of_no_error_is_a_bug) {
    (void)make(&(struct rpc_status_cause){.err = ERR_OK}); // aborts
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        every_error_has_its_code_and_reason,
        a_retry_delay_may_be_given,
        a_refused_argument_is_named_with_its_limit,
        a_fault_without_a_limit_has_none,
        the_longest_fault_fits,
        a_stale_token_tells_the_state,
        a_wrong_state_tells_the_verb_and_the_state,
        a_state_is_told_only_if_there_is_a_record,
        the_current_token_is_never_told,
        a_fingerprint_mismatch_tells_nothing_of_the_claim,
        a_refusal_by_the_policy_names_the_field,
    };
    return testing_run("rpc_status", tests, sizeof tests / sizeof tests[0],
                       a_status_of_no_error_is_a_bug);
}
