// Damage to the files of a store: every case is refused, or nothing acknowledged is missing. A
// store that opens shorter than it was is the one answer that must never come. (BL-83)
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "base/scope.h"
#include "lib/store_fixture.h"
#include "store/store_scan.h"

#define GROUPS 200 // more than one 32 KiB block of the log
#define TORN_BYTES_MAX 64
#define DOTS "................................................."
#define VALUE_FILL DOTS DOTS DOTS

static struct store_fixture fixture; // the store that is damaged, again and again, from a copy
static struct error_detail detail;
static char original[TEMP_DIR_PATH_BYTES_MAX + 16];
static off_t log_sizes[GROUPS + 1]; // of the last log after each group

static void setup(void) {
    store_fixture_init(&fixture);
    (void)snprintf(original, sizeof original, "%s/original", fixture.temp.path);
}

static void teardown(void) { store_fixture_deinit(&fixture); }

// --- files ---------------------------------------------------------------------------------------

// The path of the first (or last) file in the database whose name begins or ends so; names of one
// kind sort by age.
static const char *find_file(const char *prefix, const char *suffix, bool last) {
    static char found[8][1024];
    static size_t next;
    char *out = found[next++ % 8];
    out[0] = '\0';
    struct dirent **entries = NULL;
    const char *dir = store_fixture_path(&fixture, "db");
    int count = scandir(dir, &entries, NULL, alphasort);
    ck_assert_int_ge(count, 0);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t len = strlen(name);
        bool matches = strncmp(name, prefix, strlen(prefix)) == 0 && len >= strlen(suffix) &&
                       strcmp(name + len - strlen(suffix), suffix) == 0;
        if (matches && (out[0] == '\0' || last)) {
            (void)snprintf(out, sizeof found[0], "%s/%s", dir, name);
        }
        free(entries[i]);
    }
    free(entries);
    ck_assert_msg(out[0] != '\0', "no file %s*%s", prefix, suffix);
    return out;
}

static off_t file_size(const char *path) {
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    return info.st_size;
}

static void flip_bit(const char *path, off_t offset) {
    int fd = open(path, O_RDWR);
    uint8_t byte = 0;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x10;
    ck_assert_int_eq(pwrite(fd, &byte, 1, offset), 1);
    ck_assert_int_eq(close(fd), 0);
}

static void cut(const char *path, off_t size) { ck_assert_int_eq(truncate(path, size), 0); }

static void append(const char *path, const uint8_t *data, size_t len) {
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
    ck_assert_int_eq(close(fd), 0);
}

// --- the store -----------------------------------------------------------------------------------

static void key_of(uint64_t i, char out[16]) { (void)snprintf(out, 16, "k%05u", (unsigned)i); }

static void write_groups(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        char key[16];
        key_of(store_position(fixture.store) + 1, key);
        store_fixture_put(&fixture, KEYSPACE_OPEN, key, VALUE_FILL);
        store_fixture_put(&fixture, KEYSPACE_DONE, key, VALUE_FILL);
        uint64_t position = store_fixture_commit(&fixture);
        if (position <= GROUPS) log_sizes[position] = file_size(find_file("", ".log", true));
    }
}

// A closed store whose groups are all in one log.
static void make_log_store(void) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    write_groups(GROUPS);
    store_fixture_close(&fixture);
    temp_dir_copy_path(fixture.dir, original);
}

// A closed store whose groups are all in table files: what recovery writes.
static void make_table_store(void) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    write_groups(GROUPS);
    store_fixture_close(&fixture);
    store_fixture_open(&fixture);
    store_fixture_close(&fixture);
    temp_dir_copy_path(fixture.dir, original);
}

// Puts the undamaged store back.
static void restore(void) {
    store_fixture_close(&fixture);
    temp_dir_remove_path(fixture.dir);
    temp_dir_copy_path(original, fixture.dir);
}

static enum err try_open(void) {
    detail.text[0] = '\0';
    return store_fixture_try_open(&fixture, &detail);
}

static void assert_refused(const char *what, const char *names) {
    enum err err = try_open();
    ck_assert_msg(err == ERR_CORRUPT, "%s: %s: %s", what, error_reason(err), detail.text);
    ck_assert_msg(strstr(detail.text, names) != NULL, "%s: \"%s\" does not name %s", what,
                  detail.text, names);
    ck_assert_msg(strstr(detail.text, "backup") != NULL, "%s: \"%s\" has no remedy", what,
                  detail.text);
    // It is not forgotten by trying again.
    err = try_open();
    ck_assert_msg(err == ERR_CORRUPT, "%s, again: %s", what, error_reason(err));
}

