// Keys: one per identity, in the order of consumers; meta values: read back, or refused.
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scope.h"
#include "codec/crc32c.h"
#include "codec/keyspace.h"

static struct bytes hex(const char *text, uint8_t *out) {
    size_t len = strlen(text) / 2;
    for (size_t i = 0; i < len; i++) ck_assert_int_eq(sscanf(text + 2 * i, "%2hhx", &out[i]), 1);
    return (struct bytes){out, len};
}

// --- families -----------------------------------------------------------------------------------

START_TEST(test_final_records_live_in_done) {
    ck_assert_int_eq(keyspace_family_of(CLAIM_RECEIVED), KEYSPACE_OPEN);
    ck_assert_int_eq(keyspace_family_of(CLAIM_PROCESSING), KEYSPACE_OPEN);
    ck_assert_int_eq(keyspace_family_of(CLAIM_RETRYING), KEYSPACE_OPEN);
    ck_assert_int_eq(keyspace_family_of(CLAIM_UNKNOWN), KEYSPACE_OPEN);
    ck_assert_int_eq(keyspace_family_of(CLAIM_SUCCEEDED), KEYSPACE_DONE);
    ck_assert_int_eq(keyspace_family_of(CLAIM_REJECTED), KEYSPACE_DONE);
    ck_assert_int_eq(keyspace_family_of(CLAIM_DEAD_LETTERED), KEYSPACE_OPEN);
    ck_assert_int_eq(keyspace_family_of(CLAIM_DISCARDED), KEYSPACE_DONE);
}
END_TEST

// --- claim keys ---------------------------------------------------------------------------------

static const struct {
    const char *message_id;
    const char *key; // in hex; the consumer is 0x01020304
} keys[] = {
    {"evt-1", "01020304006576742d31"},
    {"x", "010203040078"},
    {"00112233-4455-6677-8899-aabbccddeeff", "010203040100112233445566778899aabbccddeeff"},
    {"ffffffff-ffff-ffff-ffff-ffffffffffff", "0102030401ffffffffffffffffffffffffffffffff"},
    // One character away from canonical: raw.
    {"00112233-4455-6677-8899-aabbccddeefF",
     "010203040030303131323233332d343435352d363637372d383839392d616162626363646465656646"},
    {"00112233-4455-6677-8899_aabbccddeeff",
     "010203040030303131323233332d343435352d363637372d383839395f616162626363646465656666"},
    {"0011223344556677-8899-aabb-ccdd-eeff",
     "0102030400303031313232333334343535363637372d383839392d616162622d636364642d65656666"},
    {"g0112233-4455-6677-8899-aabbccddeeff",
     "010203040067303131323233332d343435352d363637372d383839392d616162626363646465656666"},
    {"/0112233-4455-6677-8899-aabbccddeeff",
     "01020304002f303131323233332d343435352d363637372d383839392d616162626363646465656666"},
    {":0112233-4455-6677-8899-aabbccddeeff",
     "01020304003a303131323233332d343435352d363637372d383839392d616162626363646465656666"},
    {"`0112233-4455-6677-8899-aabbccddeeff",
     "010203040060303131323233332d343435352d363637372d383839392d616162626363646465656666"},
    {"00112233-4455-6677-8899-aabbccddeef",
     "010203040030303131323233332d343435352d363637372d383839392d6161626263636464656566"},
};

START_TEST(test_claim_key) {
    uint8_t raw[64];
    SCOPE_BUF struct buf key = {0};
    SCOPE_BUF struct buf id = {0};
    uint32_t number = 0;
    keyspace_put_claim(&key, 0x01020304, bytes_of(keys[_i].message_id));
    ck_assert(bytes_equal(buf_bytes(&key), hex(keys[_i].key, raw)));
    buf_put_u8(&id, '>');
    ck_assert_int_eq(keyspace_parse_claim(buf_bytes(&key), &number, &id), ERR_OK);
    ck_assert_uint_eq(number, 0x01020304);
    struct bytes text = {id.data + 1, id.len - 1}; // appended
    ck_assert(bytes_equal(text, bytes_of(keys[_i].message_id)));

    SCOPE_BUF struct buf prefix = {0};
    keyspace_put_consumer_prefix(&prefix, 0x01020304);
    ck_assert_uint_eq(prefix.len, 4);
    ck_assert_mem_eq(prefix.data, key.data, prefix.len);
}
END_TEST

