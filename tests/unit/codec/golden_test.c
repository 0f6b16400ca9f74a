// The golden files: bytes of earlier days are read as what they meant, and today's encoder writes
// the same. A change of the stored form shows here first.
//
// `golden_test --write` adds files that are missing; it never changes one that is there.
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "codec/effect_codec.h"
#include "codec/record_codec.h"
#include "golden_records.h"
#include "record_difference.h"

#define GOLDEN_BYTES_MAX 4096

static const struct {
    const char *name;
    struct claim_record (*make)(void);
} records[] = {
    {"record_v1_received", golden_received},   {"record_v1_processing", golden_processing},
    {"record_v1_retrying", golden_retrying},   {"record_v1_unknown", golden_unknown},
    {"record_v1_succeeded", golden_succeeded}, {"record_v1_rejected", golden_rejected},
    {"record_v1_cancelled", golden_cancelled}, {"record_v1_dead_lettered", golden_dead_lettered},
    {"record_v1_discarded", golden_discarded},
};
#define RECORDS (sizeof records / sizeof records[0])

// --- keys, meta values and a frame --------------------------------------------------------------

static const struct keyspace_head golden_head = {.position = 0x0102030405060708, .term = 9};
static const struct keyspace_clock golden_clock = {.token_next = 1764500000000124,
                                                   .mark = {987654321}};
static const struct keyspace_counts golden_counts = {.by_state = {1, 2, 3, 4, 5, 6, 7, 1u << 31}};

static struct keyspace_consumer golden_consumer(void) {
    return (struct keyspace_consumer){.tenant = bytes_of("acme"),
                                      .name = bytes_of("billing/capture")};
}

static void write_key_raw(struct buf *out) { keyspace_put_claim(out, 258, bytes_of("pi_1:paid")); }

static void write_key_uuid(struct buf *out) {
    keyspace_put_claim(out, 258, bytes_of("123e4567-e89b-12d3-a456-426614174000"));
}

static void write_key_blob(struct buf *out) {
    SCOPE_BUF struct buf key = {0};
    write_key_uuid(&key);
    keyspace_put_blob(out, buf_bytes(&key), KEYSPACE_BLOB_CHECKPOINT);
}

static void write_head(struct buf *out) { keyspace_put_head(out, &golden_head); }
static void write_clock(struct buf *out) { keyspace_put_clock(out, &golden_clock); }
static void write_counts(struct buf *out) { keyspace_put_counts(out, &golden_counts); }

static void write_consumer(struct buf *out) {
    struct keyspace_consumer consumer = golden_consumer();
    keyspace_put_consumer(out, &consumer);
}

static void write_frame(struct buf *out) {
    effect_begin(out);
    effect_put(out, KEYSPACE_DONE, bytes_of("key"), bytes_of("value"));
    effect_delete(out, KEYSPACE_OPEN, bytes_of("key"));
    effect_put(out, KEYSPACE_META, keyspace_clock_key(), (struct bytes){0});
    effect_end(out, 3);
}

static const struct {
    const char *name;
    void (*write)(struct buf *out);
} others[] = {
    {"claim_key_raw", write_key_raw},     {"claim_key_uuid", write_key_uuid},
    {"blob_key", write_key_blob},         {"meta_v1_head", write_head},
    {"meta_v1_clock", write_clock},       {"meta_v1_counts", write_counts},
    {"meta_v1_consumer", write_consumer}, {"frame_v1", write_frame},
};
#define OTHERS (sizeof others / sizeof others[0])

// --- files --------------------------------------------------------------------------------------

static void golden_path(const char *name, char out[512]) {
    int len = snprintf(out, 512, "%s/golden/%s.bin", TEST_SOURCE_DIR, name);
    if (len < 0 || len >= 512) abort();
}

static struct bytes golden_read(const char *name, uint8_t out[GOLDEN_BYTES_MAX]) {
    char path[512];
    golden_path(name, path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) ck_abort_msg("%s: %s", path, strerror(errno));
    size_t len = fread(out, 1, GOLDEN_BYTES_MAX, file);
    fclose(file);
    ck_assert_uint_gt(len, 0);
    ck_assert_uint_lt(len, GOLDEN_BYTES_MAX);
    return (struct bytes){out, len};
}

// Writes a file that is not there yet; false if that failed.
static bool golden_add(const char *name, struct bytes bytes) {
    char path[512];
    golden_path(name, path);
    FILE *file = fopen(path, "wbx");
    if (file == NULL) return errno == EEXIST;
    bool written = fwrite(bytes.data, 1, bytes.len, file) == bytes.len;
    return fclose(file) == 0 && written;
}

static int golden_add_missing(void) {
    bool written = true;
    for (size_t i = 0; i < RECORDS; i++) {
        SCOPE_BUF struct buf out = {0};
        struct claim_record record = records[i].make();
        record_codec_encode(&record, &out);
        written = golden_add(records[i].name, buf_bytes(&out)) && written;
    }
    for (size_t i = 0; i < OTHERS; i++) {
        SCOPE_BUF struct buf out = {0};
        others[i].write(&out);
        written = golden_add(others[i].name, buf_bytes(&out)) && written;
    }
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}