// Reads every key of the first groups: found, or (only where damaged says so) an error; never
// absent.
static uint64_t count_found(uint64_t groups, bool damaged) {
    uint64_t found = 0;
    for (uint64_t i = 1; i <= groups; i++) {
        char key[16];
        key_of(i, key);
        for (int f = 0; f < 2; f++) {
            SCOPE_BUF struct buf out = {0};
            enum err err = store_get(fixture.store, f == 0 ? KEYSPACE_OPEN : KEYSPACE_DONE,
                                     bytes_of(key), STORE_MAY_READ, &out);
            if (damaged && err == ERR_CORRUPT) continue;
            ck_assert_msg(err == ERR_OK, "%s is %s", key, error_reason(err));
            ck_assert(bytes_equal(buf_bytes(&out), bytes_of(VALUE_FILL)));
            found++;
        }
    }
    return found;
}

static void assert_whole(const char *what, uint64_t groups) {
    enum err err = try_open();
    ck_assert_msg(err == ERR_OK, "%s: %s: %s", what, error_reason(err), detail.text);
    ck_assert_uint_ge(store_position(fixture.store), groups);
    ck_assert_uint_eq(count_found(groups, false), 2 * groups);
    store_fixture_close(&fixture);
}

static void assert_refused_or_whole(const char *what) {
    enum err err = try_open();
    if (err == ERR_OK) {
        ck_assert_msg(store_position(fixture.store) == GROUPS, "%s: position", what);
        (void)count_found(GROUPS, true);
        store_fixture_close(&fixture);
    } else {
        ck_assert_msg(err == ERR_CORRUPT, "%s: %s: %s", what, error_reason(err), detail.text);
        ck_assert_ptr_nonnull(strstr(detail.text, "backup"));
    }
}

// --- the log -------------------------------------------------------------------------------------

START_TEST(torn_tail_of_an_unacknowledged_group_opens) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    write_groups(GROUPS - 1);
    // The process dies after the log was written and before the mark was.
    char mark[sizeof fixture.dir + 16];
    (void)snprintf(mark, sizeof mark, "%s/mark", fixture.temp.path);
    temp_dir_copy_path(store_fixture_path(&fixture, "position"), mark);
    write_groups(1);
    store_fixture_close(&fixture);
    temp_dir_remove_path(store_fixture_path(&fixture, "position"));
    temp_dir_copy_path(mark, store_fixture_path(&fixture, "position"));
    temp_dir_copy_path(fixture.dir, original);
    ck_assert_int_gt(log_sizes[GROUPS] - log_sizes[GROUPS - 1], TORN_BYTES_MAX);
    for (off_t torn = 0; torn <= TORN_BYTES_MAX; torn++) {
        restore();
        const char *log = find_file("", ".log", true);
        cut(log, file_size(log) - torn);
        store_fixture_open(&fixture);
        ck_assert_uint_eq(count_found(GROUPS - 1, false), 2 * (GROUPS - 1));
        // All of the group or none of it, and the position says which.
        uint64_t groups = torn == 0 ? GROUPS : GROUPS - 1;
        char key[16];
        key_of(GROUPS, key);
        ck_assert_uint_eq(store_position(fixture.store), groups);
        store_fixture_expect(&fixture, KEYSPACE_OPEN, key, torn == 0 ? VALUE_FILL : NULL);
        store_fixture_expect(&fixture, KEYSPACE_DONE, key, torn == 0 ? VALUE_FILL : NULL);
        write_groups(1); // and it goes on
    }
}
END_TEST

START_TEST(torn_tail_of_an_acknowledged_group_is_refused) {
    make_log_store();
    for (off_t torn = 1; torn <= TORN_BYTES_MAX; torn += 7) {
        restore();
        const char *log = find_file("", ".log", true);
        cut(log, file_size(log) - torn);
        enum err err = try_open();
        ck_assert_msg(err == ERR_CORRUPT, "%d bytes: %s", (int)torn, error_reason(err));
        ck_assert_ptr_nonnull(strstr(detail.text, "ends at position 199, but "));
        ck_assert_ptr_nonnull(strstr(detail.text, "says that 200 was acknowledged"));
    }
    assert_refused("torn", "/position");
}
END_TEST

