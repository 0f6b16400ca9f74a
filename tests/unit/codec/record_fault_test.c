// Every invariant of a record, broken one at a time; every bound, at it and one past it.
#include <check.h>
#include <stddef.h>
#include <stdlib.h>

#include "codec/record_fault.h"

static uint8_t filler[LIMIT_RESULT_BYTES_MAX + 1];

// A record with every part that a state allows.
static struct claim_record full(enum claim_state state) {
    struct claim_record record = {
        .state = state,
        .attempt_count = 9,
        .attempt = {.number = 9, .owner = bytes_of("o"), .end = CLAIM_END_FAILED},
        .earlier = {{.number = 3, .end = CLAIM_END_LAPSED}, {.number = 8, .end = CLAIM_END_FAILED}},
        .earlier_count = 2,
        .has_token = true,
        .token = 5,
        .memory = CLAIM_MEMORY_FAIL,
        .lapse_dead_retention = {true, 0},
        .fingerprint = bytes_of("f"),
        .attempt_has_fingerprint = true,
        .last_error = {.present = true, .kind = FAIL_POISON, .message = bytes_of("m")},
    };
    if (state == CLAIM_PROCESSING) {
        record.attempt.end = CLAIM_END_NONE;
        record.memory = CLAIM_MEMORY_NONE;
    }
    return record;
}

START_TEST(test_full_records_have_no_fault) {
    struct claim_record record = full((enum claim_state)_i);
    ck_assert_ptr_null(record_fault_of(&record));
}
END_TEST

// name, state, the words, what breaks it
#define FAULTS(X)                                                                                  \
    X(state_low, CLAIM_RECEIVED, "the state is unknown", r->state = (enum claim_state)0)           \
    X(state_high, CLAIM_RECEIVED, "the state is unknown", r->state = (enum claim_state)9)          \
    X(no_token, CLAIM_PROCESSING, "PROCESSING without a token", r->has_token = false)              \
    X(ended, CLAIM_PROCESSING, "PROCESSING, and the attempt has ended",                            \
      r->attempt.end = CLAIM_END_LAPSED)                                                           \
    X(remembered, CLAIM_PROCESSING, "PROCESSING, and a verb is remembered",                        \
      r->memory = CLAIM_MEMORY_COMPLETE)                                                           \
    X(lapse_made_retrying, CLAIM_RETRYING,                                                         \
      "a lapse made another state than UNKNOWN or DEAD_LETTERED", r->made_by_lapse = true)         \
    X(open_expires, CLAIM_UNKNOWN, "expires_at in a state that does not expire",                   \
      r->expires_at.present = true)                                                                \
    X(number, CLAIM_RETRYING, "an attempt's number is wrong", r->attempt.number = 8)               \
    X(end, CLAIM_RETRYING, "the attempt's end is unknown", r->attempt.end = (enum claim_end)8)     \
    X(earlier_many, CLAIM_RETRYING, "too many earlier attempts",                                   \
      r->earlier_count = LIMIT_ATTEMPTS_KEPT)                                                      \
    X(earlier_order, CLAIM_RETRYING, "earlier attempts do not count upwards",                      \
      r->earlier[1].number = 3)                                                                    \
    X(earlier_zero, CLAIM_RETRYING, "earlier attempts do not count upwards",                       \
      r->earlier[0].number = 0)                                                                    \
    X(earlier_late, CLAIM_RETRYING, "an earlier attempt comes late", r->earlier[1].number = 9)     \
    X(earlier_alone, CLAIM_RETRYING, "an earlier attempt comes late", r->attempt_count = 0)        \
    X(earlier_running, CLAIM_RETRYING, "an earlier attempt has not ended",                         \
      r->earlier[0].end = CLAIM_END_NONE)                                                          \
    X(earlier_end, CLAIM_RETRYING, "an earlier attempt's end is unknown",                          \
      r->earlier[0].end = (enum claim_end)8)                                                       \
    X(memory, CLAIM_RETRYING, "the remembered verb is unknown", r->memory = (enum claim_memory)6)  \
    X(token_alone, CLAIM_RETRYING, "a token without an attempt",                                   \
      r->earlier_count = r->attempt_count = 0)                                                     \
    X(token_zero, CLAIM_RETRYING, "the token is 0", r->token = 0)                                  \
    X(token_high, CLAIM_RETRYING, "the token is above the maximum",                                \
      r->token = (uint64_t)LIMIT_TOKEN_MAX + 1)                                                    \
    X(leads_to, CLAIM_RETRYING, "what a lapse leads to is unknown",                                \
      r->lapse_leads_to = (enum policy_unknown)2)                                                  \
    X(lapses, CLAIM_RETRYING, "the limit of lapses is below -1", r->lapse_retries_max = -2)        \
    X(retention, CLAIM_RETRYING, "a retention is negative", r->lapse_dead_retention.ms = -1)       \
    X(cancel_token, CLAIM_REJECTED, "a token beside a remembered Cancel",                          \
      r->memory = CLAIM_MEMORY_CANCEL)                                                             \
    X(memory_alone, CLAIM_RETRYING, "a holder's remembered verb without a token",                  \
      r->has_token = false)                                                                        \
    X(fingerprint, CLAIM_RETRYING, "an attempt's fingerprint is not in the record",                \
      r->fingerprint.len = 0)                                                                      \
    X(kind_low, CLAIM_RETRYING, "a failure is of no kind", r->last_error.kind = (enum fail_kind)0) \
    X(kind_high, CLAIM_RETRYING, "a failure is of no kind",                                        \
      r->last_error.kind = (enum fail_kind)6)                                                      \
    X(lapse_message, CLAIM_RETRYING, "a lapse with a message", r->last_error.kind = FAIL_LAPSED)

