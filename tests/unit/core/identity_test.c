// Names and IDs at their bounds, the effect key against an independent computation, the hash.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/identity.h"

#define CONSUMER_LENGTH "must be 1 to 128 bytes"
#define MESSAGE_ID_LENGTH "must be 1 to 1024 bytes"
#define NOT_UTF8 "must be valid UTF-8"
#define HAS_CONTROL "must not contain control characters"
#define HAS_NUL "must not contain NUL"

static const struct {
    struct bytes text;
    const char *consumer_fault;
    const char *message_id_fault;
} texts[] = {
#define TEXT(literal)                                                                              \
    { (const uint8_t *)(literal), sizeof(literal) - 1 }
    {TEXT(""), CONSUMER_LENGTH, MESSAGE_ID_LENGTH},
    {TEXT("a"), NULL, NULL},
    {TEXT("billing/capture"), NULL, NULL},
    {TEXT(" spaces kept "), NULL, NULL},
    {TEXT("Stra\xC3\x9F"
          "e \xE2\x82\xAC \xF0\x9F\x92\xB3"),
     NULL, NULL},
    {TEXT("\xC2\xA0"), NULL, NULL},                 // the first character behind the C1 set
    {TEXT("\xE0\xA4\x85\xE2\x80\x85"), NULL, NULL}, // 0x85 as the end of other characters
    {TEXT("a\0b"), HAS_CONTROL, HAS_NUL},
    {TEXT("\0"), HAS_CONTROL, HAS_NUL},
    {TEXT("tab\t"), HAS_CONTROL, NULL},
    {TEXT("line\n"), HAS_CONTROL, NULL},
    {TEXT("\x1F"), HAS_CONTROL, NULL},
    {TEXT("\x7F"), HAS_CONTROL, NULL},
    {TEXT("\xC2\x80"), HAS_CONTROL, NULL},
    {TEXT("next\xC2\x85line"), HAS_CONTROL, NULL},
    {TEXT("\xC2\x9F"), HAS_CONTROL, NULL},
    {TEXT("\xFF"), NOT_UTF8, NOT_UTF8},
    {TEXT("cut\xC3"), NOT_UTF8, NOT_UTF8},
    {TEXT("\xC0\x80"), NOT_UTF8, NOT_UTF8},     // NUL in two bytes
    {TEXT("\xED\xA0\x80"), NOT_UTF8, NOT_UTF8}, // a surrogate
#undef TEXT
};

static void expect_fault(const char *fault, const char *want) {
    if (want == NULL) {
        ck_assert_ptr_null(fault);
    } else {
        ck_assert_pstr_eq(fault, want);
    }
}

START_TEST(test_fault) {
    expect_fault(identity_consumer_fault(texts[_i].text), texts[_i].consumer_fault);
    expect_fault(identity_message_id_fault(texts[_i].text), texts[_i].message_id_fault);
}
END_TEST

START_TEST(test_bounds) {
    uint8_t text[LIMIT_MESSAGE_ID_BYTES_MAX + 1];
    memset(text, 'z', sizeof text);
    expect_fault(identity_consumer_fault((struct bytes){text, 128}), NULL);
    expect_fault(identity_consumer_fault((struct bytes){text, 129}), CONSUMER_LENGTH);
    expect_fault(identity_message_id_fault((struct bytes){text, 1024}), NULL);
    expect_fault(identity_message_id_fault((struct bytes){text, 1025}), MESSAGE_ID_LENGTH);
}
END_TEST

// Computed apart from this code, with
//   python3 -c 'import hashlib, struct
//   parts = [tenant, consumer, message_id, struct.pack("<I", reopens)]
//   data = b"".join(struct.pack("<Q", len(p)) + p for p in parts)
//   print(hashlib.sha256(data).hexdigest()[:32])'
static const struct {
    const char *tenant;
    const char *consumer;
    const char *message_id;
    uint32_t reopens;
    const char *key;
} effect_keys[] = {
    {"", "billing/capture", "pi_123:captured", 0, "4ad0890207cd6c6079bdaf43f18addc3"},
    {"acme", "billing/capture", "pi_123:captured", 0, "45749a83d672aab01b72347a28515c81"},
    {"acme", "billing/capture", "pi_123:captured", 1, "e4f688b4ebdb4a743117dcaa56cc31df"},
    {"acme", "billing/capture", "pi_123:captured", 0x01020304, "f4a9d04dd1bbc1635776359d1f0fa0d1"},
    {"", "a|b", "c", 0, "2a3a34d68503790087144fb3a072dcbd"},
    {"", "a", "b|c", 0, "4a4c774abcfd682f498dcac7ce90658c"},
};

START_TEST(test_effect_key) {
    struct identity identity = {.tenant = bytes_of(effect_keys[_i].tenant),
                                .consumer = bytes_of(effect_keys[_i].consumer),
                                .message_id = bytes_of(effect_keys[_i].message_id)};
    char key[IDENTITY_EFFECT_KEY_CHARS + 1];
    memset(key, 'x', sizeof key);
    identity_effect_key(&identity, effect_keys[_i].reopens, key);
    ck_assert_str_eq(key, effect_keys[_i].key);
    for (int other = 0; other < _i; other++) ck_assert_str_ne(key, effect_keys[other].key);
}
END_TEST

// --- the hash -----------------------------------------------------------------------------------

START_TEST(test_hash_sees_every_bit_and_the_length) {
    uint8_t key[41] = {0};
    uint64_t seen[42 * 9];
    size_t count = 0;
    for (size_t len = 0; len <= sizeof key; len++) {
        seen[count++] = identity_hash((struct bytes){len == 0 ? NULL : key, len});
    }
    for (size_t bit = 0; bit < 8 * sizeof key; bit++) {
        key[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        seen[count++] = identity_hash((struct bytes){key, sizeof key});
        key[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (seen[i] == seen[j]) ck_abort_msg("%zu and %zu", i, j);
        }
    }
}
END_TEST

// Numbered IDs, the worst that producers do, must fill a table evenly by their low bits (and by the
// high ones): chi-squared over 1,024 slots, of which the deviation is sqrt(2 * 1023), about 45.
START_TEST(test_hash_spreads) {
    enum { SLOTS = 1024, KEYS = 64 * SLOTS };
    static uint32_t low[SLOTS];
    static uint32_t high[SLOTS];
    char key[32];
    for (int i = 0; i < KEYS; i++) {
        int len = snprintf(key, sizeof key, "%c%c%corder-%08d", 0, 0, _i, i);
        uint64_t hash = identity_hash((struct bytes){(const uint8_t *)key, (size_t)len});
        low[hash % SLOTS]++;
        high[hash >> 54]++;
    }
    double chi_low = 0;
    double chi_high = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        double off_low = (double)low[i] - 64;
        double off_high = (double)high[i] - 64;
        chi_low += off_low * off_low / 64;
        chi_high += off_high * off_high / 64;
    }
    ck_assert_double_lt(chi_low, 1023 + 6 * 45);
    ck_assert_double_lt(chi_high, 1023 + 6 * 45);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("identity");
    TCase *tests = tcase_create("identity");
    tcase_add_loop_test(tests, test_fault, 0, (int)(sizeof texts / sizeof texts[0]));
    tcase_add_test(tests, test_bounds);
    tcase_add_loop_test(tests, test_effect_key, 0,
                        (int)(sizeof effect_keys / sizeof effect_keys[0]));
    tcase_add_test(tests, test_hash_sees_every_bit_and_the_length);
    tcase_add_loop_test(tests, test_hash_spreads, 0, 4);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
