// What reads and writes answer, and the position that goes with them.
#include "store/store.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include <check.h>

#include "base/scope.h"
#include "lib/store_fixture.h"
#include "store/high_water.h"
#include "store/store_label.h"

static struct store_fixture fixture;

static void setup(void) { store_fixture_init(&fixture); }

static void teardown(void) { store_fixture_deinit(&fixture); }

static enum err get(enum keyspace_family family, const char *key, enum store_tier tier) {
    SCOPE_BUF struct buf out = {0};
    return store_get(fixture.store, family, bytes_of(key), tier, &out);
}

// --- reading and writing -------------------------------------------------------------------------

static const enum keyspace_family families[KEYSPACE_FAMILIES] = {
    KEYSPACE_OPEN, KEYSPACE_DONE, KEYSPACE_BLOB, KEYSPACE_GUARD, KEYSPACE_AUDIT, KEYSPACE_META,
};

static void expect_families(const char *suffix) {
    for (size_t i = 0; i < KEYSPACE_FAMILIES; i++) {
        char value[32];
        (void)snprintf(value, sizeof value, "%zu%s", i, suffix);
        store_fixture_expect(&fixture, families[i], "key", value);
        store_fixture_expect(&fixture, families[i], "empty", "");
        store_fixture_expect(&fixture, families[i], "gone", NULL);
        store_fixture_expect(&fixture, families[i], "never", NULL);
    }
}

START_TEST(families_are_apart_and_survive_reopening) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    for (size_t i = 0; i < KEYSPACE_FAMILIES; i++) {
        char value[32];
        (void)snprintf(value, sizeof value, "%zu-first", i);
        store_fixture_put(&fixture, families[i], "key", value);
        store_fixture_put(&fixture, families[i], "empty", "");
        store_fixture_put(&fixture, families[i], "gone", "soon");
    }
    ck_assert_uint_eq(store_fixture_commit(&fixture), 1);
    for (size_t i = 0; i < KEYSPACE_FAMILIES; i++) {
        char value[32];
        (void)snprintf(value, sizeof value, "%zu-second", i);
        store_fixture_put(&fixture, families[i], "key", "overwritten within the batch");
        store_fixture_put(&fixture, families[i], "key", value);
        store_fixture_delete(&fixture, families[i], "gone");
    }
    ck_assert_uint_eq(store_fixture_commit(&fixture), 2);
    expect_families("-second");
    for (int round = 0; round < 2; round++) {
        store_fixture_close(&fixture);
        store_fixture_open(&fixture);
        ck_assert_uint_eq(store_position(fixture.store), 2);
        expect_families("-second");
    }
}
END_TEST

START_TEST(get_appends_and_large_values_are_whole) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    SCOPE_BUF struct buf large = {0};
    for (uint32_t i = 0; i < 300000; i++) buf_put_u32(&large, i * 2654435761u);
    ck_assert(!large.failed);
    store_batch_put(fixture.batch, fixture.store, KEYSPACE_BLOB, bytes_of("b"), buf_bytes(&large));
    (void)store_fixture_commit(&fixture); // its clear gives the large batch back
    store_fixture_put(&fixture, KEYSPACE_OPEN, "a", "after");
    ck_assert_uint_eq(store_fixture_commit(&fixture), 2);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "a", "after");
    for (int round = 0; round < 2; round++) {
        SCOPE_BUF struct buf out = {0};
        buf_put(&out, "here:", 5);
        ck_assert_int_eq(
            store_get(fixture.store, KEYSPACE_BLOB, bytes_of("b"), STORE_MAY_READ, &out), ERR_OK);
        ck_assert_uint_eq(out.len, 5 + large.len);
        ck_assert_mem_eq(out.data, "here:", 5);
        ck_assert_mem_eq(out.data + 5, large.data, large.len);
        store_fixture_close(&fixture);
        store_fixture_open(&fixture); // the second round reads a file
    }
}
END_TEST

START_TEST(cleared_batch_writes_nothing) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "dropped", "x");
    store_batch_clear(fixture.batch);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "kept", "x");
    (void)store_fixture_commit(&fixture);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "dropped", NULL);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "kept", "x");
}
END_TEST

START_TEST(cold_block_would_block_and_is_then_cached) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    store_fixture_put(&fixture, KEYSPACE_DONE, "k", "v");
    (void)store_fixture_commit(&fixture);
    ck_assert_int_eq(get(KEYSPACE_DONE, "k", STORE_CACHE_ONLY), ERR_OK); // from the memtable
    store_fixture_close(&fixture);
    store_fixture_open(&fixture); // recovery has written it to a file
    ck_assert_int_eq(get(KEYSPACE_DONE, "k", STORE_CACHE_ONLY), ERR_WOULD_BLOCK);
    ck_assert_int_eq(get(KEYSPACE_DONE, "k", STORE_MAY_READ), ERR_OK);
    SCOPE_BUF struct buf out = {0};
    ck_assert_int_eq(store_get(fixture.store, KEYSPACE_DONE, bytes_of("k"), STORE_CACHE_ONLY, &out),
                     ERR_OK);
    ck_assert(bytes_equal(buf_bytes(&out), bytes_of("v")));
    // A miss that the filter answers needs no file.
    int blocked = 0;
    for (int i = 0; i < 100; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "absent-%d", i);
        enum err err = get(KEYSPACE_DONE, key, STORE_CACHE_ONLY);
        ck_assert(err == ERR_NOT_FOUND || err == ERR_WOULD_BLOCK);
        if (err == ERR_WOULD_BLOCK) blocked++;
    }
    ck_assert_int_lt(blocked, 20); // a false positive of the filter: one in a hundred
}
END_TEST

