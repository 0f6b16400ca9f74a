// Latches: first in, first out; bounded; one stripe knows nothing of another.
#include "engine/latch.h"

#include <check.h>
#include <stdlib.h>

#include "base/limits.h"

static struct latch_table table;

static void setup(void) { ck_assert_int_eq(latch_table_init(&table), ERR_OK); }

static void teardown(void) { latch_table_deinit(&table); }

START_TEST(the_first_holds_it_and_the_rest_queue) {
    struct latch_node nodes[4];
    ck_assert_int_eq(latch_acquire(&table, 7, &nodes[0]), LATCH_HELD);
    for (int i = 1; i < 4; i++) ck_assert_int_eq(latch_acquire(&table, 7, &nodes[i]), LATCH_QUEUED);
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_eq(latch_release(&table, 7, &nodes[i]), &nodes[i + 1]);
    }
    ck_assert_ptr_null(latch_release(&table, 7, &nodes[3]));
    ck_assert_int_eq(latch_acquire(&table, 7, &nodes[0]), LATCH_HELD);
}
END_TEST

START_TEST(who_releases_and_comes_again_comes_last) {
    struct latch_node a;
    struct latch_node b;
    ck_assert_int_eq(latch_acquire(&table, 7, &a), LATCH_HELD);
    ck_assert_int_eq(latch_acquire(&table, 7, &b), LATCH_QUEUED);
    ck_assert_ptr_eq(latch_release(&table, 7, &a), &b);
    ck_assert_int_eq(latch_acquire(&table, 7, &a), LATCH_QUEUED);
    ck_assert_ptr_eq(latch_release(&table, 7, &b), &a);
    ck_assert_ptr_null(latch_release(&table, 7, &a));
}
END_TEST

START_TEST(full_one_past_the_bound) {
    static struct latch_node nodes[LIMIT_LATCH_QUEUE_MAX + 1];
    ck_assert_int_eq(latch_acquire(&table, 7, &nodes[0]), LATCH_HELD);
    for (size_t i = 1; i < LIMIT_LATCH_QUEUE_MAX; i++) {
        ck_assert_int_eq(latch_acquire(&table, 7, &nodes[i]), LATCH_QUEUED);
    }
    ck_assert_int_eq(latch_acquire(&table, 7, &nodes[LIMIT_LATCH_QUEUE_MAX]), LATCH_FULL);
    ck_assert_ptr_eq(latch_release(&table, 7, &nodes[0]), &nodes[1]);
    ck_assert_int_eq(latch_acquire(&table, 7, &nodes[LIMIT_LATCH_QUEUE_MAX]), LATCH_QUEUED);
    for (size_t i = 1; i < LIMIT_LATCH_QUEUE_MAX; i++) {
        ck_assert_ptr_eq(latch_release(&table, 7, &nodes[i]), &nodes[i + 1]);
    }
    ck_assert_ptr_null(latch_release(&table, 7, &nodes[LIMIT_LATCH_QUEUE_MAX]));
}
END_TEST

START_TEST(stripes_are_apart) {
    struct latch_node a;
    struct latch_node b;
    struct latch_node same;
    ck_assert_int_eq(latch_acquire(&table, 7, &a), LATCH_HELD);
    ck_assert_int_eq(latch_acquire(&table, 8, &b), LATCH_HELD);
    // Two keys may share a stripe: the hash's low bits choose it.
    ck_assert_int_eq(latch_acquire(&table, 7 + UINT64_C(5) * LIMIT_LATCH_STRIPES, &same),
                     LATCH_QUEUED);
    latch_stripe_of(&table, 7)->applied_position = 99;
    ck_assert_uint_eq(latch_stripe_of(&table, 8)->applied_position, 0);
    ck_assert_ptr_eq(latch_stripe_of(&table, 7 + UINT64_C(5) * LIMIT_LATCH_STRIPES),
                     latch_stripe_of(&table, 7));
    ck_assert_ptr_null(latch_release(&table, 8, &b));
    ck_assert_ptr_eq(latch_release(&table, 7, &a), &same);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/latch");
    TCase *cases = tcase_create("latch");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, the_first_holds_it_and_the_rest_queue);
    tcase_add_test(cases, who_releases_and_comes_again_comes_last);
    tcase_add_test(cases, full_one_past_the_bound);
    tcase_add_test(cases, stripes_are_apart);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