#define FAULT_FUNCTION(name, state, text, breaking)                                                \
    static void break_##name(struct claim_record *r) { breaking; }
FAULTS(FAULT_FUNCTION)

static const struct {
    enum claim_state state;
    const char *text;
    void (*apply)(struct claim_record *record);
} faults[] = {
#define FAULT_ROW(name, state, text, breaking) {state, text, break_##name},
    FAULTS(FAULT_ROW)};

START_TEST(test_fault) {
    struct claim_record record = full(faults[_i].state);
    faults[_i].apply(&record);
    ck_assert_pstr_eq(record_fault_of(&record), faults[_i].text);
}
END_TEST

// What looks like a fault and is none.
START_TEST(test_no_fault) {
    struct claim_record record = full(CLAIM_DEAD_LETTERED);
    record.made_by_lapse = true;
    record.expires_at.present = true;
    record.last_error = (struct claim_error){.present = true, .kind = FAIL_LAPSED};
    record.token = (uint64_t)LIMIT_TOKEN_MAX;
    record.lapse_retries_max = POLICY_NO_LIMIT;
    record.lapse_dead_retention = (struct optional_ms){false, -1};
    ck_assert_ptr_null(record_fault_of(&record));

    record = full(CLAIM_UNKNOWN);
    record.made_by_lapse = true;
    ck_assert_ptr_null(record_fault_of(&record));

    // A Cancel of an identity never begun.
    record = (struct claim_record){
        .state = CLAIM_REJECTED, .memory = CLAIM_MEMORY_CANCEL, .expires_at = {true, {1}}};
    ck_assert_ptr_null(record_fault_of(&record));
    record.memory = CLAIM_MEMORY_NONE;
    ck_assert_ptr_null(record_fault_of(&record));
}
END_TEST

static const struct {
    size_t at;
    size_t max;
    const char *text;
} bounds[] = {
    {offsetof(struct claim_record, attempt.owner), 256, "an owner is too long"},
    {offsetof(struct claim_record, attempt.error), 256, "an error is too long"},
    {offsetof(struct claim_record, earlier[1].owner), 256, "an earlier owner is too long"},
    {offsetof(struct claim_record, earlier[1].error), 256, "an earlier error is too long"},
    {offsetof(struct claim_record, request_id), 64, "a request_id is too long"},
    {offsetof(struct claim_record, fingerprint), 64, "a fingerprint is too long"},
    {offsetof(struct claim_record, payload_ref), 1024, "a payload_ref is too long"},
    {offsetof(struct claim_record, reason), 4096, "a reason is too long"},
    {offsetof(struct claim_record, last_error.message), 4096, "an error's message is too long"},
};

START_TEST(test_bound) {
    struct claim_record record = full(CLAIM_RETRYING);
    struct bytes *field = (struct bytes *)(void *)((char *)&record + bounds[_i].at);
    *field = (struct bytes){filler, bounds[_i].max};
    ck_assert_ptr_null(record_fault_of(&record));
    field->len++;
    ck_assert_pstr_eq(record_fault_of(&record), bounds[_i].text);
}
END_TEST

static const struct {
    size_t at;
    uint32_t max;
} bodies[] = {
    {offsetof(struct claim_record, result), 1024 * 1024},
    {offsetof(struct claim_record, checkpoint), 16 * 1024},
    {offsetof(struct claim_record, payload), 256 * 1024},
};

START_TEST(test_body) {
    struct claim_record record = full(CLAIM_DEAD_LETTERED);
    struct claim_body *body = (struct claim_body *)(void *)((char *)&record + bodies[_i].at);
    uint32_t max = bodies[_i].max;
    *body = (struct claim_body){.present = true, .size_bytes = max, .data = {filler, max}};
    ck_assert_ptr_null(record_fault_of(&record));
    body->in_blob = true; // loaded
    ck_assert_ptr_null(record_fault_of(&record));
    body->data.len = 0; // not loaded
    ck_assert_ptr_null(record_fault_of(&record));
    body->data.len = 1; // half loaded
    ck_assert_pstr_eq(record_fault_of(&record), "a body's size is not that of its bytes");
    body->in_blob = false;
    body->data.len = 0;
    ck_assert_pstr_eq(record_fault_of(&record), "a body's size is not that of its bytes");
    body->expired = true;
    ck_assert_ptr_null(record_fault_of(&record));
    body->size_bytes = max + 1;
    ck_assert_pstr_eq(record_fault_of(&record), "a body is too long");
    *body = (struct claim_body){.present = true, .size_bytes = max + 1, .data = {filler, max + 1}};
    ck_assert_pstr_eq(record_fault_of(&record), "a body is too long");
    *body = (struct claim_body){
        .present = true, .in_blob = true, .size_bytes = LIMIT_BODY_INLINE_BYTES_MAX};
    ck_assert_pstr_eq(record_fault_of(&record), "a small body is a blob");
    body->size_bytes++;
    ck_assert_ptr_null(record_fault_of(&record));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("record_fault");
    TCase *tests = tcase_create("record_fault");
    tcase_add_loop_test(tests, test_full_records_have_no_fault, CLAIM_RECEIVED,
                        CLAIM_DISCARDED + 1);
    tcase_add_loop_test(tests, test_fault, 0, (int)(sizeof faults / sizeof faults[0]));
    tcase_add_test(tests, test_no_fault);
    tcase_add_loop_test(tests, test_bound, 0, (int)(sizeof bounds / sizeof bounds[0]));
    tcase_add_loop_test(tests, test_body, 0, (int)(sizeof bodies / sizeof bodies[0]));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
