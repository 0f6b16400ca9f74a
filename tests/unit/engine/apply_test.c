// Apply: a group and its position in one batch; the same again is harmless; a damaged one writes
// nothing.
#include "engine/apply.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "codec/effect_codec.h"
#include "lib/store_fixture.h"

static struct store_fixture fixture;
static struct apply apply;
static struct buf frame;

static void setup(void) {
    store_fixture_init(&fixture);
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    ck_assert_int_eq(apply_init(&apply, fixture.store), ERR_OK);
}

static void teardown(void) {
    apply_deinit(&apply);
    buf_deinit(&frame);
    store_fixture_deinit(&fixture);
}

// A frame that puts key = value, and deletes "gone".
static struct bytes frame_of(const char *key, const char *value) {
    buf_reset(&frame, SIZE_MAX);
    effect_begin(&frame);
    effect_put(&frame, KEYSPACE_OPEN, bytes_of(key), bytes_of(value));
    effect_delete(&frame, KEYSPACE_DONE, bytes_of("gone"));
    effect_end(&frame, 2);
    ck_assert(!frame.failed);
    return buf_bytes(&frame);
}

static uint64_t stored_position(void) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_head head;
    ck_assert_int_eq(
        store_get(fixture.store, KEYSPACE_META, keyspace_head_key(), STORE_MAY_READ, &value),
        ERR_OK);
    ck_assert_int_eq(keyspace_parse_head(buf_bytes(&value), &head), ERR_OK);
    ck_assert_uint_eq(head.term, 0);
    return head.position;
}

START_TEST(puts_deletes_and_the_position_together) {
    store_fixture_put(&fixture, KEYSPACE_DONE, "gone", "soon");
    uint64_t position = store_fixture_commit(&fixture);
    ck_assert_int_eq(apply_group(&apply, position + 1, frame_of("k", "v")), ERR_OK);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "k", "v");
    store_fixture_expect(&fixture, KEYSPACE_DONE, "gone", NULL);
    ck_assert_uint_eq(stored_position(), position + 1);
    ck_assert_uint_eq(store_position(fixture.store), position + 1);
}
END_TEST

START_TEST(the_same_position_twice_is_harmless) {
    ck_assert_int_eq(apply_group(&apply, 1, frame_of("k", "first")), ERR_OK);
    ck_assert_int_eq(apply_group(&apply, 1, frame_of("k", "again")), ERR_OK);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "k", "first");
    ck_assert_int_eq(apply_group(&apply, 2, frame_of("k", "second")), ERR_OK);
    ck_assert_int_eq(apply_group(&apply, 1, frame_of("k", "first")), ERR_OK);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "k", "second");
    ck_assert_uint_eq(stored_position(), 2);
}
END_TEST

START_TEST(still_harmless_after_a_restart) {
    ck_assert_int_eq(apply_group(&apply, 1, frame_of("k", "first")), ERR_OK);
    apply_deinit(&apply);
    store_fixture_close(&fixture);
    store_fixture_open(&fixture);
    ck_assert_int_eq(apply_init(&apply, fixture.store), ERR_OK);
    ck_assert_int_eq(apply_group(&apply, 1, frame_of("k", "again")), ERR_OK);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "k", "first");
}
END_TEST

START_TEST(every_flipped_bit_is_refused_and_writes_nothing) {
    static uint8_t copy[256];
    struct bytes whole = frame_of("k", "v");
    ck_assert_uint_le(whole.len, sizeof copy);
    for (size_t bit = 0; bit < whole.len * 8; bit++) {
        memcpy(copy, whole.data, whole.len);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_msg(apply_group(&apply, 1, (struct bytes){copy, whole.len}) == ERR_CORRUPT,
                      "bit %zu", bit);
    }
    for (size_t len = 0; len < whole.len; len++) {
        ck_assert_msg(apply_group(&apply, 1, (struct bytes){whole.data, len}) == ERR_CORRUPT,
                      "length %zu", len);
    }
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "k", NULL);
    ck_assert_uint_eq(stored_position(), 0);
    // A batch that was begun before the damage was met does not ride with the next group.
    ck_assert_int_eq(apply_group(&apply, 1, frame_of("other", "v")), ERR_OK);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "k", NULL);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "other", "v");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/apply");
    TCase *cases = tcase_create("apply");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, puts_deletes_and_the_position_together);
    tcase_add_test(cases, the_same_position_twice_is_harmless);
    tcase_add_test(cases, still_harmless_after_a_restart);
    tcase_add_test(cases, every_flipped_bit_is_refused_and_writes_nothing);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
