// Parked operations: taken in the order they came, bounded for one key and in all.
#include "engine/waiters.h"

#include <check.h>
#include <stdlib.h>

#include "base/limits.h"

static struct waiters waiters;

static void setup(void) { ck_assert_int_eq(waiters_init(&waiters), ERR_OK); }

static void teardown(void) { waiters_deinit(&waiters); }

// Two hashes that fall into one bucket, which the bits from the 32nd on choose.
#define HASH_A ((UINT64_C(5) << 32) | 1)
#define HASH_B ((UINT64_C(5) << 32) | 2)
#define HASH_C ((UINT64_C(6) << 32) | 1)

START_TEST(taken_in_order_and_by_key) {
    struct waiter a[3] = {0};
    struct waiter b[2] = {0};
    struct waiter c = {0};
    ck_assert(waiters_park(&waiters, HASH_A, &a[0]));
    ck_assert(waiters_park(&waiters, HASH_B, &b[0]));
    ck_assert(waiters_park(&waiters, HASH_A, &a[1]));
    ck_assert(waiters_park(&waiters, HASH_C, &c));
    ck_assert(waiters_park(&waiters, HASH_B, &b[1]));
    ck_assert(waiters_park(&waiters, HASH_A, &a[2]));
    ck_assert_uint_eq(waiters.count, 6);
    for (int i = 0; i < 3; i++) ck_assert_ptr_eq(waiters_take(&waiters, HASH_A), &a[i]);
    ck_assert_ptr_null(waiters_take(&waiters, HASH_A));
    ck_assert(!a[0].parked && b[0].parked);
    for (int i = 0; i < 2; i++) ck_assert_ptr_eq(waiters_take(&waiters, HASH_B), &b[i]);
    ck_assert_ptr_eq(waiters_take(&waiters, HASH_C), &c);
    ck_assert_ptr_null(waiters_take(&waiters, HASH_C));
    ck_assert_uint_eq(waiters.count, 0);
}
END_TEST

START_TEST(unparked_from_anywhere) {
    for (int gone = 0; gone < 3; gone++) {
        struct waiter list[3] = {0};
        for (int i = 0; i < 3; i++) ck_assert(waiters_park(&waiters, HASH_A, &list[i]));
        waiters_unpark(&waiters, &list[gone]);
        ck_assert(!list[gone].parked);
        for (int i = 0; i < 3; i++) {
            if (i != gone) ck_assert_ptr_eq(waiters_take(&waiters, HASH_A), &list[i]);
        }
        ck_assert_ptr_null(waiters_take(&waiters, HASH_A));
    }
}
END_TEST

START_TEST(any_finds_every_one) {
    static struct waiter list[100];
    for (uint64_t i = 0; i < 100; i++) ck_assert(waiters_park(&waiters, i << 32, &list[i]));
    for (int i = 0; i < 100; i++) ck_assert_ptr_nonnull(waiters_take_any(&waiters));
    ck_assert_ptr_null(waiters_take_any(&waiters));
    for (int i = 0; i < 100; i++) ck_assert(!list[i].parked);
}
END_TEST

START_TEST(bound_of_one_key) {
    static struct waiter list[LIMIT_WAITERS_PER_KEY_MAX + 1];
    struct waiter other = {0};
    for (size_t i = 0; i < LIMIT_WAITERS_PER_KEY_MAX; i++) {
        ck_assert(waiters_park(&waiters, HASH_A, &list[i]));
    }
    ck_assert(!waiters_park(&waiters, HASH_A, &list[LIMIT_WAITERS_PER_KEY_MAX]));
    ck_assert(!list[LIMIT_WAITERS_PER_KEY_MAX].parked);
    ck_assert(waiters_park(&waiters, HASH_B, &other)); // of the same bucket
    ck_assert_ptr_eq(waiters_take(&waiters, HASH_A), &list[0]);
    ck_assert(waiters_park(&waiters, HASH_A, &list[LIMIT_WAITERS_PER_KEY_MAX]));
}
END_TEST

START_TEST(bound_in_all) {
    static struct waiter list[LIMIT_WAITERS_MAX + 1];
    for (uint64_t i = 0; i < LIMIT_WAITERS_MAX; i++) {
        ck_assert(waiters_park(&waiters, i << 32 | i, &list[i]));
    }
    ck_assert(!waiters_park(&waiters, HASH_A, &list[LIMIT_WAITERS_MAX]));
    waiters_unpark(&waiters, &list[1234]);
    ck_assert(waiters_park(&waiters, HASH_A, &list[LIMIT_WAITERS_MAX]));
    ck_assert_uint_eq(waiters.count, LIMIT_WAITERS_MAX);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/waiters");
    TCase *cases = tcase_create("waiters");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, taken_in_order_and_by_key);
    tcase_add_test(cases, unparked_from_anywhere);
    tcase_add_test(cases, any_finds_every_one);
    tcase_add_test(cases, bound_of_one_key);
    tcase_add_test(cases, bound_in_all);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