// --- tests --------------------------------------------------------------------------------------

START_TEST(test_record_is_read_as_meant) {
    uint8_t data[GOLDEN_BYTES_MAX];
    struct claim_record want = records[_i].make();
    struct claim_record got;
    ck_assert_int_eq(record_codec_decode(golden_read(records[_i].name, data), &got), ERR_OK);
    ck_assert_pstr_eq(record_difference(&want, &got), NULL);
}
END_TEST

START_TEST(test_record_is_written_the_same) {
    uint8_t data[GOLDEN_BYTES_MAX];
    SCOPE_BUF struct buf out = {0};
    struct claim_record record = records[_i].make();
    record_codec_encode(&record, &out);
    ck_assert(bytes_equal(buf_bytes(&out), golden_read(records[_i].name, data)));
}
END_TEST

START_TEST(test_other_is_written_the_same) {
    uint8_t data[GOLDEN_BYTES_MAX];
    SCOPE_BUF struct buf out = {0};
    others[_i].write(&out);
    ck_assert(bytes_equal(buf_bytes(&out), golden_read(others[_i].name, data)));
}
END_TEST

START_TEST(test_keys_are_read_as_meant) {
    uint8_t data[GOLDEN_BYTES_MAX];
    SCOPE_BUF struct buf id = {0};
    uint32_t number = 0;
    struct bytes key = golden_read("claim_key_raw", data);
    ck_assert_int_eq(keyspace_parse_claim(key, &number, &id), ERR_OK);
    ck_assert_uint_eq(number, 258);
    ck_assert(bytes_equal(buf_bytes(&id), bytes_of("pi_1:paid")));
    id.len = 0;
    key = golden_read("claim_key_uuid", data);
    ck_assert_int_eq(keyspace_parse_claim(key, &number, &id), ERR_OK);
    ck_assert_uint_eq(number, 258);
    ck_assert(bytes_equal(buf_bytes(&id), bytes_of("123e4567-e89b-12d3-a456-426614174000")));
}
END_TEST

START_TEST(test_meta_values_are_read_as_meant) {
    uint8_t data[GOLDEN_BYTES_MAX];
    struct keyspace_head head;
    struct keyspace_clock clock;
    struct keyspace_counts counts;
    struct keyspace_consumer consumer;
    ck_assert_int_eq(keyspace_parse_head(golden_read("meta_v1_head", data), &head), ERR_OK);
    ck_assert_uint_eq(head.position, golden_head.position);
    ck_assert_uint_eq(head.term, golden_head.term);
    ck_assert_int_eq(keyspace_parse_clock(golden_read("meta_v1_clock", data), &clock), ERR_OK);
    ck_assert_uint_eq(clock.token_next, golden_clock.token_next);
    ck_assert_int_eq(clock.mark.ms, golden_clock.mark.ms);
    ck_assert_int_eq(keyspace_parse_counts(golden_read("meta_v1_counts", data), &counts), ERR_OK);
    ck_assert_mem_eq(&counts, &golden_counts, sizeof counts);
    struct bytes value = golden_read("meta_v1_consumer", data);
    ck_assert_int_eq(keyspace_parse_consumer(value, &consumer), ERR_OK);
    ck_assert(bytes_equal(consumer.tenant, golden_consumer().tenant));
    ck_assert(bytes_equal(consumer.name, golden_consumer().name));
}
END_TEST

START_TEST(test_frame_is_read_as_meant) {
    uint8_t data[GOLDEN_BYTES_MAX];
    struct effect_reader reader;
    struct effect_op op;
    ck_assert_int_eq(effect_open(golden_read("frame_v1", data), &reader), ERR_OK);
    ck_assert(effect_next(&reader, &op));
    ck_assert(op.is_put && op.family == KEYSPACE_DONE);
    ck_assert(bytes_equal(op.key, bytes_of("key")) && bytes_equal(op.value, bytes_of("value")));
    ck_assert(effect_next(&reader, &op));
    ck_assert(!op.is_put && op.family == KEYSPACE_OPEN && bytes_equal(op.key, bytes_of("key")));
    ck_assert(effect_next(&reader, &op));
    ck_assert(op.is_put && op.family == KEYSPACE_META && op.value.len == 0);
    ck_assert(bytes_equal(op.key, keyspace_clock_key()));
    ck_assert(!effect_next(&reader, &op));
}
END_TEST

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--write") == 0) return golden_add_missing();
    Suite *suite = suite_create("golden");
    TCase *tests = tcase_create("golden");
    tcase_add_loop_test(tests, test_record_is_read_as_meant, 0, (int)RECORDS);
    tcase_add_loop_test(tests, test_record_is_written_the_same, 0, (int)RECORDS);
    tcase_add_loop_test(tests, test_other_is_written_the_same, 0, (int)OTHERS);
    tcase_add_test(tests, test_keys_are_read_as_meant);
    tcase_add_test(tests, test_meta_values_are_read_as_meant);
    tcase_add_test(tests, test_frame_is_read_as_meant);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
