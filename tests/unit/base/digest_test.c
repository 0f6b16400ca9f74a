// SHA-256 against its published vectors, and the framing of parts.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

static void to_hex(const struct digest *digest, char out[2 * DIGEST_BYTES + 1]) {
    for (size_t i = 0; i < DIGEST_BYTES; i++) snprintf(out + 2 * i, 3, "%02x", digest->data[i]);
}

// FIPS 180-4 examples; the last is a million times "a".
static const struct {
    const char *text;
    size_t repeat;
    const char *hex;
} vectors[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

START_TEST(test_vector) {
    size_t len = strlen(vectors[_i].text);
    size_t total = len * vectors[_i].repeat;
    uint8_t *data = malloc(total + 1);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < total; i++) data[i] = (uint8_t)vectors[_i].text[i % len];
    struct digest digest = digest_of((struct bytes){data, total});
    free(data);
    char hex[2 * DIGEST_BYTES + 1];
    to_hex(&digest, hex);
    ck_assert_str_eq(hex, vectors[_i].hex);
}
END_TEST

// Each part is preceded by its length as u64 little-endian; computed here from the plain digest.
START_TEST(test_parts_are_framed) {
    const struct bytes parts[] = {bytes_of("ab"), {0}, bytes_of("c")};
    const char framed[] = "\2\0\0\0\0\0\0\0"
                          "ab"
                          "\0\0\0\0\0\0\0\0"
                          "\1\0\0\0\0\0\0\0"
                          "c";
    struct digest got = digest_parts(parts, 3);
    struct digest want = digest_of((struct bytes){(const uint8_t *)framed, sizeof framed - 1});
    ck_assert_mem_eq(got.data, want.data, DIGEST_BYTES);
}
END_TEST

START_TEST(test_parts_do_not_run_into_each_other) {
    const struct bytes parts[][3] = {
        {bytes_of("ab"), bytes_of("c"), {0}}, {bytes_of("a"), bytes_of("bc"), {0}},
        {bytes_of("abc"), {0}, {0}},          {{0}, bytes_of("abc"), {0}},
        {{0}, {0}, bytes_of("abc")},
    };
    struct digest digests[5];
    for (size_t i = 0; i < 5; i++) {
        digests[i] = digest_parts(parts[i], 3);
        for (size_t j = 0; j < i; j++) {
            ck_assert_mem_ne(digests[i].data, digests[j].data, DIGEST_BYTES);
        }
    }
    struct digest shorter = digest_parts(parts[2], 2);
    ck_assert_mem_ne(shorter.data, digests[2].data, DIGEST_BYTES);
}
END_TEST

START_TEST(test_no_parts) {
    struct digest none = digest_parts(NULL, 0);
    struct digest empty = digest_of((struct bytes){0});
    ck_assert_mem_eq(none.data, empty.data, DIGEST_BYTES);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("digest");
    TCase *tests = tcase_create("digest");
    tcase_add_loop_test(tests, test_vector, 0, (int)(sizeof vectors / sizeof vectors[0]));
    tcase_add_test(tests, test_parts_are_framed);
    tcase_add_test(tests, test_parts_do_not_run_into_each_other);
    tcase_add_test(tests, test_no_parts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
