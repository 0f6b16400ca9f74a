// A group's frame: read back as written, and refused as a whole if anything about it is wrong.
#include <check.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/scope.h"
#include "codec/crc32c.h"
#include "codec/effect_codec.h"
#include "gen.h"

#define HEAD_BYTES 20
#define CRC_AT 16

static void reseal(struct buf *frame) {
    uint32_t crc = crc32c(0, (struct bytes){frame->data, CRC_AT});
    crc = crc32c(crc, (struct bytes){frame->data + HEAD_BYTES, frame->len - HEAD_BYTES});
    buf_set_u32(frame, CRC_AT, crc);
}

static void expect_corrupt(struct bytes frame, const char *what, size_t where) {
    struct effect_reader reader;
    enum err err = effect_open(frame, &reader);
    if (err != ERR_CORRUPT) ck_abort_msg("%s %zu: %s", what, where, error_reason(err));
}

// One put of "key" = "value" into done, one delete of "gone" from open.
static void write_small(struct buf *frame) {
    effect_begin(frame);
    effect_put(frame, KEYSPACE_DONE, bytes_of("key"), bytes_of("value"));
    effect_delete(frame, KEYSPACE_OPEN, bytes_of("gone"));
    effect_end(frame, 2);
}
#define SMALL_BYTES (HEAD_BYTES + 8 + 8 + 8 + 4)

START_TEST(test_small_frame) {
    SCOPE_BUF struct buf frame = {0};
    write_small(&frame);
    ck_assert_uint_eq(frame.len, SMALL_BYTES);
    struct effect_reader reader;
    struct effect_op op;
    ck_assert_int_eq(effect_open(buf_bytes(&frame), &reader), ERR_OK);
    ck_assert_uint_eq(reader.op_count, 2);
    ck_assert(effect_next(&reader, &op));
    ck_assert(op.is_put);
    ck_assert_int_eq(op.family, KEYSPACE_DONE);
    ck_assert(bytes_equal(op.key, bytes_of("key")));
    ck_assert(bytes_equal(op.value, bytes_of("value")));
    ck_assert(effect_next(&reader, &op));
    ck_assert(!op.is_put);
    ck_assert_int_eq(op.family, KEYSPACE_OPEN);
    ck_assert(bytes_equal(op.key, bytes_of("gone")));
    ck_assert_uint_eq(op.value.len, 0);
    ck_assert(!effect_next(&reader, &op));
    ck_assert(!effect_next(&reader, &op));
}
END_TEST

START_TEST(test_frame_without_ops) {
    SCOPE_BUF struct buf frame = {0};
    effect_begin(&frame);
    effect_end(&frame, 0);
    struct effect_reader reader;
    struct effect_op op;
    ck_assert_int_eq(effect_open(buf_bytes(&frame), &reader), ERR_OK);
    ck_assert(!effect_next(&reader, &op));
}
END_TEST

START_TEST(test_longest_key_and_empty_value) {
    static uint8_t key[UINT16_MAX];
    SCOPE_BUF struct buf frame = {0};
    effect_begin(&frame);
    effect_put(&frame, KEYSPACE_META, (struct bytes){key, sizeof key}, (struct bytes){0});
    effect_end(&frame, 1);
    struct effect_reader reader;
    struct effect_op op;
    ck_assert_int_eq(effect_open(buf_bytes(&frame), &reader), ERR_OK);
    ck_assert(effect_next(&reader, &op));
    ck_assert(op.is_put);
    ck_assert_uint_eq(op.key.len, sizeof key);
    ck_assert_uint_eq(op.value.len, 0);
}
END_TEST

#define RANDOM_OPS_MAX 20

struct written {
    enum keyspace_family family;
    bool is_put;
    struct bytes key;
    struct bytes value;
};