START_TEST(log_cut_between_groups_is_refused) {
    make_log_store();
    static const uint64_t cuts[] = {1, 50, 198, 199};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        restore();
        cut(find_file("", ".log", true), log_sizes[cuts[i]]);
        assert_refused("cut between groups", ".log");
    }
}
END_TEST

START_TEST(log_cut_in_half_is_refused) {
    make_log_store();
    const char *log = find_file("", ".log", true);
    cut(log, file_size(log) / 2 + 1);
    assert_refused("cut in half", ".log");
    restore();
    cut(find_file("", ".log", true), 0);
    assert_refused("emptied", ".log");
}
END_TEST

START_TEST(deleted_log_is_refused) {
    make_log_store();
    temp_dir_remove_path(find_file("", ".log", true));
    assert_refused("deleted", ".log");
}
END_TEST

START_TEST(flipped_bits_in_the_log_are_refused) {
    make_log_store();
    off_t size = file_size(find_file("", ".log", true));
    ck_assert_int_gt(size, 2 * 32768);
    for (off_t at = 0; at < size; at += 997) {
        restore();
        flip_bit(find_file("", ".log", true), at);
        enum err err = try_open();
        ck_assert_msg(err == ERR_CORRUPT, "bit flip at %d: %s", (int)at, error_reason(err));
    }
}
END_TEST

START_TEST(bytes_after_the_log_do_no_harm) {
    make_log_store();
    uint8_t block[4096] = {0};
    append(find_file("", ".log", true), block, sizeof block);
    assert_whole("zeros appended", GROUPS);
    restore();
    srandom(7);
    for (size_t i = 0; i < sizeof block; i++) block[i] = (uint8_t)random();
    append(find_file("", ".log", true), block, sizeof block);
    assert_refused_or_whole("garbage appended");
}
END_TEST

// The hole that the mark cannot see: the head row has been flushed, so the position is right, while
// rows of other families are only in an older log.
static void make_two_log_store(void) {
    store_fixture_create(&fixture);
    store_fixture_open(&fixture);
    write_groups(GROUPS / 2);
    static uint8_t large[1024 * 1024];
    for (size_t i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 131);
    for (int i = 0; i < 6; i++) { // more than one memtable of meta
        char key[16];
        (void)snprintf(key, sizeof key, "zz%d", i);
        store_batch_put(fixture.batch, fixture.store, KEYSPACE_META, bytes_of(key),
                        (struct bytes){large, sizeof large});
        (void)store_fixture_commit(&fixture);
    }
    write_groups(GROUPS / 2);
    store_fixture_close(&fixture);
    ck_assert_str_ne(find_file("", ".log", false), find_file("", ".log", true));
    temp_dir_copy_path(fixture.dir, original);
}

START_TEST(older_log_missing_or_cut_is_refused) {
    make_two_log_store();
    temp_dir_remove_path(find_file("", ".log", false));
    assert_refused("older log deleted", "WAL");
    restore();
    const char *log = find_file("", ".log", false);
    cut(log, file_size(log) - 1);
    assert_refused("older log cut", "WAL");
    restore();
    cut(find_file("", ".log", false), 0);
    assert_refused("older log emptied", "WAL");
    restore();
    assert_whole("undamaged", GROUPS / 2);
}
END_TEST

// --- table files ---------------------------------------------------------------------------------

START_TEST(missing_or_short_table_is_refused) {
    make_table_store();
    temp_dir_remove_path(find_file("", ".sst", false));
    assert_refused("deleted", ".sst");
    restore();
    const char *table = find_file("", ".sst", false);
    cut(table, file_size(table) - 1);
    assert_refused("cut by a byte", "/db");
    restore();
    cut(find_file("", ".sst", true), 0);
    assert_refused("emptied", "/db");
}
END_TEST

static enum err scan_all(uint64_t *out_count) {
    struct store_scan *scan = NULL;
    struct bytes key;
    struct bytes value;
    *out_count = 0;
    enum err err = store_scan_open(fixture.store, KEYSPACE_OPEN, (struct bytes){0}, &scan);
    if (err != ERR_OK) return err;
    while ((err = store_scan_next(scan, &key, &value)) == ERR_OK) (*out_count)++;
    store_scan_close(scan);
    return err;
}

