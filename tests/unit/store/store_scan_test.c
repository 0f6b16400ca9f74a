// Scans: exactly the keys of a prefix, in order, under a view that later writes do not touch.
#include "store/store_scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <check.h>

#include "base/mem.h"
#include "base/scope.h"
#include "lib/store_fixture.h"

static struct store_fixture fixture;

static void setup(void) {
    store_fixture_init(&fixture);
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
}

static void teardown(void) { store_fixture_deinit(&fixture); }

static struct bytes raw(const void *data, size_t len) {
    return (struct bytes){(const uint8_t *)data, len};
}

static void put_raw(struct bytes key, const char *value) {
    store_batch_put(fixture.batch, fixture.store, KEYSPACE_DONE, key, bytes_of(value));
}

static struct store_scan *open_scan(enum keyspace_family family, struct bytes prefix) {
    struct store_scan *scan = NULL;
    ck_assert_int_eq(store_scan_open(fixture.store, family, prefix, &scan), ERR_OK);
    ck_assert_ptr_nonnull(scan);
    return scan;
}

// The values found, joined by a space, in the order of their keys; keys must begin with prefix and
// rise.
static void scan_text(struct store_scan *scan, struct bytes prefix, char *out, size_t out_len) {
    SCOPE_BUF struct buf last = {0};
    struct bytes key;
    struct bytes value;
    size_t len = 0;
    enum err err;
    out[0] = '\0';
    while ((err = store_scan_next(scan, &key, &value)) == ERR_OK) {
        ck_assert_uint_ge(key.len, prefix.len);
        ck_assert(bytes_equal(raw(key.data, prefix.len), prefix));
        size_t shorter = last.len < key.len ? last.len : key.len;
        int order = shorter == 0 ? 0 : memcmp(last.data, key.data, shorter);
        ck_assert(order < 0 || (order == 0 && last.len < key.len));
        buf_reset(&last, SIZE_MAX);
        buf_put(&last, key.data, key.len);
        ck_assert_uint_lt(len + value.len + 2, out_len);
        len += (size_t)snprintf(out + len, out_len - len, "%s%.*s", len == 0 ? "" : " ",
                                (int)value.len, (const char *)value.data);
    }
    ck_assert_int_eq(err, ERR_NOT_FOUND);
    ck_assert_int_eq(store_scan_next(scan, &key, &value), ERR_NOT_FOUND); // and it stays there
}

static void expect_scan(struct bytes prefix, const char *expected) {
    char found[512];
    struct store_scan *scan = open_scan(KEYSPACE_DONE, prefix);
    scan_text(scan, prefix, found, sizeof found);
    store_scan_close(scan);
    ck_assert_str_eq(found, expected);
}

static void put_claim(uint32_t consumer, const char *message_id, const char *value) {
    SCOPE_BUF struct buf key = {0};
    keyspace_put_claim(&key, consumer, bytes_of(message_id));
    ck_assert(!key.failed);
    put_raw(buf_bytes(&key), value);
}

static void expect_consumer(uint32_t consumer, const char *expected) {
    SCOPE_BUF struct buf prefix = {0};
    keyspace_put_consumer_prefix(&prefix, consumer);
    ck_assert(!prefix.failed);
    expect_scan(buf_bytes(&prefix), expected);
}

static void put_claims(void) {
    put_claim(0, "a", "0a");
    put_claim(1, "b", "1b");
    put_claim(1, "a", "1a");
    put_claim(1, "ab", "1ab");
    put_claim(2, "a", "2a");
    put_claim(255, "a", "255a");
    put_claim(256, "a", "256a");
    put_claim(257, "a", "257a");
    put_claim(65536, "a", "65536a");
    put_claim(UINT32_C(0x01000000), "a", "16777216a");
    put_claim(UINT32_MAX - 1, "a", "almost");
    put_claim(UINT32_MAX, "a", "last");
    (void)store_fixture_commit(&fixture);
}

static void expect_claims(void) {
    expect_consumer(0, "0a");
    expect_consumer(1, "1a 1ab 1b");
    expect_consumer(2, "2a");
    expect_consumer(3, "");
    expect_consumer(255, "255a");
    expect_consumer(256, "256a");
    expect_consumer(257, "257a");
    expect_consumer(65536, "65536a");
    expect_consumer(UINT32_C(0x01000000), "16777216a");
    expect_consumer(UINT32_MAX - 1, "almost");
    expect_consumer(UINT32_MAX, "last"); // a prefix of 0xFF only has no key after it
    expect_scan((struct bytes){0}, "0a 1a 1ab 1b 2a 255a 256a 257a 65536a 16777216a almost last");
}

