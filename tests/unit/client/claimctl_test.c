// claimctl's parts: what people type and what they are shown.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "output.h"
#include "text.h"
#include "value.h"

START_TEST(test_durations) {
    static const struct {
        const char *text;
        int64_t ms; // -1: refused
    } rows[] = {
        {"0s", 0},
        {"0ms", 0},
        {"100ms", 100},
        {"1.5s", 1500},
        {"0.001s", 1},
        {"30s", 30000},
        {"5m", 300000},
        {"2h", 7200000},
        {"7d", 604800000},
        {"0.5d", 43200000},
        {"007s", 7000},
        {"106751d", INT64_C(9223286400000)},
        {"1.5ms", -1}, // no such thing as half a millisecond
        {"0.0001s", -1},
        {"", -1},
        {"s", -1},
        {"10", -1},
        {"-1s", -1},
        {"+1s", -1},
        {" 1s", -1},
        {"1s ", -1},
        {"1 s", -1},
        {".5s", -1},
        {"1.s", -1},
        {"1h30m", -1},
        {"1S", -1},
        {"1w", -1},
        {"9223372036854775807ms", -1},
        {"99999999999999999999s", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -2;
        bool taken = value_parse_duration_ms(rows[i].text, &ms);
        ck_assert_msg(taken == (rows[i].ms >= 0), "%s", rows[i].text);
        ck_assert_int_eq(ms, taken ? rows[i].ms : -2);
    }
}
END_TEST

#define NOW INT64_C(1785585600000) // 2026-08-01T12:00:00Z

START_TEST(test_times) {
    static const struct {
        const char *text;
        int64_t ms; // INT64_MIN: refused
    } rows[] = {
        {"now", NOW},
        {"-7d", NOW - INT64_C(604800000)},
        {"-0s", NOW},
        {"2026-08-01T12:00:00Z", NOW},
        {"2026-08-01t12:00:00z", NOW},
        {"2026-08-01 12:00:00Z", NOW},
        {"2026-08-01T12:00:00.25Z", NOW + 250},
        {"2026-08-01T12:00:00.2509999Z", NOW + 250},
        {"2026-08-01T14:30:00+02:30", NOW},
        {"2026-08-01T00:00:00-12:00", NOW},
        {"1970-01-01T00:00:00Z", 0},
        {"1969-12-31T23:59:59.999Z", -1},
        {"2000-02-29T00:00:00Z", INT64_C(951782400000)},
        {"2024-02-29T23:59:59Z", INT64_C(1709251199000)},
        {"0001-01-01T00:00:00Z", INT64_C(-62135596800000)},
        {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
        {"0001-01-01T00:00:00+00:01", INT64_MIN},
        {"9999-12-31T23:59:59-00:01", INT64_MIN},
        {"0000-01-01T00:00:00Z", INT64_MIN},
        {"1900-02-29T00:00:00Z", INT64_MIN},
        {"2026-02-29T00:00:00Z", INT64_MIN},
        {"2026-13-01T00:00:00Z", INT64_MIN},
        {"2026-00-01T00:00:00Z", INT64_MIN},
        {"2026-01-00T00:00:00Z", INT64_MIN},
        {"2026-04-31T00:00:00Z", INT64_MIN},
        {"2026-08-01T24:00:00Z", INT64_MIN},
        {"2026-08-01T12:60:00Z", INT64_MIN},
        {"2026-08-01T12:00:60Z", INT64_MIN},
        {"2026-08-01T12:00:00", INT64_MIN}, // of which zone?
        {"2026-08-01T12:00:00.Z", INT64_MIN},
        {"2026-08-01T12:00:00+24:00", INT64_MIN},
        {"2026-08-01T12:00:00+0200", INT64_MIN},
        {"2026-08-01T12:00:00Zjunk", INT64_MIN},
        {"2026-8-1T12:00:00Z", INT64_MIN},
        {"2026-08-01", INT64_MIN},
        {"", INT64_MIN},
        {"-", INT64_MIN},
        {"7d", INT64_MIN},
        {"--7d", INT64_MIN},
        {"Now", INT64_MIN},
        {"-99999999d", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -2;
        bool taken = value_parse_time_ms(rows[i].text, NOW, &ms);
        ck_assert_msg(taken == (rows[i].ms != INT64_MIN), "%s", rows[i].text);
        ck_assert_int_eq(ms, taken ? rows[i].ms : -2);
    }
}
END_TEST

// What is shown can be typed: every day of the calendar's cycle, and the ends of it.
START_TEST(test_times_come_back) {
    char text[VALUE_TEXT_BYTES];
    for (int64_t day = -366 * 400; day <= 366 * 400; day++) {
        int64_t given_ms = day * 86400000 + (day & 1 ? 86399999 : 1);
        int64_t ms = 0;
        ck_assert(value_parse_time_ms(value_time_text(given_ms, text), 0, &ms));
        ck_assert_int_eq(ms, given_ms);
    }
    ck_assert_str_eq(value_time_text(INT64_MIN, text), "0001-01-01T00:00:00.000Z");
    ck_assert_str_eq(value_time_text(INT64_MAX, text), "9999-12-31T23:59:59.999Z");
    ck_assert_str_eq(value_time_text(NOW + 7, text), "2026-08-01T12:00:00.007Z");
}
END_TEST

START_TEST(test_duration_texts) {
    char text[VALUE_TEXT_BYTES];
    ck_assert_str_eq(value_duration_text(0, text), "0.000s");
    ck_assert_str_eq(value_duration_text(1500, text), "1.500s");
    ck_assert_str_eq(value_duration_text(-250, text), "-0.250s");
    ck_assert_str_eq(value_duration_text(INT64_MIN, text), "-9223372036854775.808s");
}
END_TEST

START_TEST(test_numbers_and_hex) {
    uint64_t number = 7;
    ck_assert(value_parse_u64("18446744073709551615", &number));
    ck_assert_uint_eq(number, UINT64_MAX);
    static const char *const bad[] = {"", "18446744073709551616", "-1", "+1", "0x1", "1 ", "1.0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert(!value_parse_u64(bad[i], &number));
    }
    ck_assert_uint_eq(number, UINT64_MAX);

    uint8_t bytes[3];
    size_t used = 9;
    ck_assert(value_parse_hex("00ffAb", bytes, sizeof bytes, &used));
    ck_assert_uint_eq(used, 3);
    ck_assert_mem_eq(bytes, "\x00\xFF\xAB", 3);
    ck_assert(!value_parse_hex("00ffAb01", bytes, sizeof bytes, &used));
    ck_assert(!value_parse_hex("0", bytes, sizeof bytes, &used));
    ck_assert(!value_parse_hex("0g", bytes, sizeof bytes, &used));
    ck_assert(!value_parse_hex(" 00", bytes, sizeof bytes, &used));
    ck_assert(value_parse_hex("", bytes, sizeof bytes, &used));
    ck_assert_uint_eq(used, 0);
}
END_TEST

static void check_free(char *text, const char *expected) {
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(test_texts) {
    check_free(text_base64("", 0), "");
    check_free(text_base64("f", 1), "Zg==");
    check_free(text_base64("fo", 2), "Zm8=");
    check_free(text_base64("foo", 3), "Zm9v");
    check_free(text_base64("\xFB\xEF\xFF\x00", 4), "++//AA==");
    check_free(text_hex("\x00\xFFz", 3), "00ff7a");
    check_free(text_hex_summary("\x01\x02\x03", 3, 3), "3 bytes: 010203");
    check_free(text_hex_summary("\x01\x02\x03", 3, 2), "3 bytes: 0102...");
    check_free(text_copy("abc", 2), "ab");
    check_free(text_escape("a\n\x1B\x7F\xC3\xA4\xC2\x9B\xFF", 9),
               "a\\x0a\\x1b\\x7fä\\xc2\\x9b\\xff");
}
END_TEST

START_TEST(test_what_is_printable) {
    static const struct {
        const char *text;
        bool printable;
    } rows[] = {
        {"", true},
        {"plain\ttext\n", true},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", true},
        {"\xC2\xA0", true},
        {"\r", false},
        {"\x1B[2J", false},
        {"\x7F", false},
        {"\xC2\x80", false},         // C1
        {"\xC3", false},             // cut
        {"\xE2\x82", false},         // cut
        {"\xC0\x80", false},         // overlong
        {"\xE0\x80\x80", false},     // overlong
        {"\xF0\x80\x80\x80", false}, // overlong
        {"\xED\xA0\x80", false},     // a surrogate
        {"\xF4\x90\x80\x80", false}, // beyond U+10FFFF
        {"\xE2\x28\xA1", false},
        {"\xF0\x9F\x28\x80", false},
        {"\x80", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(text_is_printable(rows[i].text, strlen(rows[i].text)) == rows[i].printable,
                      "row %zu", i);
    }
    ck_assert(!text_is_printable("a\0b", 3));
}
END_TEST

START_TEST(test_nearest_words) {
    static const char *const words[] = {"begin", "complete", "result-file", NULL};
    ck_assert_str_eq(option_nearest("bgin", words), "begin");
    ck_assert_str_eq(option_nearest("begni", words), "begin");
    ck_assert_str_eq(option_nearest("comp", words), "complete");
    ck_assert_str_eq(option_nearest("result_file", words), "result-file");
    ck_assert_ptr_null(option_nearest("frobnicate", words));
    ck_assert_ptr_null(option_nearest("", words));
    ck_assert_uint_eq(text_distance("", "abc"), 3);
    ck_assert_uint_eq(text_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(text_distance("abc", "abc"), 0);
}
END_TEST

static void describe(struct output *out) {
    output_word(out, "state", "PROCESSING");
    output_u64(out, "token", UINT64_MAX);
    output_u32(out, "attempt", 2);
    output_bool(out, "replayed", false);
    output_flag(out, "lapsed", false);
    output_text(out, "owner", "w\x1B");
    output_text(out, "reason", "");
    output_open(out, "lease");
    output_duration(out, "remaining", 1500);
    output_time(out, "expire_time", CLAIMD_UNSET_MS);
    output_close(out);
    output_open(out, "takeover");
    output_close(out);
    output_body(out, "result", claimd_bytes_of("r"));
    output_body(out, "payload", claimd_bytes_of(NULL));
    output_digest(out, "fingerprint", claimd_bytes_of("\xFF"));
    for (uint32_t i = 1; i <= 2; i++) {
        output_open_item(out, "attempts");
        output_u32(out, "attempt", i);
        output_word(out, "end", "LAPSED");
        output_close(out);
    }
}

static void check_output(enum output_format format, const char *expected) {
    struct output out;
    output_init(&out, format);
    describe(&out);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    ck_assert(output_finish(&out, file));
    fclose(file);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(test_output) {
    check_output(OUTPUT_JSON,
                 "{\"state\":\"PROCESSING\",\"token\":\"18446744073709551615\",\"attempt\":2,"
                 "\"replayed\":false,\"owner\":\"w\\u001B\",\"lease\":{\"remaining\":\"1.500s\"},"
                 "\"result\":\"cg==\",\"fingerprint\":\"/w==\",\"attempts\":["
                 "{\"attempt\":1,\"end\":\"LAPSED\"},{\"attempt\":2,\"end\":\"LAPSED\"}]}\n");
    check_output(OUTPUT_TABLE, "state            PROCESSING\n"
                               "token            18446744073709551615\n"
                               "attempt          2\n"
                               "replayed         false\n"
                               "owner            w\\x1b\n"
                               "lease.remaining  1.500s\n"
                               "result           r\n"
                               "fingerprint      ff\n"
                               "attempts         attempt=1  end=LAPSED\n"
                               "                 attempt=2  end=LAPSED\n");
}
END_TEST

START_TEST(test_a_full_device_is_noticed) {
    struct output out;
    output_init(&out, OUTPUT_JSON);
    describe(&out);
    FILE *full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    ck_assert(!output_finish(&out, full));
    fclose(full);
}
END_TEST

START_TEST(test_too_deep_is_refused_not_lost) {
    struct output out;
    output_init(&out, OUTPUT_JSON);
    for (int i = 0; i < OUTPUT_DEPTH_MAX; i++) output_open(&out, "deeper");
    for (int i = 0; i < OUTPUT_DEPTH_MAX; i++) output_close(&out);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    ck_assert(!output_finish(&out, file));
    fclose(file);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("claimctl");
    TCase *tcase = tcase_create("claimctl");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_durations);
    tcase_add_test(tcase, test_times);
    tcase_add_test(tcase, test_times_come_back);
    tcase_add_test(tcase, test_duration_texts);
    tcase_add_test(tcase, test_numbers_and_hex);
    tcase_add_test(tcase, test_texts);
    tcase_add_test(tcase, test_what_is_printable);
    tcase_add_test(tcase, test_nearest_words);
    tcase_add_test(tcase, test_output);
    tcase_add_test(tcase, test_a_full_device_is_noticed);
    tcase_add_test(tcase, test_too_deep_is_refused_not_lost);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
