// What RocksDB's texts mean: the wordings of the library that is built against.
#include "store/rocks_error.h"

#include <string.h>

#include <check.h>

struct text_case {
    const char *text;
    enum err running;
    enum err opening;
};

static const struct text_case text_cases[] = {
    {"Result incomplete: no blocking io", ERR_WOULD_BLOCK, ERR_WOULD_BLOCK},
    {"Corruption: block checksum mismatch: stored = 1", ERR_CORRUPT, ERR_CORRUPT},
    {"IO error: lock hold by current process, acquire time 1 acquiring thread 2: d/LOCK: No locks "
     "available",
     ERR_LOCKED, ERR_LOCKED},
    {"IO error: While lock file: d/LOCK: Resource temporarily unavailable", ERR_LOCKED, ERR_LOCKED},
    {"IO error: No space left on device: While appending to file: d/000004.log", ERR_IO, ERR_IO},
    {"IO error: No such file or directory: While open a file: d/MANIFEST-000005", ERR_IO,
     ERR_CORRUPT},
    {"Invalid argument: Column families not opened: later", ERR_IO, ERR_CORRUPT},
    {"Not implemented: ", ERR_IO, ERR_IO},
    {"Busy: Result incomplete", ERR_IO, ERR_IO}, // only the beginning counts
    {"", ERR_IO, ERR_IO},
};

START_TEST(texts_have_codes) {
    for (size_t i = 0; i < sizeof text_cases / sizeof text_cases[0]; i++) {
        const struct text_case *it = &text_cases[i];
        ck_assert_msg(rocks_error_code(it->text) == it->running, "%s", it->text);
        ck_assert_msg(rocks_error_open_code(it->text) == it->opening, "opening: %s", it->text);
    }
}
END_TEST

START_TEST(taken_texts_are_freed_and_coded) { // a leak is the sanitizer's to notice
    ck_assert_int_eq(rocks_error_take(strdup("Corruption: x"), "a test"), ERR_CORRUPT);
    ck_assert_int_eq(rocks_error_take(strdup("Result incomplete: x"), "a test"), ERR_WOULD_BLOCK);
}
END_TEST

int main(void) {
    TCase *cases = tcase_create("rocks_error");
    tcase_add_test(cases, texts_have_codes);
    tcase_add_test(cases, taken_texts_are_freed_and_coded);
    Suite *suite = suite_create("store/rocks_error");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
