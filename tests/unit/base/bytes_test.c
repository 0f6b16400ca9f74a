// Byte views, UTF-8, growable buffers and bounded readers.
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/scope.h"

#define LITERAL(text) ((struct bytes){(const uint8_t *)(text), sizeof(text) - 1})

// --- views --------------------------------------------------------------------------------------

START_TEST(test_equal) {
    ck_assert(bytes_equal(bytes_of("abc"), bytes_of("abc")));
    ck_assert(!bytes_equal(bytes_of("abc"), bytes_of("abd")));
    ck_assert(!bytes_equal(bytes_of("abc"), bytes_of("ab")));
    ck_assert(bytes_equal((struct bytes){0}, bytes_of("")));
    ck_assert(bytes_equal(LITERAL("a\0b"), LITERAL("a\0b")));
    ck_assert(!bytes_equal(LITERAL("a\0b"), LITERAL("a\0c")));
}
END_TEST

// --- UTF-8 --------------------------------------------------------------------------------------

static size_t utf8_encode(uint32_t point, uint8_t out[4]) {
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xC0 | point >> 6);
        out[1] = (uint8_t)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | point >> 12);
        out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | point >> 18);
    out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (point & 0x3F));
    return 4;
}

// Every code point, written by the book; surrogates and what is above U+10FFFF are none.
START_TEST(test_utf8_of_every_code_point) {
    for (uint32_t point = 0; point < 0x200000; point++) {
        uint8_t text[4];
        size_t len = utf8_encode(point, text);
        bool want = point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
        if (bytes_is_utf8((struct bytes){text, len}) != want) ck_abort_msg("U+%04X", point);
        for (size_t cut = 1; cut < len; cut++) {
            if (bytes_is_utf8((struct bytes){text, cut})) ck_abort_msg("U+%04X cut", point);
        }
    }
}
END_TEST

// Of all runs of two and three bytes exactly so many are valid as there are ways to make them of
// whole characters: nothing overlong or stray is let through.
START_TEST(test_utf8_counts) {
    const uint32_t one = 0x80;
    const uint32_t two = 0x800 - 0x80;
    const uint32_t three = 0x10000 - 0x800 - 0x800;
    uint32_t pairs = 0;
    uint32_t triples = 0;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        uint8_t text[3] = {(uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
        if (bytes_is_utf8((struct bytes){text, 3})) triples++;
        if (i < 1u << 16 && bytes_is_utf8((struct bytes){text + 1, 2})) pairs++;
    }
    ck_assert_uint_eq(pairs, one * one + two);
    ck_assert_uint_eq(triples, one * one * one + 2 * one * two + three);
}
END_TEST

START_TEST(test_utf8_of_runs) {
    ck_assert(bytes_is_utf8((struct bytes){0}));
    ck_assert(bytes_is_utf8(bytes_of("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x92\xB3.")));
    ck_assert(bytes_is_utf8(LITERAL("a\0b")));
    ck_assert(!bytes_is_utf8(bytes_of("good \x80")));
    ck_assert(!bytes_is_utf8(bytes_of("\xF4\x90\x80\x80")));
    ck_assert(!bytes_is_utf8(bytes_of("\xF0\x8F\xBF\xBF")));
    ck_assert(!bytes_is_utf8(bytes_of("\xF0\x9F\x92\x7F")));
    ck_assert(!bytes_is_utf8(bytes_of("\xF0\x9F\x12\x80")));
    ck_assert(!bytes_is_utf8(bytes_of("\xF5\x80\x80\x80")));
}
END_TEST

START_TEST(test_control_characters) {
    for (unsigned c = 0; c < 256; c++) {
        uint8_t text[3] = {'a', (uint8_t)c, 'z'};
        ck_assert_int_eq(bytes_has_control((struct bytes){text, 3}), c < 0x20 || c == 0x7F);
    }
    ck_assert(!bytes_has_control((struct bytes){0}));
}
END_TEST

START_TEST(test_cut_at_a_character) {
    struct bytes text = bytes_of("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x92\xB3"); // 1 + 2 + 3 + 4 bytes
    const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < sizeof want / sizeof want[0]; max++) {
        struct bytes cut = bytes_cut_utf8(text, max);
        ck_assert_uint_eq(cut.len, want[max]);
        ck_assert_ptr_eq(cut.data, text.data);
        ck_assert(bytes_is_utf8(cut));
    }
}
END_TEST

// --- buffers ------------------------------------------------------------------------------------

START_TEST(test_put_is_little_endian) {
    SCOPE_BUF struct buf buf = {0};
    buf_put_u8(&buf, 0x01);
    buf_put_u16(&buf, 0x0302);
    buf_put_u32(&buf, 0x07060504);
    buf_put_u64(&buf, 0x0F0E0D0C0B0A0908);
    buf_put_i64(&buf, -2);
    buf_put_u32_be(&buf, 0x01020304);
    const uint8_t want[] = {1,  2,    3,    4,    5,    6,    7,    8,    9,    10, 11, 12, 13, 14,
                            15, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1,  2,  3,  4};
    ck_assert(bytes_equal(buf_bytes(&buf), (struct bytes){want, sizeof want}));
    buf_set_u32(&buf, 1, 0xAABBCCDD);
    ck_assert_mem_eq(buf.data, "\x01\xDD\xCC\xBB\xAA\x06", 6);
    buf_set_u32(&buf, sizeof want - 4, 0);
    ck_assert_mem_eq(buf.data + sizeof want - 5, "\xFF\0\0\0\0", 5);
}
END_TEST

START_TEST(test_set_past_the_end_aborts) {
    SCOPE_BUF struct buf buf = {0};
    buf_put_u32(&buf, 1);
    buf_set_u32(&buf, 1, 2);
}
END_TEST

