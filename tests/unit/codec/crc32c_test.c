// CRC-32C against its published check values and against the definition, bit by bit.
#include <check.h>
#include <stdlib.h>

#include "base/rand.h"
#include "codec/crc32c.h"

// The definition: polynomial 0x1EDC6F41, reflected, inverted before and after.
static uint32_t by_definition(struct bytes bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

START_TEST(test_vectors) {
    ck_assert_uint_eq(crc32c(0, bytes_of("123456789")), 0xE3069283u);
    ck_assert_uint_eq(crc32c(0, bytes_of("")), 0);
    ck_assert_uint_eq(crc32c(0, bytes_of("a")), 0xC1D04330u);

    // RFC 3720, B.4.
    uint8_t data[32] = {0};
    struct bytes bytes = {data, sizeof data};
    ck_assert_uint_eq(crc32c(0, bytes), 0x8A9136AAu);
    for (unsigned i = 0; i < sizeof data; i++) data[i] = 0xFF;
    ck_assert_uint_eq(crc32c(0, bytes), 0x62A8AB43u);
    for (unsigned i = 0; i < sizeof data; i++) data[i] = (uint8_t)i;
    ck_assert_uint_eq(crc32c(0, bytes), 0x46DD794Eu);
}
END_TEST

START_TEST(test_every_length_and_split) {
    uint8_t data[300];
    struct rand rand = rand_from_seed(1);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)rand_u64(&rand);
    for (size_t len = 0; len <= sizeof data; len++) {
        uint32_t want = by_definition((struct bytes){data, len});
        if (crc32c(0, (struct bytes){data, len}) != want) ck_abort_msg("length %zu", len);
        size_t cut = len == 0 ? 0 : rand_u64(&rand) % len;
        uint32_t front = crc32c(0, (struct bytes){data, cut});
        if (crc32c(front, (struct bytes){data + cut, len - cut}) != want) {
            ck_abort_msg("length %zu cut at %zu", len, cut);
        }
    }
}
END_TEST

// Longer than what one step of the implementation takes.
START_TEST(test_long_runs) {
    size_t len = (3u << 20) + 17;
    uint8_t *data = malloc(len);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < len; i++) data[i] = (uint8_t)(i * 2654435761u >> 24);
    struct bytes bytes = {data, len};
    ck_assert_uint_eq(crc32c(0, bytes), by_definition(bytes));
    free(data);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("crc32c");
    TCase *tests = tcase_create("crc32c");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_vectors);
    tcase_add_test(tests, test_every_length_and_split);
    tcase_add_test(tests, test_long_runs);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