START_TEST(flipped_bits_in_tables_are_noticed) {
    make_table_store();
    int noticed = 0;
    for (int last = 0; last < 2; last++) {
        off_t size = file_size(find_file("", ".sst", last == 1));
        for (off_t at = 0; at < size; at += 131) {
            restore();
            flip_bit(find_file("", ".sst", last == 1), at);
            enum err err = try_open();
            if (err == ERR_OK) {
                uint64_t scanned = 0;
                ck_assert_uint_eq(store_position(fixture.store), GROUPS);
                if (count_found(GROUPS, true) < 2 * (uint64_t)GROUPS) noticed++;
                err = scan_all(&scanned);
                ck_assert_msg(err == ERR_CORRUPT || (err == ERR_NOT_FOUND && scanned == GROUPS),
                              "scan at %d: %s after %d", (int)at, error_reason(err), (int)scanned);
            } else {
                ck_assert_msg(err == ERR_CORRUPT, "at %d: %s: %s", (int)at, error_reason(err),
                              detail.text);
                noticed++;
            }
        }
    }
    ck_assert_int_gt(noticed, 10);
}
END_TEST

// --- what holds it together ----------------------------------------------------------------------

START_TEST(damaged_manifest_is_refused_or_harmless) {
    make_table_store();
    off_t size = file_size(find_file("MANIFEST", "", true));
    int refused = 0;
    for (off_t at = 0; at < size; at += 13) {
        char what[64];
        (void)snprintf(what, sizeof what, "MANIFEST flipped at %d", (int)at);
        restore();
        flip_bit(find_file("MANIFEST", "", true), at);
        assert_refused_or_whole(what);
        if (strstr(detail.text, "damaged") != NULL) refused++;
    }
    ck_assert_int_gt(refused, 10);
    for (off_t at = 0; at < size; at += 29) {
        char what[64];
        (void)snprintf(what, sizeof what, "MANIFEST cut to %d", (int)at);
        restore();
        cut(find_file("MANIFEST", "", true), at);
        assert_refused_or_whole(what);
    }
}
END_TEST

START_TEST(missing_files_are_refused) {
    make_table_store();
    static const char *const names[] = {"db/CURRENT", "db", "position"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        restore();
        temp_dir_remove_path(store_fixture_path(&fixture, names[i]));
        assert_refused(names[i], names[i]);
    }
    restore();
    temp_dir_remove_path(find_file("MANIFEST", "", true));
    assert_refused("MANIFEST", "MANIFEST");
    restore();
    cut(store_fixture_path(&fixture, "db/CURRENT"), 0);
    assert_refused("CURRENT emptied", "CURRENT");
    restore();
    cut(store_fixture_path(&fixture, "position"), 7);
    assert_refused("position cut", "/position is damaged");
    restore();
    flip_bit(store_fixture_path(&fixture, "position"), 8);
    assert_refused("position flipped", "/position is damaged");
}
END_TEST

// RocksDB says nothing of its own when a whole older database is put in the place of this one.
START_TEST(older_database_is_refused) {
    store_fixture_create(&fixture);
    temp_dir_copy_path(store_fixture_path(&fixture, "db"), original);
    store_fixture_open(&fixture);
    write_groups(1);
    store_fixture_close(&fixture);
    temp_dir_remove_path(store_fixture_path(&fixture, "db"));
    temp_dir_copy_path(original, store_fixture_path(&fixture, "db"));
    assert_refused("older database", "acknowledged");
}
END_TEST

static void add_tests(TCase *cases) {
    tcase_add_test(cases, torn_tail_of_an_unacknowledged_group_opens);
    tcase_add_test(cases, torn_tail_of_an_acknowledged_group_is_refused);
    tcase_add_test(cases, log_cut_between_groups_is_refused);
    tcase_add_test(cases, log_cut_in_half_is_refused);
    tcase_add_test(cases, deleted_log_is_refused);
    tcase_add_test(cases, flipped_bits_in_the_log_are_refused);
    tcase_add_test(cases, bytes_after_the_log_do_no_harm);
    tcase_add_test(cases, older_log_missing_or_cut_is_refused);
    tcase_add_test(cases, missing_or_short_table_is_refused);
    tcase_add_test(cases, flipped_bits_in_tables_are_noticed);
    tcase_add_test(cases, damaged_manifest_is_refused_or_harmless);
    tcase_add_test(cases, missing_files_are_refused);
    tcase_add_test(cases, older_database_is_refused);
}

int main(void) {
    TCase *cases = tcase_create("store_damage");
    tcase_set_timeout(cases, 240);
    tcase_add_checked_fixture(cases, setup, teardown);
    add_tests(cases);
    Suite *suite = suite_create("store/store_damage");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
