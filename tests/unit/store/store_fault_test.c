// Each call to the file system and each allocation fails once: the answer is an error, and nothing
// is left that a later open would take for something else.
#include <errno.h>
#include <stdbool.h>

#include <check.h>

#include "base/mem.h"
#include "base/scope.h"
#include "lib/store_fixture.h"
#include "store/high_water.h"
#include "store/store_io.h"
#include "store/store_label.h"

static struct store_fixture fixture;
static struct error_detail detail;

static void setup(void) { store_fixture_init(&fixture); }

static void teardown(void) { store_fixture_deinit(&fixture); }

static enum err create(void) {
    detail.text[0] = '\0';
    return store_create(fixture.dir, STORE_FIXTURE_FIRST_TOKEN, &detail);
}

static enum err try_open(void) {
    detail.text[0] = '\0';
    return store_fixture_try_open(&fixture, &detail);
}

static enum err get(enum keyspace_family family, const char *key, enum store_tier tier) {
    SCOPE_BUF struct buf out = {0};
    return store_get(fixture.store, family, bytes_of(key), tier, &out);
}

static uint64_t read_mark(void) {
    struct high_water mark;
    uint64_t position = UINT64_MAX;
    ck_assert_int_eq(
        high_water_open(store_fixture_path(&fixture, STORE_POSITION_NAME), &mark, &position),
        ERR_OK);
    high_water_close(&mark);
    return position;
}

static int calls_left; // before the one that fails

static int io_fails(void) { return calls_left-- == 0 ? EIO : 0; }

static bool memory_fails(void) { return calls_left-- == 0; }

START_TEST(every_call_of_create_may_fail) {
    int failed = 0;
    for (int n = 0;; n++) {
        calls_left = n;
        store_io_set_fault_hook(io_fails);
        enum err err = create();
        store_io_set_fault_hook(NULL);
        if (calls_left >= 0) {
            ck_assert_int_eq(err, ERR_OK);
            break;
        }
        ck_assert_msg(err == ERR_IO, "call %d: %s", n, error_reason(err));
        ck_assert_msg(detail.text[0] != '\0', "call %d", n);
        failed++;
        // What is left is no store, or (only the last sync failed) a whole one.
        err = try_open();
        ck_assert_msg(err == ERR_NOT_FOUND || err == ERR_OK, "call %d: %s", n, detail.text);
        store_fixture_close(&fixture);
        temp_dir_remove_path(fixture.dir);
    }
    ck_assert_int_gt(failed, 10);
    store_fixture_open(&fixture);
}
END_TEST

START_TEST(every_call_of_open_may_fail) {
    store_fixture_create(&fixture);
    int failed = 0;
    for (int n = 0;; n++) {
        calls_left = n;
        store_io_set_fault_hook(io_fails);
        enum err err = try_open();
        store_io_set_fault_hook(NULL);
        if (calls_left >= 0) {
            ck_assert_int_eq(err, ERR_OK);
            break;
        }
        ck_assert_msg(err == ERR_IO, "call %d: %s", n, error_reason(err));
        ck_assert_msg(detail.text[0] != '\0', "call %d", n);
        ck_assert_ptr_null(fixture.store);
        failed++;
    }
    ck_assert_int_gt(failed, 5);
}
END_TEST

START_TEST(every_allocation_may_fail) {
    int failed = 0;
    for (int n = 0;; n++) {
        calls_left = n;
        mem_set_fault_hook(memory_fails);
        enum err err = create();
        if (err == ERR_OK) err = try_open();
        mem_set_fault_hook(NULL);
        store_fixture_close(&fixture);
        temp_dir_remove_path(fixture.dir);
        if (calls_left >= 0) {
            ck_assert_int_eq(err, ERR_OK);
            break;
        }
        ck_assert_msg(err == ERR_NO_MEMORY || err == ERR_IO, "allocation %d: %s", n,
                      error_reason(err));
        failed++;
    }
    ck_assert_int_gt(failed, 3);

    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "a", "1");
    (void)store_fixture_commit(&fixture);
    calls_left = 0;
    mem_set_fault_hook(memory_fails);
    ck_assert_int_eq(get(KEYSPACE_OPEN, "a", STORE_MAY_READ), ERR_NO_MEMORY);
    calls_left = 0;
    ck_assert_ptr_null(store_batch_create());
    mem_set_fault_hook(NULL);
}
END_TEST

// A failed write is the end: nothing is tried again, and a later open finds what was acknowledged.
START_TEST(failed_mark_stops_all_writes) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "a", "1");
    ck_assert_uint_eq(store_fixture_commit(&fixture), 1);
    calls_left = 0;
    store_io_set_fault_hook(io_fails);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "a", "2");
    ck_assert_int_eq(store_write(fixture.store, fixture.batch, 2), ERR_IO);
    store_io_set_fault_hook(NULL);
    ck_assert_int_eq(store_write(fixture.store, fixture.batch, 2), ERR_IO);
    ck_assert_uint_eq(store_position(fixture.store), 1);
    ck_assert_uint_eq(read_mark(), 1);
    store_batch_clear(fixture.batch);
    store_fixture_close(&fixture);
    store_fixture_open(&fixture);
    ck_assert_uint_eq(store_position(fixture.store), 1); // the batch above had no head row
}
END_TEST

START_TEST(failed_sync_is_told) {
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        fixture.options.relaxed = relaxed == 1;
        store_fixture_create(&fixture);
        store_fixture_open(&fixture);
        calls_left = 0;
        store_io_set_fault_hook(io_fails);
        ck_assert_int_eq(store_sync_high_water(fixture.store), ERR_IO);
        uint64_t bytes = 0;
        calls_left = 0;
        ck_assert_int_eq(store_disk_free(fixture.store, &bytes), ERR_IO);
        store_io_set_fault_hook(NULL);
        store_fixture_close(&fixture);
        temp_dir_remove_path(fixture.dir);
    }
}
END_TEST

static void add_tests(TCase *cases) {
    tcase_add_test(cases, every_call_of_create_may_fail);
    tcase_add_test(cases, every_call_of_open_may_fail);
    tcase_add_test(cases, every_allocation_may_fail);
    tcase_add_test(cases, failed_mark_stops_all_writes);
    tcase_add_test(cases, failed_sync_is_told);
}

int main(void) {
    TCase *cases = tcase_create("store_fault");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_tests(cases);
    Suite *suite = suite_create("store/store_fault");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