START_TEST(test_message_id_at_the_bound) {
    uint8_t longest[LIMIT_MESSAGE_ID_BYTES_MAX + 1];
    memset(longest, 'm', sizeof longest);
    SCOPE_BUF struct buf key = {0};
    SCOPE_BUF struct buf id = {0};
    uint32_t number;
    keyspace_put_claim(&key, UINT32_MAX, (struct bytes){longest, LIMIT_MESSAGE_ID_BYTES_MAX});
    ck_assert_int_eq(keyspace_parse_claim(buf_bytes(&key), &number, &id), ERR_OK);
    ck_assert_uint_eq(number, UINT32_MAX);
    ck_assert_uint_eq(id.len, LIMIT_MESSAGE_ID_BYTES_MAX);
    buf_put_u8(&key, 'm');
    ck_assert_int_eq(keyspace_parse_claim(buf_bytes(&key), &number, &id), ERR_CORRUPT);
}
END_TEST

START_TEST(test_keys_sort_by_consumer) {
    const uint32_t numbers[] = {0, 1, 255, 256, 65535, 65536, 1u << 24, UINT32_MAX};
    SCOPE_BUF struct buf last = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        SCOPE_BUF struct buf key = {0};
        keyspace_put_claim(&key, numbers[i], bytes_of("m"));
        if (last.len > 0) ck_assert_int_gt(memcmp(key.data, last.data, last.len), 0);
        last.len = 0;
        buf_put(&last, key.data, key.len);
    }
}
END_TEST

static const char *const not_claim_keys[] = {
    "",
    "01020304",
    "0102030400",                                   // no ID
    "0102030401",                                   // no UUID
    "010203040100112233445566778899aabbccddee",     // a byte short
    "010203040100112233445566778899aabbccddeeff00", // a byte long
    "010203040278",                                 // no such tag
    "01020304ff00112233445566778899aabbccddeeff",
    "0102030400ff",     // not UTF-8
    "010203040078007a", // NUL
    // A canonical UUID that was not packed: a second key of one identity.
    "010203040030303131323233332d343435352d363637372d383839392d616162626363646465656666",
};

START_TEST(test_not_a_claim_key) {
    uint8_t raw[64];
    SCOPE_BUF struct buf id = {0};
    uint32_t number = 77;
    struct bytes key = hex(not_claim_keys[_i], raw);
    ck_assert_int_eq(keyspace_parse_claim(key, &number, &id), ERR_CORRUPT);
    ck_assert_uint_eq(number, 77);
}
END_TEST

START_TEST(test_blob_key) {
    uint8_t raw[16];
    SCOPE_BUF struct buf key = {0};
    struct bytes claim = hex("010203040078", raw);
    keyspace_put_blob(&key, claim, KEYSPACE_BLOB_PAYLOAD);
    ck_assert_uint_eq(key.len, claim.len + 1);
    ck_assert_mem_eq(key.data, claim.data, claim.len);
    ck_assert_uint_eq(key.data[claim.len], 3);
}
END_TEST

// --- meta ---------------------------------------------------------------------------------------

static enum err parse_head(struct bytes value) {
    struct keyspace_head head;
    return keyspace_parse_head(value, &head);
}

static enum err parse_clock(struct bytes value) {
    struct keyspace_clock clock;
    return keyspace_parse_clock(value, &clock);
}

static enum err parse_consumer(struct bytes value) {
    struct keyspace_consumer consumer;
    return keyspace_parse_consumer(value, &consumer);
}

static enum err parse_counts(struct bytes value) {
    struct keyspace_counts counts;
    return keyspace_parse_counts(value, &counts);
}

static void reseal(struct buf *value) {
    value->len -= 4;
    buf_put_u32(value, crc32c(0, buf_bytes(value)));
}

// Nothing damaged is accepted, nor another version, nor another length with a right checksum.
static void expect_strict(struct buf *value, enum err (*parse)(struct bytes value)) {
    ck_assert_int_eq(parse(buf_bytes(value)), ERR_OK);
    for (size_t len = 0; len < value->len; len++) {
        ck_assert_int_eq(parse((struct bytes){value->data, len}), ERR_CORRUPT);
    }
    for (size_t bit = 0; bit < 8 * value->len; bit++) {
        value->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        ck_assert_int_eq(parse(buf_bytes(value)), ERR_CORRUPT);
        value->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    value->data[0] = 2;
    reseal(value);
    ck_assert_int_eq(parse(buf_bytes(value)), ERR_CORRUPT);
    value->data[0] = 1;
    buf_put_u8(value, 0);
    reseal(value);
    ck_assert_int_eq(parse(buf_bytes(value)), ERR_CORRUPT);
    value->len -= 2;
    reseal(value);
    ck_assert_int_eq(parse(buf_bytes(value)), ERR_CORRUPT);
    value->len = 1 + 4;
    reseal(value);
    ck_assert_int_eq(parse(buf_bytes(value)), ERR_CORRUPT);
}

START_TEST(test_head) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_head head;
    ck_assert(bytes_equal(keyspace_head_key(), bytes_of("h")));
    keyspace_put_head(&value, &(struct keyspace_head){.position = UINT64_MAX, .term = 7});
    ck_assert_uint_eq(value.len, 1 + 8 + 8 + 4);
    ck_assert_int_eq(keyspace_parse_head(buf_bytes(&value), &head), ERR_OK);
    ck_assert_uint_eq(head.position, UINT64_MAX);
    ck_assert_uint_eq(head.term, 7);
    expect_strict(&value, parse_head);
}
END_TEST