START_TEST(one_consumer_is_never_another) {
    put_claims();
    expect_claims();
    store_fixture_close(&fixture);
    store_fixture_open(&fixture); // the same from files
    expect_claims();
}
END_TEST

START_TEST(prefix_bounds_are_exact) {
    put_raw(raw("\x01", 1), "1");
    put_raw(raw("\x01\xFE", 2), "1.FE");
    put_raw(raw("\x01\xFF", 2), "1.FF");
    put_raw(raw("\x01\xFF\x00", 3), "1.FF.0");
    put_raw(raw("\x01\xFF\xFF\xFF", 4), "1.FF.FF.FF");
    put_raw(raw("\x02", 1), "2");
    put_raw(raw("\x02\x00", 2), "2.0");
    put_raw(raw("\xFF\xFF", 2), "FF.FF");
    put_raw(raw("\xFF\xFF\xFF", 3), "FF.FF.FF");
    (void)store_fixture_commit(&fixture);
    expect_scan(raw("\x01", 1), "1 1.FE 1.FF 1.FF.0 1.FF.FF.FF");
    expect_scan(raw("\x01\xFF", 2), "1.FF 1.FF.0 1.FF.FF.FF");
    expect_scan(raw("\x01\xFF\xFF\xFF", 4), "1.FF.FF.FF");
    expect_scan(raw("\x02", 1), "2 2.0");
    expect_scan(raw("\xFF", 1), "FF.FF FF.FF.FF");
    expect_scan(raw("\xFF\xFF\xFF", 3), "FF.FF.FF");
    expect_scan(raw("\x00", 1), "");
    expect_scan(raw("\x03", 1), "");
}
END_TEST

START_TEST(families_do_not_mix) {
    store_fixture_put(&fixture, KEYSPACE_OPEN, "x", "open");
    store_fixture_put(&fixture, KEYSPACE_DONE, "x", "done");
    (void)store_fixture_commit(&fixture);
    expect_scan((struct bytes){0}, "done");
    struct store_scan *scan = open_scan(KEYSPACE_AUDIT, (struct bytes){0});
    char found[16];
    scan_text(scan, (struct bytes){0}, found, sizeof found);
    store_scan_close(scan);
    ck_assert_str_eq(found, "");
}
END_TEST

START_TEST(view_is_frozen) {
    store_fixture_put(&fixture, KEYSPACE_DONE, "a", "a1");
    store_fixture_put(&fixture, KEYSPACE_DONE, "b", "b1");
    store_fixture_put(&fixture, KEYSPACE_DONE, "c", "c1");
    ck_assert_uint_eq(store_fixture_commit(&fixture), 1);
    struct store_scan *before = open_scan(KEYSPACE_DONE, (struct bytes){0});
    struct bytes key;
    struct bytes value;
    ck_assert_int_eq(store_scan_next(before, &key, &value), ERR_OK);
    ck_assert(bytes_equal(value, bytes_of("a1")));

    store_fixture_put(&fixture, KEYSPACE_DONE, "b", "b2");
    store_fixture_put(&fixture, KEYSPACE_DONE, "bb", "new");
    store_fixture_delete(&fixture, KEYSPACE_DONE, "c");
    ck_assert_uint_eq(store_fixture_commit(&fixture), 2);
    store_compact(fixture.store, KEYSPACE_DONE); // removes only what no view needs
    struct store_scan *after = open_scan(KEYSPACE_DONE, (struct bytes){0});

    ck_assert_uint_eq(store_scan_position(before), 1);
    ck_assert_uint_eq(store_scan_position(after), 2);
    char found[64];
    scan_text(before, (struct bytes){0}, found, sizeof found);
    ck_assert_str_eq(found, "b1 c1");
    scan_text(after, (struct bytes){0}, found, sizeof found);
    ck_assert_str_eq(found, "a1 b2 new");
    store_scan_close(before);
    store_scan_close(after);
}
END_TEST

