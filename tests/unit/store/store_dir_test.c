// What a directory may become a store, and which store may be opened, by whom.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>
#include <rocksdb/c.h>

#include "base/scope.h"
#include "codec/crc32c.h"
#include "lib/store_fixture.h"
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
    ck_assert_int_eq(
        store_get(fixture.store, KEYSPACE_META, keyspace_head_key(), STORE_MAY_READ, &value),
        ERR_OK);
    ck_assert_int_eq(keyspace_parse_head(buf_bytes(&value), &head), ERR_OK);
    ck_assert_uint_eq(head.position, 0);
    ck_assert_uint_eq(head.term, 0);
    buf_reset(&value, 0);
    struct keyspace_clock clock;
    ck_assert_int_eq(
        store_get(fixture.store, KEYSPACE_META, keyspace_clock_key(), STORE_MAY_READ, &value),
        ERR_OK);
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

// --- opening what is no store --------------------------------------------------------------------

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
                                store_fixture_path(&fixture, STORE_LABEL_NAME_UNFINISHED)),
                         0);
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

// --- the label -----------------------------------------------------------------------------------

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
    static const uint8_t newer[] = {'c', 'l',  'a', 'i', 'm', 'd', ' ',  's',  't',  'o', 'r',
                                    'e', '\n', 2,   0,   0,   0,   0x00, 0x00, 0x00, 0x00};
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

// --- one owner -----------------------------------------------------------------------------------

START_TEST(second_open_in_this_process_is_locked) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    struct store *second = NULL;
    struct stat before;
    struct stat after;
    ck_assert_int_eq(stat(store_fixture_path(&fixture, "db/LOG"), &before), 0);
    ck_assert_int_eq(store_open(fixture.dir, &fixture.options, &second, &detail), ERR_LOCKED);
    ck_assert_int_eq(stat(store_fixture_path(&fixture, "db/LOG"), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino); // RocksDB would have renamed the owner's file
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

// --- families ------------------------------------------------------------------------------------

// Opens the database itself, with these families, and drops or makes one.
static void change_family(const char *const *names, int count, const char *make) {
    rocksdb_options_t *options = rocksdb_options_create();
    const rocksdb_options_t *each[8];
    rocksdb_column_family_handle_t *handles[8];
    for (int i = 0; i < count; i++) each[i] = options;
    char *text = NULL;
    rocksdb_t *database = rocksdb_open_column_families(options, store_fixture_path(&fixture, "db"),
                                                       count, names, each, handles, &text);
    ck_assert_msg(text == NULL, "%s", text);
    if (make != NULL) {
        rocksdb_column_family_handle_destroy(
            rocksdb_create_column_family(database, options, make, &text));
    } else {
        rocksdb_drop_column_family(database, handles[count - 1], &text);
    }
    ck_assert_msg(text == NULL, "%s", text);
    for (int i = 0; i < count; i++) rocksdb_column_family_handle_destroy(handles[i]);
    rocksdb_close(database);
    rocksdb_options_destroy(options);
}

START_TEST(missing_and_unknown_families_are_refused) {
    static const char *const names[] = {"default", "open",  "done", "blob",
                                        "guard",   "audit", "meta"};
    store_fixture_create(&fixture);
    change_family(names, 7, "later");
    ck_assert_int_eq(try_open(), ERR_CORRUPT);
    assert_detail_has("later");
    assert_detail_has("backup");
    temp_dir_remove_path(fixture.dir);
    store_fixture_create(&fixture);
    change_family(names, 7, NULL);
    ck_assert_int_eq(try_open(), ERR_CORRUPT);
    assert_detail_has("meta");
}
END_TEST

// --- what crashes leave -------------------------------------------------------------------------

// Does it in a process of its own, which ends at once, as if killed. RocksDB keeps threads that do
// not survive a fork, so this process must not have used it before.
static void do_and_crash(bool create_first) {
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct store *store = NULL;
        enum err err = create_first ? create() : ERR_OK;
        if (err == ERR_OK) err = store_open(fixture.dir, &fixture.options, &store, &detail);
        _exit(err == ERR_OK ? 0 : 1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int files_in_database(void) {
    DIR *dir = opendir(store_fixture_path(&fixture, "db"));
    ck_assert_ptr_nonnull(dir);
    int count = 0;
    while (readdir(dir) != NULL) count++;
    ck_assert_int_eq(closedir(dir), 0);
    return count;
}

// RocksDB may leave a small table for each run until it holds up the 37th to compact them; logs
// have no such bound.
START_TEST(a_crash_loop_without_a_write_does_not_grow_for_ever) {
    do_and_crash(true);
    for (int i = 0; i < 70; i++) do_and_crash(false);
    ck_assert_int_le(files_in_database(), 60);
    store_fixture_open(&fixture);
}
END_TEST

START_TEST(options_that_a_crash_left_half_written_are_removed) {
    store_fixture_create(&fixture);
    make_file(store_fixture_path(&fixture, "db/OPTIONS-000099.dbtmp"), "x", 1);
    make_file(store_fixture_path(&fixture, "db/OPTIONS.dbtmp.txt"), "x", 1); // not of RocksDB
    store_fixture_open(&fixture);
    ck_assert(!exists(store_fixture_path(&fixture, "db/OPTIONS-000099.dbtmp")));
    ck_assert(exists(store_fixture_path(&fixture, "db/OPTIONS.dbtmp.txt")));
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
    tcase_add_test(cases, missing_and_unknown_families_are_refused);
    tcase_add_test(cases, a_crash_loop_without_a_write_does_not_grow_for_ever);
    tcase_add_test(cases, options_that_a_crash_left_half_written_are_removed);
}

int main(void) {
    TCase *cases = tcase_create("store_dir");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_tests(cases);
    Suite *suite = suite_create("store/store_dir");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
