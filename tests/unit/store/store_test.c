// The store as a whole: what a directory may become a store, who may open it, and what reads and
// writes answer.
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "base/scope.h"
#include "codec/crc32c.h"
#include "lib/store_fixture.h"
#include "store/high_water.h"
#include "store/store_io.h"
#include "store/store_label.h"

static struct store_fixture fixture;
static struct error_detail detail;

static void setup(void) { store_fixture_init(&fixture); }

static void teardown(void) { store_fixture_deinit(&fixture); }

static void assert_detail_has(const char *part) {
    ck_assert_msg(strstr(detail.text, part) != NULL, "\"%s\" lacks \"%s\"", detail.text, part);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void make_dir(const char *path) { ck_assert_int_eq(mkdir(path, 0700), 0); }

static void make_file(const char *path, const void *data, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
    ck_assert_int_eq(close(fd), 0);
}

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

// --- creating -----------------------------------------------------------------------------------

START_TEST(created_store_opens_with_its_first_rows) {
    store_fixture_create(&fixture);
    struct stat info;
    ck_assert_int_eq(stat(fixture.dir, &info), 0);
    ck_assert_int_eq(info.st_mode & 0777, 0700);
    ck_assert(!exists(store_fixture_path(&fixture, STORE_LABEL_NAME_UNFINISHED)));
    store_fixture_open(&fixture);
    ck_assert_uint_eq(store_position(fixture.store), 0);

    SCOPE_BUF struct buf value = {0};
    struct keyspace_head head;
    ck_assert_int_eq(store_get(fixture.store, KEYSPACE_META, keyspace_head_key(), STORE_MAY_READ,
                               &value), ERR_OK);
    ck_assert_int_eq(keyspace_parse_head(buf_bytes(&value), &head), ERR_OK);
    ck_assert_uint_eq(head.position, 0);
    ck_assert_uint_eq(head.term, 0);
    buf_reset(&value, 0);
    struct keyspace_clock clock;
    ck_assert_int_eq(store_get(fixture.store, KEYSPACE_META, keyspace_clock_key(), STORE_MAY_READ,
                               &value), ERR_OK);
    ck_assert_int_eq(keyspace_parse_clock(buf_bytes(&value), &clock), ERR_OK);
    ck_assert_uint_eq(clock.token_next, STORE_FIXTURE_FIRST_TOKEN);
    ck_assert_int_eq(clock.mark.ms, 0);
}
END_TEST

START_TEST(empty_directory_becomes_a_store) {
    make_dir(fixture.dir);
    make_dir(store_fixture_path(&fixture, "lost+found"));
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
}
END_TEST

START_TEST(second_create_is_refused) {
    store_fixture_create(&fixture);
    ck_assert_int_eq(create(), ERR_EXISTS);
    assert_detail_has(fixture.dir);
    store_fixture_open(&fixture);
}
END_TEST

START_TEST(create_spares_foreign_files) {
    make_dir(fixture.dir);
    make_file(store_fixture_path(&fixture, "holiday.jpg"), "x", 1);
    ck_assert_int_eq(create(), ERR_INVALID_ARGUMENT);
    assert_detail_has("holiday.jpg");
    ck_assert(!exists(store_fixture_path(&fixture, "db")));
    ck_assert(!exists(store_fixture_path(&fixture, STORE_LABEL_NAME_UNFINISHED)));
}
END_TEST

START_TEST(create_makes_one_level_only) {
    char deep[sizeof fixture.dir + 8];
    (void)snprintf(deep, sizeof deep, "%s/deeper", fixture.dir);
    ck_assert_int_eq(store_create(deep, 1, &detail), ERR_IO);
    assert_detail_has(deep);
    ck_assert(!exists(fixture.dir));
}
END_TEST

START_TEST(create_on_a_file_is_refused) {
    make_file(fixture.dir, "x", 1);
    ck_assert_int_eq(create(), ERR_IO);
    assert_detail_has(fixture.dir);
    ck_assert_int_eq(try_open(), ERR_IO);
}
END_TEST

// --- opening what is no store ---------------------------------------------------------------------

START_TEST(absent_directory_is_not_found) {
    ck_assert_int_eq(try_open(), ERR_NOT_FOUND);
    assert_detail_has("claimd init --data-dir ");
    assert_detail_has(fixture.dir);
    ck_assert(!exists(fixture.dir));
}
END_TEST

START_TEST(empty_directory_is_not_found_and_stays_empty) {
    make_dir(fixture.dir); // as an unmounted volume
    ck_assert_int_eq(try_open(), ERR_NOT_FOUND);
    assert_detail_has("claimd init --data-dir ");
    ck_assert_int_eq(rmdir(fixture.dir), 0);
}
END_TEST

START_TEST(foreign_directory_is_not_found) {
    make_dir(fixture.dir);
    make_file(store_fixture_path(&fixture, "holiday.jpg"), "x", 1);
    ck_assert_int_eq(try_open(), ERR_NOT_FOUND);
    assert_detail_has("holiday.jpg");
}
END_TEST

// What a crash leaves at each stage of an init: the temporary label, then db, then position.
START_TEST(interrupted_init_is_named_and_removable) {
    for (int stage = 0; stage < 3; stage++) {
        store_fixture_create(&fixture);
        ck_assert_int_eq(rename(store_fixture_path(&fixture, STORE_LABEL_NAME),
                                store_fixture_path(&fixture, STORE_LABEL_NAME_UNFINISHED)), 0);
        if (stage < 2) temp_dir_remove_path(store_fixture_path(&fixture, STORE_POSITION_NAME));
        if (stage < 1) temp_dir_remove_path(store_fixture_path(&fixture, STORE_DB_NAME));

        ck_assert_int_eq(try_open(), ERR_NOT_FOUND);
        assert_detail_has("interrupted");
        assert_detail_has("safe");
        assert_detail_has(STORE_LABEL_NAME_UNFINISHED);
        ck_assert_int_eq(create(), ERR_INVALID_ARGUMENT);
        assert_detail_has(STORE_LABEL_NAME_UNFINISHED);

        // The remedy works.
        temp_dir_remove_path(store_fixture_path(&fixture, STORE_LABEL_NAME_UNFINISHED));
        temp_dir_remove_path(store_fixture_path(&fixture, STORE_DB_NAME));
        temp_dir_remove_path(store_fixture_path(&fixture, STORE_POSITION_NAME));
        store_fixture_create(&fixture);
        store_fixture_open(&fixture);
        store_fixture_close(&fixture);
        temp_dir_remove_path(fixture.dir);
    }
}
END_TEST

// Nobody must be told that these files may go: they may be years of claims.
START_TEST(lost_label_is_damage) {
    store_fixture_create(&fixture);
    temp_dir_remove_path(store_fixture_path(&fixture, STORE_LABEL_NAME));
    ck_assert_int_eq(try_open(), ERR_CORRUPT);
    assert_detail_has("/" STORE_LABEL_NAME " is missing");
    assert_detail_has("backup");
    ck_assert_ptr_null(strstr(detail.text, "remove"));
    ck_assert_int_eq(create(), ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(strstr(detail.text, "remove"));
}
END_TEST

START_TEST(too_long_path_is_refused) {
    char path[STORE_DIR_BYTES_MAX + 2];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct store *store = NULL;
    ck_assert_int_eq(store_open(path, &fixture.options, &store, &detail), ERR_IO);
    assert_detail_has("longer than");
    ck_assert_int_eq(store_create(path, 1, &detail), ERR_IO);
}
END_TEST

// --- the label ------------------------------------------------------------------------------------

static size_t read_label(uint8_t *data, size_t len) {
    int fd = open(store_fixture_path(&fixture, STORE_LABEL_NAME), O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ssize_t got = read(fd, data, len);
    ck_assert_int_ge(got, 0);
    ck_assert_int_eq(close(fd), 0);
    return (size_t)got;
}

START_TEST(damaged_label_is_refused) {
    store_fixture_create(&fixture);
    uint8_t label[64];
    size_t len = read_label(label, sizeof label);
    const char *path = store_fixture_path(&fixture, STORE_LABEL_NAME);
    ck_assert_uint_eq(len, 21);
    ck_assert_mem_eq(label, "claimd store\n", 13);
    for (size_t bit = 0; bit < len * 8; bit++) {
        label[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        make_file(path, label, len);
        ck_assert_msg(try_open() == ERR_CORRUPT, "bit %zu", bit);
        assert_detail_has(STORE_LABEL_NAME);
        label[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    for (size_t cut = 0; cut < len; cut++) {
        make_file(path, label, cut);
        ck_assert_msg(try_open() == ERR_CORRUPT, "cut to %zu", cut);
    }
    make_file(path, label, len);
    store_fixture_open(&fixture);
}
END_TEST

START_TEST(newer_format_is_refused) {
    store_fixture_create(&fixture);
    // As STORE_FORMAT_VERSION 2 would write it.
    static const uint8_t newer[] = {'c', 'l', 'a', 'i', 'm', 'd', ' ',  's',  't',  'o', 'r',
                                    'e', '\n', 2,  0,   0,   0,   0x00, 0x00, 0x00, 0x00};
    uint8_t label[sizeof newer];
    memcpy(label, newer, sizeof newer);
    SCOPE_BUF struct buf crc = {0};
    buf_put_u32(&crc, crc32c(0, (struct bytes){label, sizeof label - 4}));
    memcpy(label + sizeof label - 4, crc.data, 4);
    make_file(store_fixture_path(&fixture, STORE_LABEL_NAME), label, sizeof label);
    ck_assert_int_eq(try_open(), ERR_CORRUPT);
    assert_detail_has("format 2");
    assert_detail_has("newer");
}
END_TEST

// --- one owner ------------------------------------------------------------------------------------

START_TEST(second_open_in_this_process_is_locked) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    struct store *second = NULL;
    ck_assert_int_eq(store_open(fixture.dir, &fixture.options, &second, &detail), ERR_LOCKED);
    assert_detail_has("another process has ");
    assert_detail_has(fixture.dir);
    ck_assert_ptr_null(second);
    store_fixture_put(&fixture, KEYSPACE_OPEN, "a", "1"); // the first is none the worse
    ck_assert_uint_eq(store_fixture_commit(&fixture), 1);
}
END_TEST

// The child opens, says so, and holds the store until its pipe ends.
static void hold_open(int ready, int release) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    char byte = 'r';
    if (write(ready, &byte, 1) != 1) _exit(1);
    _exit(read(release, &byte, 1) == 0 ? 0 : 1); // without closing: the kernel frees the lock
}

START_TEST(second_process_is_locked) {
    int ready[2];
    int release[2];
    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(release), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)close(release[1]);
        hold_open(ready[1], release[0]);
    }
    (void)close(ready[1]);
    char byte;
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(try_open(), ERR_LOCKED);
    assert_detail_has("another process has ");
    (void)close(release[1]);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    store_fixture_open(&fixture);
    (void)close(ready[0]);
    (void)close(release[0]);
}
END_TEST

// --- reading and writing --------------------------------------------------------------------------

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
        ck_assert_int_eq(store_get(fixture.store, KEYSPACE_BLOB, bytes_of("b"), STORE_MAY_READ,
                                   &out), ERR_OK);
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
        char key[16];
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
        char key[16];
        (void)snprintf(key, sizeof key, "%04d", i);
        store_fixture_put(&fixture, KEYSPACE_DONE, key, "value");
    }
    (void)store_fixture_commit(&fixture);
    for (int i = 0; i < 1000; i += 2) {
        char key[16];
        (void)snprintf(key, sizeof key, "%04d", i);
        store_fixture_delete(&fixture, KEYSPACE_DONE, key);
    }
    (void)store_fixture_commit(&fixture);
    store_compact(fixture.store, KEYSPACE_DONE);
    for (int i = 0; i < 1000; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%04d", i);
        store_fixture_expect(&fixture, KEYSPACE_DONE, key, i % 2 == 0 ? NULL : "value");
    }
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

// --- the position ---------------------------------------------------------------------------------

static uint64_t read_mark(void) {
    struct high_water mark;
    uint64_t position = UINT64_MAX;
    ck_assert_int_eq(high_water_open(store_fixture_path(&fixture, STORE_POSITION_NAME), &mark,
                                     &position), ERR_OK);
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

// Relaxed, the log may be lost in a power cut; a mark ahead of it would keep the store from opening.
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

// --- faults ---------------------------------------------------------------------------------------

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
    tcase_add_test(cases, created_store_opens_with_its_first_rows);
    tcase_add_test(cases, empty_directory_becomes_a_store);
    tcase_add_test(cases, second_create_is_refused);
    tcase_add_test(cases, create_spares_foreign_files);
    tcase_add_test(cases, create_makes_one_level_only);
    tcase_add_test(cases, create_on_a_file_is_refused);
    tcase_add_test(cases, absent_directory_is_not_found);
    tcase_add_test(cases, empty_directory_is_not_found_and_stays_empty);
    tcase_add_test(cases, foreign_directory_is_not_found);
    tcase_add_test(cases, interrupted_init_is_named_and_removable);
    tcase_add_test(cases, lost_label_is_damage);
    tcase_add_test(cases, too_long_path_is_refused);
    tcase_add_test(cases, damaged_label_is_refused);
    tcase_add_test(cases, newer_format_is_refused);
    tcase_add_test(cases, second_open_in_this_process_is_locked);
    tcase_add_test(cases, second_process_is_locked);
    tcase_add_test(cases, families_are_apart_and_survive_reopening);
    tcase_add_test(cases, get_appends_and_large_values_are_whole);
    tcase_add_test(cases, cleared_batch_writes_nothing);
    tcase_add_test(cases, cold_block_would_block_and_is_then_cached);
    tcase_add_test(cases, compaction_keeps_what_lives);
    tcase_add_test(cases, free_space_is_the_file_systems);
    tcase_add_test(cases, mark_follows_each_write);
    tcase_add_test(cases, relaxed_mark_follows_the_sync);
    tcase_add_test_raise_signal(cases, position_never_goes_back, SIGABRT);
    tcase_add_test(cases, every_call_of_create_may_fail);
    tcase_add_test(cases, every_call_of_open_may_fail);
    tcase_add_test(cases, every_allocation_may_fail);
    tcase_add_test(cases, failed_mark_stops_all_writes);
    tcase_add_test(cases, failed_sync_is_told);
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
