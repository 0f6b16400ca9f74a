// Composite keys, bytes and the words of the API: what needs no connection.
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <claimd.h>

START_TEST(test_join) {
    static const struct {
        const char *parts[4];
        size_t count;
        const char *key;
    } rows[] = {
        {{"a"}, 1, "a"},
        {{""}, 1, ""},
        {{"a", "b"}, 2, "a:b"},
        {{"", ""}, 2, ":"},
        {{"pi_1", "captured", "2"}, 3, "pi_1:captured:2"},
        {{"a:b", "c"}, 2, "a%3Ab:c"},
        {{"a", "b:c"}, 2, "a:b%3Ac"},
        {{"100%", "%3A"}, 2, "100%25:%253A"},
        {{"a|b", "\xC3\xA4 ", "%", ":"}, 4, "a|b:\xC3\xA4 :%25:%3A"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *key = claimd_key_join(rows[i].parts, rows[i].count);
        ck_assert_str_eq(key, rows[i].key);
        claimd_free(key);
    }
}
END_TEST

// All ways to make up to three parts of a small alphabet: different parts, different keys.
START_TEST(test_different_parts_make_different_keys) {
    static const char *const words[] = {"", "a", ":", "%", "3A", "%3A", "a:", "25"};
    enum { WORDS = sizeof words / sizeof words[0], KEYS = WORDS + WORDS * WORDS + 512 };
    char *keys[KEYS];
    size_t count = 0;
    for (size_t parts = 1; parts <= 3; parts++) {
        size_t ways = parts == 1 ? WORDS : parts == 2 ? WORDS * WORDS : WORDS * WORDS * WORDS;
        for (size_t way = 0; way < ways; way++) {
            const char *list[] = {words[way % WORDS], words[way / WORDS % WORDS],
                                  words[way / WORDS / WORDS]};
            keys[count++] = claimd_key_join(list, parts);
        }
    }
    ck_assert_uint_eq(count, KEYS);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) ck_assert_str_ne(keys[i], keys[j]);
    }
    for (size_t i = 0; i < count; i++) claimd_free(keys[i]);
}
END_TEST

START_TEST(test_no_parts_no_key) {
    const char *const parts[] = {"a", NULL};
    errno = 0;
    ck_assert_ptr_null(claimd_key_join(parts, 0));
    ck_assert_int_eq(errno, EINVAL);
    errno = 0;
    ck_assert_ptr_null(claimd_key_join(parts, 2));
    ck_assert_int_eq(errno, EINVAL);
    claimd_free(NULL);
}
END_TEST

START_TEST(test_bytes) {
    ck_assert_ptr_null(claimd_bytes_of(NULL).data);
    ck_assert_ptr_nonnull(claimd_bytes_of("").data);
    ck_assert_uint_eq(claimd_bytes_of("").size, 0);
    ck_assert_uint_eq(claimd_bytes_of("abc").size, 3);
}
END_TEST

START_TEST(test_words) {
    ck_assert_str_eq(claimd_version(), CLAIMD_VERSION_STRING);
    ck_assert_str_eq(claimd_state_name(CLAIMD_STATE_UNSPECIFIED), "UNSPECIFIED");
    ck_assert_str_eq(claimd_state_name(CLAIMD_STATE_PROCESSING), "PROCESSING");
    ck_assert_str_eq(claimd_state_name(CLAIMD_STATE_DISCARDED), "DISCARDED");
    ck_assert_str_eq(claimd_state_name((enum claimd_state)9), "UNRECOGNIZED");
    ck_assert_str_eq(claimd_failure_kind_name(CLAIMD_FAILURE_LAPSED), "LAPSED");
    ck_assert_str_eq(claimd_failure_kind_name((enum claimd_failure_kind)6), "UNRECOGNIZED");
    ck_assert_str_eq(claimd_attempt_end_name(CLAIMD_END_REJECTED), "REJECTED");
    ck_assert_str_eq(claimd_attempt_end_name((enum claimd_attempt_end)8), "UNRECOGNIZED");
    ck_assert_str_eq(claimd_begin_outcome_name(CLAIMD_BEGIN_OUT_OF_ORDER), "OUT_OF_ORDER");
    ck_assert_str_eq(claimd_status_name(CLAIMD_OK), "OK");
    ck_assert_str_eq(claimd_status_name(CLAIMD_UNAUTHENTICATED), "UNAUTHENTICATED");
    ck_assert_str_eq(claimd_status_name((enum claimd_status)17), "UNRECOGNIZED");
    ck_assert(!claimd_error_is_stale_token(NULL));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("key");
    TCase *tcase = tcase_create("key");
    tcase_set_timeout(tcase, 0); // the runner's limit holds
    tcase_add_test(tcase, test_join);
    tcase_add_test(tcase, test_different_parts_make_different_keys);
    tcase_add_test(tcase, test_no_parts_no_key);
    tcase_add_test(tcase, test_bytes);
    tcase_add_test(tcase, test_words);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