static uint32_t write_random(struct gen *gen, struct buf *frame,
                             struct written ops[RANDOM_OPS_MAX]) {
    uint32_t count = gen_below(gen, RANDOM_OPS_MAX);
    effect_begin(frame);
    for (uint32_t i = 0; i < count; i++) {
        struct written *op = &ops[i];
        *op = (struct written){
            .family = (enum keyspace_family)gen_below(gen, KEYSPACE_FAMILIES),
            .is_put = gen_one_in(gen, 2),
            .key = gen_bytes(gen, 1 + gen_below(gen, 40)),
        };
        if (op->is_put) {
            op->value = gen_bytes(gen, gen_below(gen, 200));
            effect_put(frame, op->family, op->key, op->value);
        } else {
            effect_delete(frame, op->family, op->key);
        }
    }
    effect_end(frame, count);
    return count;
}

START_TEST(test_random_frames) {
    static struct gen gen;
    gen_init(&gen, "random frames");
    SCOPE_BUF struct buf frame = {0};
    for (int round = 0; round < 5000; round++) {
        struct written ops[RANDOM_OPS_MAX];
        struct effect_reader reader;
        struct effect_op op;
        frame.len = 0;
        uint32_t count = write_random(&gen, &frame, ops);
        if (effect_open(buf_bytes(&frame), &reader) != ERR_OK) ck_abort_msg("round %d", round);
        for (uint32_t i = 0; i < count; i++) {
            bool same = effect_next(&reader, &op) && op.family == ops[i].family &&
                        op.is_put == ops[i].is_put && bytes_equal(op.key, ops[i].key) &&
                        bytes_equal(op.value, ops[i].value);
            if (!same) ck_abort_msg("round %d op %u", round, i);
        }
        if (effect_next(&reader, &op)) ck_abort_msg("round %d has too many", round);
    }
}
END_TEST