START_TEST(test_growth_keeps_the_content) {
    SCOPE_BUF struct buf buf = {0};
    for (unsigned i = 0; i < 5000; i++) buf_put_u8(&buf, (uint8_t)(i % 251));
    ck_assert(!buf.failed);
    ck_assert_uint_eq(buf.len, 5000);
    ck_assert_uint_ge(buf.cap, 5000);
    for (unsigned i = 0; i < 5000; i++) {
        if (buf.data[i] != i % 251) ck_abort_msg("byte %u", i);
    }
}
END_TEST

START_TEST(test_put_of_nothing) {
    SCOPE_BUF struct buf buf = {0};
    buf_put(&buf, NULL, 0);
    ck_assert(!buf.failed);
    ck_assert_ptr_null(buf.data);
}
END_TEST

START_TEST(test_reset_keeps_small_memory_only) {
    SCOPE_BUF struct buf buf = {0};
    buf_put(&buf, "0123456789", 10);
    uint8_t *data = buf.data;
    size_t cap = buf.cap;
    buf_reset(&buf, cap);
    ck_assert_ptr_eq(buf.data, data);
    ck_assert_uint_eq(buf.len, 0);
    buf_reset(&buf, cap - 1);
    ck_assert_ptr_null(buf.data);
    ck_assert_uint_eq(buf.cap, 0);
    buf_put_u8(&buf, 7);
    ck_assert_uint_eq(buf.len, 1);
}
END_TEST

static bool fail_always(void) { return true; }

START_TEST(test_failure_lasts_until_reset) {
    SCOPE_BUF struct buf buf = {0};
    buf_put_u8(&buf, 1);
    size_t cap = buf.cap;
    mem_set_fault_hook(fail_always);
    ck_assert(!buf_reserve(&buf, cap));
    mem_set_fault_hook(NULL);
    ck_assert(buf.failed);
    buf_put_u8(&buf, 2);
    buf_set_u32(&buf, 1000, 3); // nothing, and no CHECK
    ck_assert_uint_eq(buf.len, 1);
    ck_assert_uint_eq(buf.data[0], 1);
    ck_assert(!buf_reserve(&buf, 0));
    buf_reset(&buf, cap);
    ck_assert(!buf.failed);
    ck_assert(buf_reserve(&buf, cap));
}
END_TEST

START_TEST(test_impossible_size_fails) {
    SCOPE_BUF struct buf buf = {0};
    buf_put_u8(&buf, 1);
    ck_assert(!buf_reserve(&buf, SIZE_MAX));
    ck_assert(buf.failed);
    ck_assert_uint_eq(buf.len, 1);
}
END_TEST

// --- readers ------------------------------------------------------------------------------------

START_TEST(test_reader_reads_what_was_put) {
    SCOPE_BUF struct buf buf = {0};
    buf_put_u8(&buf, 0xFE);
    buf_put_u16(&buf, 0xFEDC);
    buf_put_u32(&buf, 0xFEDCBA98);
    buf_put_u32_be(&buf, 0xFEDCBA98);
    buf_put_u64(&buf, 0xFEDCBA9876543210);
    buf_put_i64(&buf, INT64_MIN);
    buf_put(&buf, "rest", 4);
    struct reader reader = reader_init(buf_bytes(&buf));
    ck_assert_uint_eq(reader_u8(&reader), 0xFE);
    ck_assert_uint_eq(reader_u16(&reader), 0xFEDC);
    ck_assert_uint_eq(reader_u32(&reader), 0xFEDCBA98);
    ck_assert_uint_eq(reader_u32_be(&reader), 0xFEDCBA98);
    ck_assert_uint_eq(reader_u64(&reader), 0xFEDCBA9876543210);
    ck_assert_int_eq(reader_i64(&reader), INT64_MIN);
    ck_assert(!reader_is_done(&reader));
    ck_assert(bytes_equal(reader_bytes(&reader, 4), bytes_of("rest")));
    ck_assert(reader_is_done(&reader));
    ck_assert_uint_eq(reader_bytes(&reader, 0).len, 0);
    ck_assert(reader_is_done(&reader));
}
END_TEST

START_TEST(test_reader_past_the_end_stays_failed) {
    struct reader reader = reader_init(bytes_of("abc"));
    ck_assert_uint_eq(reader_u32(&reader), 0);
    ck_assert(reader.failed);
    ck_assert_uint_eq(reader_u8(&reader), 0); // there is a byte, but nobody may trust it
    ck_assert_ptr_null(reader_bytes(&reader, 1).data);
    ck_assert(!reader_is_done(&reader));

    reader = reader_init(bytes_of("abc"));
    ck_assert_uint_eq(reader_bytes(&reader, SIZE_MAX).len, 0);
    ck_assert(reader.failed);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("bytes");
    TCase *tests = tcase_create("bytes");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_equal);
    tcase_add_test(tests, test_utf8_of_every_code_point);
    tcase_add_test(tests, test_utf8_counts);
    tcase_add_test(tests, test_utf8_of_runs);
    tcase_add_test(tests, test_control_characters);
    tcase_add_test(tests, test_cut_at_a_character);
    tcase_add_test(tests, test_put_is_little_endian);
    tcase_add_test_raise_signal(tests, test_set_past_the_end_aborts, SIGABRT);
    tcase_add_test(tests, test_growth_keeps_the_content);
    tcase_add_test(tests, test_put_of_nothing);
    tcase_add_test(tests, test_reset_keeps_small_memory_only);
    tcase_add_test(tests, test_failure_lasts_until_reset);
    tcase_add_test(tests, test_impossible_size_fails);
    tcase_add_test(tests, test_reader_reads_what_was_put);
    tcase_add_test(tests, test_reader_past_the_end_stays_failed);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
