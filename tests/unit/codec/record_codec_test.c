// The stored record: what goes in comes out, one form only, and nothing damaged is accepted.
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"
#include "codec/crc32c.h"
#include "codec/record_codec.h"
#include "record_difference.h"
#include "record_gen.h"

#define HEAD_CRC_AT 8
#define HEAD_BYTES 12

static struct claim_record record_plain(enum claim_state state) {
    struct claim_record record = {
        .state = state,
        .attempt_count = 1,
        .created_at = {1764500000000},
        .updated_at = {1764500000000},
        .attempt = {.number = 1, .begun_at = {1764500000000}},
        .has_token = true,
        .token = 1764500000000000,
        .lapse_retries_max = 10,
    };
    return record;
}

static struct claim_record record_processing(void) {
    struct claim_record record = record_plain(CLAIM_PROCESSING);
    record.attempt.owner = bytes_of("worker-7");
    record.request_id = bytes_of("0123456789abcdef");
    record.granted_at.ms = 1000;
    record.lease_expires_at.ms = 31000;
    return record;
}

static struct claim_record record_succeeded(void) {
    struct claim_record record = record_plain(CLAIM_SUCCEEDED);
    record.updated_at.ms += 50;
    record.attempt.end = CLAIM_END_COMPLETED;
    record.attempt.ended_at = record.updated_at;
    record.memory = CLAIM_MEMORY_COMPLETE;
    record.final_at.ms = 2000;
    record.expires_at = (struct optional_store_ms){true, {700000000}};
    return record;
}

// Puts the right checksum into bytes that were changed on purpose.
static void reseal(uint8_t *data, size_t len) {
    uint32_t crc = crc32c(0, (struct bytes){data, HEAD_CRC_AT});
    crc = crc32c(crc, (struct bytes){data + HEAD_BYTES, len - HEAD_BYTES});
    for (unsigned i = 0; i < 4; i++) data[HEAD_CRC_AT + i] = (uint8_t)(crc >> (8 * i));
}

// --- what goes in comes out ---------------------------------------------------------------------

START_TEST(test_random_records_come_back) {
    static struct gen gen;
    gen_init(&gen, "random records");
    SCOPE_BUF struct buf first = {0};
    SCOPE_BUF struct buf second = {0};
    for (int i = 0; i < 20000; i++) {
        struct claim_record record;
        struct claim_record decoded;
        record_gen_next(&gen, &record);
        first.len = 0;
        second.len = 0;
        record_codec_encode(&record, &first);
        enum err err = record_codec_decode(buf_bytes(&first), &decoded);
        if (err != ERR_OK) ck_abort_msg("record %d: %s", i, error_reason(err));
        const char *difference = record_difference(&record, &decoded);
        if (difference != NULL) ck_abort_msg("record %d: not %s", i, difference);
        record_codec_encode(&decoded, &second);
        if (!bytes_equal(buf_bytes(&first), buf_bytes(&second))) ck_abort_msg("record %d", i);
    }
}
END_TEST

START_TEST(test_common_records_are_small) {
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = record_succeeded();
    record_codec_encode(&record, &out);
    ck_assert_uint_eq(out.len, 60);
    out.len = 0;
    record = record_processing();
    record_codec_encode(&record, &out);
    ck_assert_uint_eq(out.len, 72);
}
END_TEST

START_TEST(test_encode_appends) {
    SCOPE_BUF struct buf alone = {0};
    SCOPE_BUF struct buf behind = {0};
    struct claim_record record = record_succeeded();
    record_codec_encode(&record, &alone);
    buf_put_u8(&behind, 0x5A);
    record_codec_encode(&record, &behind);
    ck_assert_uint_eq(behind.data[0], 0x5A);
    ck_assert(bytes_equal(buf_bytes(&alone), (struct bytes){behind.data + 1, behind.len - 1}));
}
END_TEST