START_TEST(test_clock) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_clock clock;
    ck_assert(bytes_equal(keyspace_clock_key(), bytes_of("c")));
    keyspace_put_clock(&value, &(struct keyspace_clock){.token_next = 1, .mark = {INT64_MAX}});
    ck_assert_uint_eq(value.len, 1 + 8 + 8 + 4);
    ck_assert_int_eq(keyspace_parse_clock(buf_bytes(&value), &clock), ERR_OK);
    ck_assert_uint_eq(clock.token_next, 1);
    ck_assert_int_eq(clock.mark.ms, INT64_MAX);
    value.data[1] = 0; // the next token would be 0
    reseal(&value);
    ck_assert_int_eq(parse_clock(buf_bytes(&value)), ERR_CORRUPT);
    value.data[1] = 1;
    reseal(&value);
    expect_strict(&value, parse_clock);
}
END_TEST

START_TEST(test_consumer) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_consumer consumer = {.tenant = bytes_of("acme"), .name = bytes_of("mail/sent")};
    keyspace_put_consumer(&value, &consumer);
    ck_assert_uint_eq(value.len, 1 + 1 + 4 + 1 + 9 + 4);
    ck_assert_int_eq(keyspace_parse_consumer(buf_bytes(&value), &consumer), ERR_OK);
    ck_assert(bytes_equal(consumer.tenant, bytes_of("acme")));
    ck_assert(bytes_equal(consumer.name, bytes_of("mail/sent")));
    value.data[7] = '\n'; // no name of a consumer
    reseal(&value);
    ck_assert_int_eq(parse_consumer(buf_bytes(&value)), ERR_CORRUPT);
    value.data[7] = 'm';
    reseal(&value);
    expect_strict(&value, parse_consumer);
}
END_TEST

START_TEST(test_consumer_bounds) {
    char longest[LIMIT_CONSUMER_BYTES_MAX + 2];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct bytes text = {(const uint8_t *)longest, LIMIT_CONSUMER_BYTES_MAX};
    SCOPE_BUF struct buf value = {0};
    struct keyspace_consumer consumer = {.tenant = text, .name = text};
    keyspace_put_consumer(&value, &consumer);
    ck_assert_int_eq(keyspace_parse_consumer(buf_bytes(&value), &consumer), ERR_OK);
    ck_assert(bytes_equal(consumer.tenant, text));
    ck_assert(bytes_equal(consumer.name, text));

    // One past it, by hand, for the encoder CHECKs.
    for (int long_tenant = 0; long_tenant < 2; long_tenant++) {
        uint8_t tenant_len = long_tenant != 0 ? LIMIT_TENANT_BYTES_MAX + 1 : 0;
        uint8_t name_len = long_tenant != 0 ? 1 : LIMIT_CONSUMER_BYTES_MAX + 1;
        value.len = 0;
        buf_put_u8(&value, 1);
        buf_put_u8(&value, tenant_len);
        buf_put(&value, longest, tenant_len);
        buf_put_u8(&value, name_len);
        buf_put(&value, longest, name_len);
        buf_put_u32(&value, crc32c(0, buf_bytes(&value)));
        ck_assert_int_eq(parse_consumer(buf_bytes(&value)), ERR_CORRUPT);
    }
}
END_TEST

START_TEST(test_counts) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_counts counts = {.by_state = {1, 2, 3, 4, 5, 6, 7, UINT64_MAX}};
    struct keyspace_counts parsed;
    keyspace_put_counts(&value, &counts);
    ck_assert_uint_eq(value.len, 1 + 8 * 8 + 4);
    ck_assert_int_eq(keyspace_parse_counts(buf_bytes(&value), &parsed), ERR_OK);
    ck_assert_mem_eq(&parsed, &counts, sizeof counts);
    expect_strict(&value, parse_counts);
}
END_TEST