START_TEST(test_truncations_and_flips_are_refused) {
    SCOPE_BUF struct buf frame = {0};
    write_small(&frame);
    for (size_t len = 0; len < frame.len; len++) {
        expect_corrupt((struct bytes){frame.data, len}, "truncated to", len);
    }
    for (size_t bit = 0; bit < 8 * frame.len; bit++) {
        frame.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        expect_corrupt(buf_bytes(&frame), "flipped bit", bit);
        frame.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    buf_put_u8(&frame, 0);
    expect_corrupt(buf_bytes(&frame), "longer", frame.len);
}
END_TEST

// One byte of the small frame changed and sealed again: its structure alone gives it away.
static const struct {
    const char *what;
    size_t at;
    uint8_t value;
} structure_faults[] = {
    {"magic", 0, 'c'},
    {"version 0", 4, 0},
    {"version 2", 4, 2},
    {"version 257", 5, 1},
    {"reserved", 6, 1},
    {"one op too few counted", 8, 1},
    {"one op too many counted", 8, 3},
    {"body shorter than said", 12, SMALL_BYTES - HEAD_BYTES + 1},
    {"body longer than said", 12, SMALL_BYTES - HEAD_BYTES - 1},
    {"family 6", 20, 6},
    {"kind 0", 21, 0},
    {"kind 3", 21, 3},
    {"key of length 0", 22, 0},
    {"key past the end", 23, 0xFF},
    {"value past the end", 24, 60},
    {"put made a delete with a value", 21, 2},
    {"family of the second", 36, 0xFF},
    {"value of a delete past the end", 40, 1},
    {"value of 4 GiB", 27, 0xFF},
};

START_TEST(test_structure_fault) {
    SCOPE_BUF struct buf frame = {0};
    write_small(&frame);
    ck_assert_uint_ne(frame.data[structure_faults[_i].at], structure_faults[_i].value);
    frame.data[structure_faults[_i].at] = structure_faults[_i].value;
    reseal(&frame);
    expect_corrupt(buf_bytes(&frame), structure_faults[_i].what, structure_faults[_i].at);
}
END_TEST

// A delete whose key gave three of its bytes to a value: lengths add up, and still it is refused.
START_TEST(test_delete_with_value_is_refused) {
    SCOPE_BUF struct buf frame = {0};
    write_small(&frame);
    ck_assert_uint_eq(frame.data[38], 4);
    frame.data[38] = 1;
    frame.data[40] = 3;
    reseal(&frame);
    expect_corrupt(buf_bytes(&frame), "delete", 0);
    frame.data[37] = 1; // as a put it is sound
    reseal(&frame);
    struct effect_reader reader;
    ck_assert_int_eq(effect_open(buf_bytes(&frame), &reader), ERR_OK);
}
END_TEST

// Sealed damage anywhere: refused, or every op can be read.
START_TEST(test_sealed_damage) {
    static struct gen gen;
    gen_init(&gen, "sealed damage");
    SCOPE_BUF struct buf frame = {0};
    int refused = 0;
    for (int round = 0; round < 20000; round++) {
        struct written ops[RANDOM_OPS_MAX];
        struct effect_reader reader;
        struct effect_op op;
        frame.len = 0;
        (void)write_random(&gen, &frame, ops);
        frame.data[gen_below(&gen, (uint32_t)frame.len)] = (uint8_t)gen_below(&gen, 256);
        reseal(&frame);
        if (effect_open(buf_bytes(&frame), &reader) != ERR_OK) {
            refused++;
            continue;
        }
        uint32_t read = 0;
        while (effect_next(&reader, &op)) read++;
        if (read != reader.op_count) ck_abort_msg("round %d", round);
    }
    ck_assert_int_gt(refused, 1000);
}
END_TEST

// --- bugs and memory ----------------------------------------------------------------------------

START_TEST(test_miscounted_group_aborts) {
    SCOPE_BUF struct buf frame = {0};
    effect_begin(&frame);
    effect_put(&frame, KEYSPACE_OPEN, bytes_of("k"), bytes_of("v"));
    effect_end(&frame, 2);
}
END_TEST

START_TEST(test_empty_key_aborts) {
    SCOPE_BUF struct buf frame = {0};
    effect_begin(&frame);
    effect_delete(&frame, KEYSPACE_OPEN, (struct bytes){0});
}
END_TEST

START_TEST(test_long_key_aborts) {
    static uint8_t key[UINT16_MAX + 1];
    SCOPE_BUF struct buf frame = {0};
    effect_begin(&frame);
    effect_delete(&frame, KEYSPACE_OPEN, (struct bytes){key, sizeof key});
}
END_TEST

START_TEST(test_begin_in_a_used_buffer_aborts) {
    SCOPE_BUF struct buf frame = {0};
    effect_begin(&frame);
    effect_begin(&frame);
}
END_TEST

static int allocations_left;

static bool fail_when_used_up(void) { return allocations_left-- <= 0; }

START_TEST(test_memory_failure_shows_in_the_frame) {
    static uint8_t value[1000];
    int failures = 0;
    for (int n = 0;; n++) {
        SCOPE_BUF struct buf frame = {0};
        allocations_left = n;
        mem_set_fault_hook(fail_when_used_up);
        effect_begin(&frame);
        effect_put(&frame, KEYSPACE_OPEN, bytes_of("k"), (struct bytes){value, sizeof value});
        effect_delete(&frame, KEYSPACE_DONE, bytes_of("k"));
        effect_end(&frame, 2);
        mem_set_fault_hook(NULL);
        if (!frame.failed) break;
        failures++;
    }
    ck_assert_int_gt(failures, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("effect_codec");
    TCase *tests = tcase_create("effect_codec");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_small_frame);
    tcase_add_test(tests, test_frame_without_ops);
    tcase_add_test(tests, test_longest_key_and_empty_value);
    tcase_add_test(tests, test_random_frames);
    tcase_add_test(tests, test_truncations_and_flips_are_refused);
    tcase_add_loop_test(tests, test_structure_fault, 0,
                        (int)(sizeof structure_faults / sizeof structure_faults[0]));
    tcase_add_test(tests, test_delete_with_value_is_refused);
    tcase_add_test(tests, test_sealed_damage);
    tcase_add_test_raise_signal(tests, test_miscounted_group_aborts, SIGABRT);
    tcase_add_test_raise_signal(tests, test_empty_key_aborts, SIGABRT);
    tcase_add_test_raise_signal(tests, test_long_key_aborts, SIGABRT);
    tcase_add_test_raise_signal(tests, test_begin_in_a_used_buffer_aborts, SIGABRT);
    tcase_add_test(tests, test_memory_failure_shows_in_the_frame);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
