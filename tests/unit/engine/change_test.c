// A decision as store changes: one family for each record, a body in the blob family as long as a
// record refers to it and no longer.
#include "engine/change.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "codec/effect_codec.h"
#include "codec/record_codec.h"
#include "core/claim.h"

static struct buf frame;
static struct buf scratch;
static struct buf claim_key;
static uint8_t long_data[LIMIT_BODY_INLINE_BYTES_MAX + 1];

static void setup(void) {
    memset(long_data, 'b', sizeof long_data);
    keyspace_put_claim(&claim_key, 3, bytes_of("id"));
}

static void teardown(void) {
    buf_deinit(&frame);
    buf_deinit(&scratch);
    buf_deinit(&claim_key);
}

static struct claim_body body_of_len(size_t len) {
    return (struct claim_body){
        .present = true, .size_bytes = (uint32_t)len, .data = {long_data, len}};
}
#define SHORT_BODY body_of_len(LIMIT_BODY_INLINE_BYTES_MAX)
#define LONG_BODY body_of_len(LIMIT_BODY_INLINE_BYTES_MAX + 1)
#define STORED_LONG_BODY                                                                           \
    ((struct claim_body){                                                                          \
        .present = true, .in_blob = true, .size_bytes = LIMIT_BODY_INLINE_BYTES_MAX + 1})

// A record as a history of commands makes it: the invariants hold.
static struct claim_record record_in(enum claim_state state) {
    struct claim_context context = {.now = {1000}, .policy = &policy_default, .token_next = 7};
    struct claim_command command = {.verb = CLAIM_BEGIN};
    struct claim_decision decision;
    ck_assert_int_eq(claim_decide(NULL, &command, &context, &decision), ERR_OK);
    if (state == CLAIM_PROCESSING) return decision.record;
    struct claim_record held = decision.record;
    command = (struct claim_command){.verb = CLAIM_COMPLETE, .token = 7};
    if (state == CLAIM_DEAD_LETTERED) {
        command.verb = CLAIM_FAIL;
        command.fail_kind = FAIL_POISON;
    }
    ck_assert_int_eq(claim_decide(&held, &command, &context, &decision), ERR_OK);
    ck_assert_int_eq(decision.record.state, state);
    return decision.record;
}

// One change in words: p/d, the family's letter, and for blobs the kind's number.
static const char *change_words(const struct claim_record *stored,
                                const struct claim_record *after) {
    static char words[128];
    struct effect_reader reader;
    struct effect_op op;
    size_t len = 0;
    buf_reset(&frame, SIZE_MAX);
    effect_begin(&frame);
    effect_end(&frame, change_put(&frame, &scratch, buf_bytes(&claim_key), stored, after));
    ck_assert(!frame.failed);
    ck_assert_int_eq(effect_open(buf_bytes(&frame), &reader), ERR_OK);
    while (effect_next(&reader, &op)) {
        static const char families[] = "odbgam";
        if (len > 0) words[len++] = ' ';
        words[len++] = op.is_put ? '+' : '-';
        words[len++] = families[op.family];
        ck_assert_mem_eq(op.key.data, claim_key.data, claim_key.len);
        if (op.family != KEYSPACE_BLOB) {
            struct claim_record decoded;
            ck_assert_uint_eq(op.key.len, claim_key.len);
            if (op.is_put) ck_assert_int_eq(record_codec_decode(op.value, &decoded), ERR_OK);
            continue;
        }
        ck_assert_uint_eq(op.key.len, claim_key.len + 1);
        words[len++] = (char)('0' + op.key.data[claim_key.len]);
        if (op.is_put) ck_assert_mem_eq(op.value.data, long_data, sizeof long_data);
    }
    words[len] = '\0';
    return words;
}