START_TEST(compaction_keeps_what_lives) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    for (int i = 0; i < 1000; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%04d", i);
        store_fixture_put(&fixture, KEYSPACE_DONE, key, "value");
    }
    (void)store_fixture_commit(&fixture);
    for (int i = 0; i < 1000; i += 2) {
        char key[32];
        (void)snprintf(key, sizeof key, "%04d", i);
        store_fixture_delete(&fixture, KEYSPACE_DONE, key);
    }
    (void)store_fixture_commit(&fixture);
    store_compact(fixture.store, KEYSPACE_DONE);
    for (int i = 0; i < 1000; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%04d", i);
        store_fixture_expect(&fixture, KEYSPACE_DONE, key, i % 2 == 0 ? NULL : "value");
    }
}
END_TEST

static int count_tables(void) {
    int count = 0;
    DIR *dir = opendir(store_fixture_path(&fixture, "db"));
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".sst") == 0) count++;
    }
    closedir(dir);
    return count;
}

START_TEST(compaction_does_nothing_after_a_stop) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    store_fixture_put(&fixture, KEYSPACE_DONE, "a", "value");
    (void)store_fixture_commit(&fixture);
    store_compact(fixture.store, KEYSPACE_DONE);
    int tables = count_tables();
    ck_assert_int_gt(tables, 0);
    store_fixture_put(&fixture, KEYSPACE_DONE, "b", "value");
    (void)store_fixture_commit(&fixture);
    store_compact_stop(fixture.store);
    store_compact_stop(fixture.store);
    store_compact(fixture.store, KEYSPACE_DONE);
    ck_assert_int_eq(count_tables(), tables);
    store_fixture_expect(&fixture, KEYSPACE_DONE, "b", "value");
}
END_TEST

START_TEST(free_space_is_the_file_systems) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    uint64_t bytes = 0;
    struct statvfs info;
    ck_assert_int_eq(store_disk_free(fixture.store, &bytes), ERR_OK);
    ck_assert_int_eq(statvfs(fixture.dir, &info), 0);
    uint64_t total = (uint64_t)info.f_blocks * info.f_frsize;
    ck_assert_uint_gt(bytes, 0);
    ck_assert_uint_le(bytes, total);
}
END_TEST

// --- the position --------------------------------------------------------------------------------

static uint64_t read_mark(void) {
    struct high_water mark;
    uint64_t position = UINT64_MAX;
    ck_assert_int_eq(
        high_water_open(store_fixture_path(&fixture, STORE_POSITION_NAME), &mark, &position),
        ERR_OK);
    high_water_close(&mark);
    return position;
}

START_TEST(mark_follows_each_write) {
    store_fixture_create(&fixture);
    ck_assert_uint_eq(read_mark(), 0);
    store_fixture_open(&fixture);
    for (uint64_t i = 1; i <= 5; i++) {
        ck_assert_uint_eq(store_fixture_commit(&fixture), i);
        ck_assert_uint_eq(store_position(fixture.store), i);
        ck_assert_uint_eq(read_mark(), i);
    }
    ck_assert_int_eq(store_sync_high_water(fixture.store), ERR_OK);
}
END_TEST

// Relaxed, the log may be lost in a power cut; a mark ahead of it would keep the store from
// opening.
START_TEST(relaxed_mark_follows_the_sync) {
    fixture.options.relaxed = true;
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "a", "1");
    ck_assert_uint_eq(store_fixture_commit(&fixture), 1);
    ck_assert_uint_eq(store_position(fixture.store), 1);
    ck_assert_uint_eq(read_mark(), 0);
    ck_assert_int_eq(store_sync_high_water(fixture.store), ERR_OK);
    ck_assert_uint_eq(read_mark(), 1);
    ck_assert_uint_eq(store_fixture_commit(&fixture), 2);
    store_fixture_close(&fixture); // a clean stop is durable
    ck_assert_uint_eq(read_mark(), 2);
    store_fixture_open(&fixture);
    ck_assert_uint_eq(store_position(fixture.store), 2);
    store_fixture_expect(&fixture, KEYSPACE_OPEN, "a", "1");
}
END_TEST

START_TEST(position_never_goes_back) { // aborts
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    (void)store_fixture_commit(&fixture);
    (void)store_fixture_commit(&fixture);
    (void)!store_write(fixture.store, fixture.batch, 1);
}
END_TEST

static void add_tests(TCase *cases) {
    tcase_add_test(cases, families_are_apart_and_survive_reopening);
    tcase_add_test(cases, get_appends_and_large_values_are_whole);
    tcase_add_test(cases, cleared_batch_writes_nothing);
    tcase_add_test(cases, cold_block_would_block_and_is_then_cached);
    tcase_add_test(cases, compaction_keeps_what_lives);
    tcase_add_test(cases, compaction_does_nothing_after_a_stop);
    tcase_add_test(cases, free_space_is_the_file_systems);
    tcase_add_test(cases, mark_follows_each_write);
    tcase_add_test(cases, relaxed_mark_follows_the_sync);
    tcase_add_test_raise_signal(cases, position_never_goes_back, SIGABRT);
}

int main(void) {
    TCase *cases = tcase_create("store");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_tests(cases);
    Suite *suite = suite_create("store/store");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