START_TEST(test_numbered_keys) {
    SCOPE_BUF struct buf name = {0};
    SCOPE_BUF struct buf counts = {0};
    uint32_t number = 0;
    keyspace_put_consumer_key(&name, 0x01020304);
    keyspace_put_counts_key(&counts, 0x01020304);
    ck_assert(bytes_equal(buf_bytes(&name), bytes_of("n\x01\x02\x03\x04")));
    ck_assert(bytes_equal(buf_bytes(&counts), bytes_of("s\x01\x02\x03\x04")));
    ck_assert(bytes_equal(keyspace_consumer_prefix(), bytes_of("n")));
    ck_assert(bytes_equal(keyspace_counts_prefix(), bytes_of("s")));
    ck_assert_int_eq(keyspace_parse_consumer_key(buf_bytes(&name), &number), ERR_OK);
    ck_assert_uint_eq(number, 0x01020304);
    number = 0;
    ck_assert_int_eq(keyspace_parse_counts_key(buf_bytes(&counts), &number), ERR_OK);
    ck_assert_uint_eq(number, 0x01020304);
    ck_assert_int_eq(keyspace_parse_consumer_key(buf_bytes(&counts), &number), ERR_CORRUPT);
    ck_assert_int_eq(keyspace_parse_counts_key(buf_bytes(&name), &number), ERR_CORRUPT);
    ck_assert_int_eq(keyspace_parse_counts_key(bytes_of("s\x01\x02\x03"), &number), ERR_CORRUPT);
    ck_assert_int_eq(keyspace_parse_counts_key(bytes_of("s12345"), &number), ERR_CORRUPT);
    ck_assert_int_eq(keyspace_parse_counts_key(bytes_of(""), &number), ERR_CORRUPT);
}
END_TEST

// --- bugs and memory ----------------------------------------------------------------------------

START_TEST(test_empty_message_id_aborts) {
    SCOPE_BUF struct buf key = {0};
    keyspace_put_claim(&key, 1, (struct bytes){0});
}
END_TEST

START_TEST(test_long_message_id_aborts) {
    static uint8_t longer[LIMIT_MESSAGE_ID_BYTES_MAX + 1];
    SCOPE_BUF struct buf key = {0};
    keyspace_put_claim(&key, 1, (struct bytes){longer, sizeof longer});
}
END_TEST

START_TEST(test_token_zero_aborts) {
    SCOPE_BUF struct buf value = {0};
    keyspace_put_clock(&value, &(struct keyspace_clock){.token_next = 0});
}
END_TEST

START_TEST(test_invalid_name_aborts) {
    SCOPE_BUF struct buf value = {0};
    keyspace_put_consumer(&value, &(struct keyspace_consumer){.name = bytes_of("")});
}
END_TEST

static bool fail_always(void) { return true; }

START_TEST(test_memory_failure) {
    struct keyspace_head head = {.position = 1};
    SCOPE_BUF struct buf key = {0};
    SCOPE_BUF struct buf value = {0};
    SCOPE_BUF struct buf id = {0};
    uint32_t number = 77;
    keyspace_put_claim(&key, 1, bytes_of("m"));
    mem_set_fault_hook(fail_always);
    keyspace_put_head(&value, &head);
    enum err err = keyspace_parse_claim(buf_bytes(&key), &number, &id);
    mem_set_fault_hook(NULL);
    ck_assert(value.failed);
    ck_assert_int_eq(err, ERR_NO_MEMORY);
    ck_assert(id.failed);
    ck_assert_uint_eq(number, 77);
}
END_TEST

static void add_aborts(TCase *tests) {
    tcase_add_test_raise_signal(tests, test_empty_message_id_aborts, SIGABRT);
    tcase_add_test_raise_signal(tests, test_long_message_id_aborts, SIGABRT);
    tcase_add_test_raise_signal(tests, test_token_zero_aborts, SIGABRT);
    tcase_add_test_raise_signal(tests, test_invalid_name_aborts, SIGABRT);
}

int main(void) {
    Suite *suite = suite_create("keyspace");
    TCase *tests = tcase_create("keyspace");
    tcase_add_test(tests, test_final_records_live_in_done);
    tcase_add_loop_test(tests, test_claim_key, 0, (int)(sizeof keys / sizeof keys[0]));
    tcase_add_test(tests, test_message_id_at_the_bound);
    tcase_add_test(tests, test_keys_sort_by_consumer);
    tcase_add_loop_test(tests, test_not_a_claim_key, 0,
                        (int)(sizeof not_claim_keys / sizeof not_claim_keys[0]));
    tcase_add_test(tests, test_blob_key);
    tcase_add_test(tests, test_head);
    tcase_add_test(tests, test_clock);
    tcase_add_test(tests, test_consumer);
    tcase_add_test(tests, test_consumer_bounds);
    tcase_add_test(tests, test_counts);
    tcase_add_test(tests, test_numbered_keys);
    tcase_add_test(tests, test_memory_failure);
    add_aborts(tests);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