START_TEST(a_record_lives_in_one_family) {
    struct claim_record processing = record_in(CLAIM_PROCESSING);
    struct claim_record dead = record_in(CLAIM_DEAD_LETTERED);
    struct claim_record done = record_in(CLAIM_SUCCEEDED);
    ck_assert_str_eq(change_words(NULL, &processing), "+o");
    ck_assert_str_eq(change_words(&processing, &processing), "+o");
    ck_assert_str_eq(change_words(&processing, &dead), "+o");
    ck_assert_str_eq(change_words(&processing, &done), "-o +d");
    ck_assert_str_eq(change_words(&done, &processing), "-d +o");
    ck_assert_str_eq(change_words(&done, &done), "+d");
    ck_assert_str_eq(change_words(NULL, &done), "+d"); // Cancel
    ck_assert_str_eq(change_words(&done, NULL), "-d");
    ck_assert_str_eq(change_words(&dead, NULL), "-o");
}
END_TEST

START_TEST(long_bodies_are_put_beside_it) {
    struct claim_record before = record_in(CLAIM_PROCESSING);
    struct claim_record after = record_in(CLAIM_PROCESSING);
    after.checkpoint = SHORT_BODY;
    ck_assert_str_eq(change_words(&before, &after), "+o");
    after.checkpoint = LONG_BODY;
    ck_assert_str_eq(change_words(&before, &after), "+o +b2");
    ck_assert_str_eq(change_words(NULL, &after), "+o +b2");
    after = record_in(CLAIM_SUCCEEDED);
    after.result = LONG_BODY;
    after.result_digest = digest_of(after.result.data);
    ck_assert_str_eq(change_words(&before, &after), "-o +d +b1");
    after = record_in(CLAIM_DEAD_LETTERED);
    after.payload = LONG_BODY;
    ck_assert_str_eq(change_words(&before, &after), "+o +b3");
}
END_TEST

START_TEST(bodies_that_stay_are_not_touched) {
    struct claim_record before = record_in(CLAIM_PROCESSING);
    before.checkpoint = STORED_LONG_BODY;
    ck_assert_str_eq(change_words(&before, &before), "+o");
    struct claim_record done = record_in(CLAIM_SUCCEEDED);
    done.checkpoint = STORED_LONG_BODY;
    ck_assert_str_eq(change_words(&before, &done), "-o +d");
}
END_TEST

START_TEST(bodies_that_nobody_refers_to_go) {
    struct claim_record before = record_in(CLAIM_PROCESSING);
    before.checkpoint = STORED_LONG_BODY;
    struct claim_record after = record_in(CLAIM_PROCESSING);
    after.checkpoint = SHORT_BODY; // the new one fits the record
    ck_assert_str_eq(change_words(&before, &after), "+o -b2");
    after.checkpoint = LONG_BODY; // in place of the old one
    ck_assert_str_eq(change_words(&before, &after), "+o +b2");
    after.checkpoint = (struct claim_body){.present = false};
    ck_assert_str_eq(change_words(&before, &after), "+o -b2");

    struct claim_record dead = record_in(CLAIM_DEAD_LETTERED);
    dead.payload = STORED_LONG_BODY;
    struct claim_record done = record_in(CLAIM_SUCCEEDED);
    ck_assert_str_eq(change_words(&dead, &done), "-o +d -b3");
}
END_TEST

START_TEST(removal_takes_all_bodies) {
    struct claim_record done = record_in(CLAIM_SUCCEEDED);
    done.result = STORED_LONG_BODY;
    done.checkpoint = STORED_LONG_BODY;
    ck_assert_str_eq(change_words(&done, NULL), "-d -b1 -b2");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/change");
    TCase *cases = tcase_create("change");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_record_lives_in_one_family);
    tcase_add_test(cases, long_bodies_are_put_beside_it);
    tcase_add_test(cases, bodies_that_stay_are_not_touched);
    tcase_add_test(cases, bodies_that_nobody_refers_to_go);
    tcase_add_test(cases, removal_takes_all_bodies);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