START_TEST(entries_are_readable_until_the_next) {
    for (int i = 0; i < 2000; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%06d", i);
        store_fixture_put(&fixture, KEYSPACE_DONE, text, text);
    }
    (void)store_fixture_commit(&fixture);
    store_fixture_close(&fixture);
    store_fixture_open(&fixture);
    struct store_scan *scan = open_scan(KEYSPACE_DONE, (struct bytes){0});
    for (int i = 0; i < 2000; i++) {
        struct bytes key;
        struct bytes value;
        char text[16];
        (void)snprintf(text, sizeof text, "%06d", i);
        ck_assert_int_eq(store_scan_next(scan, &key, &value), ERR_OK);
        ck_assert(bytes_equal(key, bytes_of(text)));
        ck_assert(bytes_equal(value, bytes_of(text)));
    }
    store_scan_close(scan);
}
END_TEST

// --- beside writes -------------------------------------------------------------------------------

#define RACE_GROUPS 3000
#define RACE_KEYS 20

static _Atomic bool race_done;

// Every group sets every key to its own position, so a view is right iff all agree with it.
static void *race_write(void *unused) {
    (void)unused;
    for (uint64_t i = 1; i <= RACE_GROUPS; i++) {
        for (int k = 0; k < RACE_KEYS; k++) {
            char key[16];
            char value[16];
            (void)snprintf(key, sizeof key, "%02d", k);
            (void)snprintf(value, sizeof value, "%u", (unsigned)i);
            store_fixture_put(&fixture, KEYSPACE_DONE, key, value);
        }
        (void)store_fixture_commit(&fixture);
    }
    atomic_store(&race_done, true);
    return NULL;
}

static void race_check_view(void) {
    struct store_scan *scan = open_scan(KEYSPACE_DONE, (struct bytes){0});
    char expected[16];
    int len = snprintf(expected, sizeof expected, "%u", (unsigned)store_scan_position(scan));
    ck_assert_int_gt(len, 0);
    struct bytes key;
    struct bytes value;
    int keys = 0;
    while (store_scan_next(scan, &key, &value) == ERR_OK) {
        ck_assert_msg(bytes_equal(value, bytes_of(expected)), "%.*s in a view of %s",
                      (int)value.len, (const char *)value.data, expected);
        keys++;
    }
    ck_assert_int_eq(keys, store_scan_position(scan) == 0 ? 0 : RACE_KEYS);
    store_scan_close(scan);
}

START_TEST(views_are_whole_groups_beside_a_writer) {
    fixture.options.relaxed = true; // faster: this is not about the disk
    store_fixture_close(&fixture);
    store_fixture_open(&fixture);
    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, race_write, NULL), 0);
    int views = 0;
    while (!atomic_load(&race_done)) {
        race_check_view();
        views++;
    }
    ck_assert_int_eq(pthread_join(writer, NULL), 0);
    race_check_view();
    ck_assert_int_gt(views, 10);
    ck_assert_uint_eq(store_position(fixture.store), RACE_GROUPS);
}
END_TEST

// --- faults --------------------------------------------------------------------------------------

static int calls_left; // before the one that fails

static bool memory_fails(void) { return calls_left-- == 0; }

START_TEST(every_allocation_may_fail) {
    put_claims();
    for (int n = 0;; n++) {
        struct store_scan *scan = NULL;
        calls_left = n;
        mem_set_fault_hook(memory_fails);
        enum err err = store_scan_open(fixture.store, KEYSPACE_DONE, bytes_of("x"), &scan);
        mem_set_fault_hook(NULL);
        if (calls_left >= 0) {
            ck_assert_int_eq(err, ERR_OK);
            ck_assert_int_ge(n, 2); // the scan and its bound
            store_scan_close(scan);
            break;
        }
        ck_assert_int_eq(err, ERR_NO_MEMORY);
        ck_assert_ptr_null(scan);
    }
    store_scan_close(NULL);
}
END_TEST

int main(void) {
    TCase *cases = tcase_create("store_scan");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, one_consumer_is_never_another);
    tcase_add_test(cases, prefix_bounds_are_exact);
    tcase_add_test(cases, families_do_not_mix);
    tcase_add_test(cases, view_is_frozen);
    tcase_add_test(cases, entries_are_readable_until_the_next);
    tcase_add_test(cases, views_are_whole_groups_beside_a_writer);
    tcase_add_test(cases, every_allocation_may_fail);
    Suite *suite = suite_create("store/store_scan");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
