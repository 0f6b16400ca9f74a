// The high-water mark: what is written is read, what is damaged is refused, every call may fail.
#include "store/high_water.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "lib/temp_dir.h"
#include "store/store_io.h"

#define MARK_BYTES 20

static struct temp_dir temp;
static char path[TEMP_DIR_PATH_BYTES_MAX + 16];

static void setup(void) {
    temp_dir_create(TEMP_DIR_ANY, &temp);
    (void)snprintf(path, sizeof path, "%s/position", temp.path);
}

static void teardown(void) { temp_dir_remove(&temp); }

static uint64_t read_mark(void) {
    struct high_water mark;
    uint64_t position = UINT64_MAX;
    ck_assert_int_eq(high_water_open(path, &mark, &position), ERR_OK);
    high_water_close(&mark);
    ck_assert_int_eq(mark.fd, -1);
    return position;
}

static void write_file(const uint8_t *data, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
    ck_assert_int_eq(close(fd), 0);
}

static size_t read_file(uint8_t *data, size_t len) {
    int fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ssize_t got = read(fd, data, len);
    ck_assert_int_ge(got, 0);
    ck_assert_int_eq(close(fd), 0);
    return (size_t)got;
}

static enum err try_open(void) {
    struct high_water mark;
    uint64_t position = 0;
    enum err err = high_water_open(path, &mark, &position);
    if (err == ERR_OK) high_water_close(&mark);
    return err;
}

START_TEST(positions_are_read_back) {
    static const uint64_t positions[] = {0, 1, 255, 256, UINT64_C(1) << 40, UINT64_MAX};
    ck_assert_int_eq(high_water_create(path, 7), ERR_OK);
    ck_assert_uint_eq(read_mark(), 7);
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        struct high_water mark;
        uint64_t before = 0;
        ck_assert_int_eq(high_water_open(path, &mark, &before), ERR_OK);
        ck_assert_int_eq(high_water_write(&mark, positions[i]), ERR_OK);
        ck_assert_int_eq(high_water_sync(&mark), ERR_OK);
        high_water_close(&mark);
        ck_assert_uint_eq(read_mark(), positions[i]);
    }
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_size, MARK_BYTES); // overwritten in place
    ck_assert_int_eq(info.st_mode & 0777, 0600);
}
END_TEST

START_TEST(layout_is_as_documented) {
    static const uint8_t expected[] = {'c',  'l',  'h',  'w',  1,    0,    0,    0,
                                       0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01};
    uint8_t content[64];
    ck_assert_int_eq(high_water_create(path, UINT64_C(0x0102030405060708)), ERR_OK);
    ck_assert_uint_eq(read_file(content, sizeof content), MARK_BYTES);
    ck_assert_mem_eq(content, expected, sizeof expected);
}
END_TEST

START_TEST(create_never_replaces) {
    ck_assert_int_eq(high_water_create(path, 7), ERR_OK);
    ck_assert_int_eq(high_water_create(path, 0), ERR_EXISTS);
    ck_assert_uint_eq(read_mark(), 7);
}
END_TEST

START_TEST(missing_file_is_not_found) { ck_assert_int_eq(try_open(), ERR_NOT_FOUND); }
END_TEST

START_TEST(every_flipped_bit_is_corrupt) {
    uint8_t content[MARK_BYTES];
    ck_assert_int_eq(high_water_create(path, 123456789), ERR_OK);
    ck_assert_uint_eq(read_file(content, sizeof content), MARK_BYTES);
    for (size_t bit = 0; bit < MARK_BYTES * 8; bit++) {
        content[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        write_file(content, sizeof content);
        ck_assert_msg(try_open() == ERR_CORRUPT, "bit %zu", bit);
        content[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    write_file(content, sizeof content);
    ck_assert_uint_eq(read_mark(), 123456789);
}
END_TEST

START_TEST(every_other_length_is_corrupt) {
    uint8_t content[MARK_BYTES + 2] = {0};
    ck_assert_int_eq(high_water_create(path, 5), ERR_OK);
    ck_assert_uint_eq(read_file(content, MARK_BYTES), MARK_BYTES);
    for (size_t len = 0; len <= sizeof content; len++) {
        write_file(content, len);
        ck_assert_msg(try_open() == (len == MARK_BYTES ? ERR_OK : ERR_CORRUPT), "length %zu", len);
    }
}
END_TEST

// --- faults -------------------------------------------------------------------------------------

static int calls_left; // before the one that fails

static int fail_after(void) { return calls_left-- == 0 ? EIO : 0; }

// Creates, opens, writes and syncs; the first error ends it.
static enum err live(void) {
    struct high_water mark;
    uint64_t position = 0;
    enum err err = high_water_create(path, 1);
    if (err == ERR_OK) err = high_water_open(path, &mark, &position);
    if (err != ERR_OK) return err;
    ck_assert_uint_eq(position, 1);
    err = high_water_write(&mark, 2);
    if (err == ERR_OK) err = high_water_sync(&mark);
    high_water_close(&mark);
    return err;
}

START_TEST(every_call_may_fail) {
    int failed = 0;
    for (int n = 0;; n++) {
        (void)unlink(path);
        calls_left = n;
        store_io_set_fault_hook(fail_after);
        enum err err = live();
        store_io_set_fault_hook(NULL);
        if (calls_left >= 0) {
            ck_assert_int_eq(err, ERR_OK);
            break;
        }
        ck_assert_msg(err == ERR_IO, "call %d", n);
        failed++;
    }
    ck_assert_int_ge(failed, 7); // create: open, write, sync; then open, read, write, sync
    ck_assert_uint_eq(read_mark(), 2);
}
END_TEST

int main(void) {
    TCase *cases = tcase_create("high_water");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, positions_are_read_back);
    tcase_add_test(cases, layout_is_as_documented);
    tcase_add_test(cases, create_never_replaces);
    tcase_add_test(cases, missing_file_is_not_found);
    tcase_add_test(cases, every_flipped_bit_is_corrupt);
    tcase_add_test(cases, every_other_length_is_corrupt);
    tcase_add_test(cases, every_call_may_fail);
    Suite *suite = suite_create("store/high_water");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