// What has no meaning in a state is not stored: two records that differ only there are the same.
START_TEST(test_what_has_no_meaning_is_not_stored) {
    SCOPE_BUF struct buf clean = {0};
    SCOPE_BUF struct buf dirty = {0};
    struct claim_record record = record_succeeded();
    record.has_token = false;
    record.memory = CLAIM_MEMORY_NONE;
    record.token = 0;
    record.lapse_retries_max = 0;
    record_codec_encode(&record, &clean);
    record.token = 77;
    record.granted_at.ms = 1;
    record.lease_expires_at.ms = 2;
    record.next_attempt_at.ms = 3;
    record.lapse_leads_to = POLICY_HOLD;
    record.lapse_retries_max = -5;
    record.lapse_dead_retention = (struct optional_ms){true, -1};
    record.memory_digest[0] = 1;
    record.expires_at.present = true;
    record.event_time.at.ms = 9;
    record.last_error.kind = FAIL_POISON;
    record.result.size_bytes = 5;
    record.result_digest.data[0] = 1;
    record_codec_encode(&record, &dirty);
    ck_assert(bytes_equal(buf_bytes(&clean), buf_bytes(&dirty)));

    record = record_plain(CLAIM_RECEIVED);
    record.attempt_count = 0;
    record.has_token = false;
    clean.len = 0;
    dirty.len = 0;
    record.attempt = (struct claim_attempt){0};
    record_codec_encode(&record, &clean);
    record.attempt = (struct claim_attempt){
        .number = 9, .owner = bytes_of("x"), .end = CLAIM_END_FAILED, .error = bytes_of("y")};
    record.final_at.ms = 4;
    record_codec_encode(&record, &dirty);
    ck_assert(bytes_equal(buf_bytes(&clean), buf_bytes(&dirty)));
}
END_TEST

// --- bodies -------------------------------------------------------------------------------------

START_TEST(test_bodies_above_the_bound_are_external) {
    static uint8_t data[LIMIT_BODY_INLINE_BYTES_MAX + 1];
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = record_succeeded();
    struct claim_record decoded;
    struct bytes most = {data, LIMIT_BODY_INLINE_BYTES_MAX};
    record.result = (struct claim_body){
        .present = true, .size_bytes = LIMIT_BODY_INLINE_BYTES_MAX, .data = most};
    ck_assert(!record_codec_body_is_external(&record.result));
    record_codec_encode(&record, &out);
    ck_assert_int_eq(record_codec_decode(buf_bytes(&out), &decoded), ERR_OK);
    ck_assert(!decoded.result.in_blob);
    ck_assert(bytes_equal(decoded.result.data, most));

    // One past it, fresh from a command: only the mark and the size are in the record.
    record.result.size_bytes++;
    record.result.data.len++;
    ck_assert(record_codec_body_is_external(&record.result));
    out.len = 0;
    record_codec_encode(&record, &out);
    ck_assert_uint_eq(out.len, 60 + 4 + DIGEST_BYTES);
    ck_assert_int_eq(record_codec_decode(buf_bytes(&out), &decoded), ERR_OK);
    ck_assert(decoded.result.in_blob);
    ck_assert_uint_eq(decoded.result.size_bytes, LIMIT_BODY_INLINE_BYTES_MAX + 1);
    ck_assert_uint_eq(decoded.result.data.len, 0);

    // Loaded again and stored again, it is the same record.
    SCOPE_BUF struct buf again = {0};
    decoded.result.data = record.result.data;
    record_codec_encode(&decoded, &again);
    ck_assert(bytes_equal(buf_bytes(&out), buf_bytes(&again)));
}
END_TEST

START_TEST(test_absent_empty_and_expired_bodies_differ) {
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = record_succeeded();
    struct claim_record decoded;
    record_codec_encode(&record, &out);
    ck_assert_int_eq(record_codec_decode(buf_bytes(&out), &decoded), ERR_OK);
    ck_assert(!decoded.result.present);
    ck_assert(!record_codec_body_is_external(&decoded.result));

    record.result.present = true;
    out.len = 0;
    record_codec_encode(&record, &out);
    ck_assert_int_eq(record_codec_decode(buf_bytes(&out), &decoded), ERR_OK);
    ck_assert(decoded.result.present && !decoded.result.expired);
    ck_assert_uint_eq(decoded.result.size_bytes, 0);

    record.result.expired = true;
    record.result.size_bytes = LIMIT_RESULT_BYTES_MAX;
    record.result_digest.data[31] = 0xEE;
    ck_assert(!record_codec_body_is_external(&record.result));
    out.len = 0;
    record_codec_encode(&record, &out);
    ck_assert_int_eq(record_codec_decode(buf_bytes(&out), &decoded), ERR_OK);
    ck_assert(decoded.result.present && decoded.result.expired && !decoded.result.in_blob);
    ck_assert_uint_eq(decoded.result.size_bytes, LIMIT_RESULT_BYTES_MAX);
    ck_assert_uint_eq(decoded.result_digest.data[31], 0xEE);
}
END_TEST

// --- damage -------------------------------------------------------------------------------------

static void expect_corrupt(struct bytes value, const char *what, size_t where) {
    struct claim_record decoded;
    enum err err = record_codec_decode(value, &decoded);
    if (err != ERR_CORRUPT) ck_abort_msg("%s at %zu: %s", what, where, error_reason(err));
}

