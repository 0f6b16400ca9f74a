// Sums of times stop at the ends of the range; sources of time are asked and believed.
#include <check.h>
#include <stdlib.h>

#include "base/time.h"

static const struct {
    int64_t a;
    int64_t b;
    int64_t sum;
    int64_t difference;
} cases[] = {
    {0, 0, 0, 0},
    {5, 3, 8, 2},
    {5, -3, 2, 8},
    {-5, 3, -2, -8},
    {INT64_MAX, 0, INT64_MAX, INT64_MAX},
    {INT64_MAX, 1, INT64_MAX, INT64_MAX - 1},
    {INT64_MAX, -1, INT64_MAX - 1, INT64_MAX},
    {INT64_MAX - 1, 1, INT64_MAX, INT64_MAX - 2},
    {INT64_MAX, INT64_MAX, INT64_MAX, 0},
    {INT64_MIN, 0, INT64_MIN, INT64_MIN},
    {INT64_MIN, -1, INT64_MIN, INT64_MIN + 1},
    {INT64_MIN, 1, INT64_MIN + 1, INT64_MIN},
    {INT64_MIN + 1, -1, INT64_MIN, INT64_MIN + 2},
    {INT64_MIN, INT64_MIN, INT64_MIN, 0},
    {INT64_MAX, INT64_MIN, -1, INT64_MAX},
    {INT64_MIN, INT64_MAX, -1, INT64_MIN},
    {0, INT64_MIN, INT64_MIN, INT64_MAX},
    {-1, INT64_MIN, INT64_MIN, INT64_MAX},
};

START_TEST(test_saturation) {
    ck_assert_int_eq(time_add_ms(cases[_i].a, cases[_i].b), cases[_i].sum);
    ck_assert_int_eq(time_sub_ms(cases[_i].a, cases[_i].b), cases[_i].difference);
}
END_TEST

struct fake {
    int64_t wall_ms;
    int64_t boot_ns;
};

static struct wall_ms fake_wall(void *self) {
    return (struct wall_ms){((struct fake *)self)->wall_ms};
}

static struct boot_ns fake_boot(void *self) {
    return (struct boot_ns){((struct fake *)self)->boot_ns};
}

START_TEST(test_source_is_asked) {
    struct fake fake = {.wall_ms = 12, .boot_ns = 34};
    struct time_source source = {.wall = fake_wall, .boot = fake_boot, .self = &fake};
    ck_assert_int_eq(time_wall(&source).ms, 12);
    ck_assert_int_eq(time_boot(&source).ns, 34);
    fake = (struct fake){.wall_ms = 11, .boot_ns = 35};
    ck_assert_int_eq(time_wall(&source).ms, 11);
    ck_assert_int_eq(time_boot(&source).ns, 35);
}
END_TEST

// Milliseconds and nanoseconds, not other units: any year in which this runs is past 2020, and the
// boot clock never goes back.
START_TEST(test_real_clocks) {
    struct time_source source = time_source_real();
    ck_assert_int_gt(time_wall(&source).ms, INT64_C(1577836800000));
    ck_assert_int_lt(time_wall(&source).ms, INT64_C(1577836800000) * 10);
    struct boot_ns last = time_boot(&source);
    ck_assert_int_gt(last.ns, 0);
    for (int i = 0; i < 10000; i++) {
        struct boot_ns now = time_boot(&source);
        if (now.ns < last.ns) ck_abort_msg("the boot clock went back");
        last = now;
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("time");
    TCase *tests = tcase_create("time");
    tcase_add_loop_test(tests, test_saturation, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(tests, test_source_is_asked);
    tcase_add_test(tests, test_real_clocks);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