START_TEST(test_truncations_and_flips_are_refused) {
    static struct gen gen;
    gen_init(&gen, "damage");
    SCOPE_BUF struct buf out = {0};
    for (int i = 0; i < 300; i++) {
        struct claim_record record;
        record_gen_next(&gen, &record);
        out.len = 0;
        record_codec_encode(&record, &out);
        if (out.len > 1500) continue; // enough of them are short, and this is quadratic
        for (size_t len = 0; len < out.len; len++) {
            expect_corrupt((struct bytes){out.data, len}, "truncated", len);
        }
        for (size_t bit = 0; bit < 8 * out.len; bit++) {
            out.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            expect_corrupt(buf_bytes(&out), "bit flipped", bit);
            out.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        buf_put_u8(&out, 0);
        expect_corrupt(buf_bytes(&out), "longer", out.len);
        reseal(out.data, out.len);
        expect_corrupt(buf_bytes(&out), "longer and sealed", out.len);
    }
}
END_TEST

// Damage with a right checksum (a defect of another build, say): refused, or it is a record whose
// one stored form this is. Never accepted and then written differently, never a crash.
START_TEST(test_sealed_damage_is_refused_or_canonical) {
    static struct gen gen;
    gen_init(&gen, "sealed damage");
    SCOPE_BUF struct buf out = {0};
    SCOPE_BUF struct buf again = {0};
    int accepted = 0;
    int refused = 0;
    for (int i = 0; i < 60000; i++) {
        struct claim_record record;
        struct claim_record decoded;
        record_gen_next(&gen, &record);
        out.len = 0;
        record_codec_encode(&record, &out);
        uint32_t changes = 1 + gen_below(&gen, 3);
        for (uint32_t n = 0; n < changes; n++) {
            uint32_t reach = gen_one_in(&gen, 2) ? HEAD_BYTES : (uint32_t)out.len;
            uint32_t at = gen_below(&gen, reach);
            out.data[at] ^= (uint8_t)(1u << gen_below(&gen, 8));
        }
        if (gen_one_in(&gen, 8)) out.len = HEAD_BYTES + gen_below(&gen, (uint32_t)out.len - 11);
        reseal(out.data, out.len);
        if (record_codec_decode(buf_bytes(&out), &decoded) != ERR_OK) {
            refused++;
            continue;
        }
        accepted++;
        again.len = 0;
        record_codec_encode(&decoded, &again);
        if (!bytes_equal(buf_bytes(&out), buf_bytes(&again))) ck_abort_msg("record %d", i);
    }
    ck_assert_int_gt(accepted, 1000); // or the test would show nothing
    ck_assert_int_gt(refused, 1000);
}
END_TEST

// One byte changed, sealed again, refused: what the checksum alone would let pass.
static const struct {
    const char *what;
    size_t at;
    uint8_t value;
} sealed_faults[] = {
    {"version 0", 0, 0},
    {"version 2", 0, 2},
    {"state 0", 1, 0},
    {"state 9", 1, 9},
    {"RETRYING without its time", 1, CLAIM_RETRYING},
    {"PROCESSING without its lease", 1, CLAIM_PROCESSING},
    {"end 8", 2, 8},
    {"memory 6", 3, 6},
    {"memory without a digest", 3, CLAIM_MEMORY_NONE},
    {"Cancel with a token", 3, CLAIM_MEMORY_CANCEL},
    {"reserved flag", 7, 0x80},
    {"updated_at not there", 4, 0x00},
    {"a flag without its part", 6, 0x18},
};

START_TEST(test_sealed_fault) {
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = record_succeeded();
    record_codec_encode(&record, &out);
    ck_assert_uint_ne(out.data[sealed_faults[_i].at], sealed_faults[_i].value);
    out.data[sealed_faults[_i].at] = sealed_faults[_i].value;
    reseal(out.data, out.len);
    expect_corrupt(buf_bytes(&out), sealed_faults[_i].what, sealed_faults[_i].at);
}
END_TEST

// A second form of the same record is refused: a part that says what its absence says.
START_TEST(test_second_forms_are_refused) {
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = record_succeeded();
    record.updated_at.ms = record.created_at.ms + 1;
    record.attempt.ended_at = record.updated_at;
    record.reopen_count = 1;
    record_codec_encode(&record, &out);
    // Behind the head: created_at, updated_at, reopen_count.
    ck_assert_uint_eq(out.data[HEAD_BYTES + 16], 1);
    out.data[HEAD_BYTES + 16] = 0; // reopened no times
    reseal(out.data, out.len);
    expect_corrupt(buf_bytes(&out), "reopen count", 0);
    out.data[HEAD_BYTES + 16] = 1;
    out.data[HEAD_BYTES + 8] = out.data[HEAD_BYTES]; // updated_at as created_at
    reseal(out.data, out.len);
    expect_corrupt(buf_bytes(&out), "updated_at", 0);
    out.data[HEAD_BYTES + 8]++;
    reseal(out.data, out.len);
    struct claim_record decoded;
    ck_assert_int_eq(record_codec_decode(buf_bytes(&out), &decoded), ERR_OK);
}
END_TEST

// More earlier attempts than a record has room for, although their bytes are there.
START_TEST(test_too_many_earlier_attempts_are_refused) {
    const size_t earlier_bytes = 4 + 1 + 8 + 8 + 2 + 2;
    const size_t count_at = HEAD_BYTES + 8 + 4; // behind created_at and attempt_count
    SCOPE_BUF struct buf out = {0};
    SCOPE_BUF struct buf longer = {0};
    struct claim_record decoded;
    struct claim_record record = record_plain(CLAIM_RECEIVED);
    record.has_token = false;
    record.attempt_count = 300;
    record.attempt.number = 300;
    record.earlier_count = 1;
    record.earlier[0] = (struct claim_attempt){.number = 1, .end = CLAIM_END_LAPSED};
    record_codec_encode(&record, &out);
    ck_assert_uint_eq(out.len, count_at + 1 + earlier_bytes);
    for (uint8_t count = 1; count < 200; count++) {
        longer.len = 0;
        buf_put(&longer, out.data, count_at);
        buf_put_u8(&longer, count);
        for (uint8_t number = 1; number <= count; number++) {
            buf_put_u32(&longer, number);
            buf_put(&longer, out.data + count_at + 1 + 4, earlier_bytes - 4);
        }
        reseal(longer.data, longer.len);
        bool fits = count < LIMIT_ATTEMPTS_KEPT;
        ck_assert_int_eq(record_codec_decode(buf_bytes(&longer), &decoded),
                         fits ? ERR_OK : ERR_CORRUPT);
    }
}
END_TEST

// An attempt's end in the head of a record that has had no attempt.
START_TEST(test_end_without_attempt_is_refused) {
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = {.state = CLAIM_RECEIVED};
    record_codec_encode(&record, &out);
    out.data[2] = CLAIM_END_FAILED;
    reseal(out.data, out.len);
    expect_corrupt(buf_bytes(&out), "end", 2);
}
END_TEST

// --- bugs and memory ----------------------------------------------------------------------------

START_TEST(test_encode_of_a_fault_aborts) {
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = record_processing();
    record.has_token = false;
    record_codec_encode(&record, &out);
}
END_TEST

static int allocations_left;

static bool fail_when_used_up(void) { return allocations_left-- <= 0; }

START_TEST(test_memory_failure_shows_in_the_buffer) {
    static uint8_t data[LIMIT_BODY_INLINE_BYTES_MAX];
    struct claim_record record = record_processing();
    record.checkpoint = (struct claim_body){
        .present = true, .size_bytes = sizeof data, .data = {data, sizeof data}};
    int failures = 0;
    for (int n = 0;; n++) {
        SCOPE_BUF struct buf out = {0};
        allocations_left = n;
        mem_set_fault_hook(fail_when_used_up);
        record_codec_encode(&record, &out);
        mem_set_fault_hook(NULL);
        if (!out.failed) break;
        failures++;
    }
    ck_assert_int_gt(failures, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("record_codec");
    TCase *tests = tcase_create("record_codec");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_random_records_come_back);
    tcase_add_test(tests, test_common_records_are_small);
    tcase_add_test(tests, test_encode_appends);
    tcase_add_test(tests, test_what_has_no_meaning_is_not_stored);
    tcase_add_test(tests, test_bodies_above_the_bound_are_external);
    tcase_add_test(tests, test_absent_empty_and_expired_bodies_differ);
    tcase_add_test(tests, test_truncations_and_flips_are_refused);
    tcase_add_test(tests, test_sealed_damage_is_refused_or_canonical);
    tcase_add_loop_test(tests, test_sealed_fault, 0,
                        (int)(sizeof sealed_faults / sizeof sealed_faults[0]));
    tcase_add_test(tests, test_second_forms_are_refused);
    tcase_add_test(tests, test_too_many_earlier_attempts_are_refused);
    tcase_add_test(tests, test_end_without_attempt_is_refused);
    tcase_add_test_raise_signal(tests, test_encode_of_a_fault_aborts, SIGABRT);
    tcase_add_test(tests, test_memory_failure_shows_in_the_buffer);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
