// Which addresses may be listened on without encryption.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_address.h"

static const char *const loopback[] = {"127.0.0.1:7420", "127.9.8.7:0", "[::1]:7420",
                                       "localhost:65535", "unix:/run/claimd.sock"};
static const char *const open_to_all[] = {"0.0.0.0:7420", "[::]:7420", "192.0.2.1:7420"};
static const char *const wrong[] = {
    "",          ":7420",           "127.0.0.1", "127.0.0.1:",   "::1:7420", "127.0.0.1:x",
    "[::1:7420", "127.0.0.1:65536", "unix:",     "127.0.0.1:-1", "[]:7420",  "127.0.0.1:123456"};

START_TEST(loopback_is_taken) {
    struct error_detail detail = {0};
    ck_assert_int_eq(rpc_address_check(loopback[_i], false, &detail), ERR_OK);
}
END_TEST

START_TEST(others_only_if_told) {
    struct error_detail detail = {0};
    ck_assert_int_eq(rpc_address_check(open_to_all[_i], false, &detail), ERR_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(detail.text, open_to_all[_i]));
    ck_assert_ptr_nonnull(strstr(detail.text, "--insecure"));
    ck_assert_int_eq(rpc_address_check(open_to_all[_i], true, &detail), ERR_OK);
}
END_TEST

START_TEST(what_is_no_address_is_named) {
    struct error_detail detail = {0};
    ck_assert_int_eq(rpc_address_check(wrong[_i], true, &detail), ERR_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(detail.text, "--listen"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("rpc_address");
    TCase *tcase = tcase_create("address");
    tcase_add_loop_test(tcase, loopback_is_taken, 0, sizeof loopback / sizeof loopback[0]);
    tcase_add_loop_test(tcase, others_only_if_told, 0, sizeof open_to_all / sizeof open_to_all[0]);
    tcase_add_loop_test(tcase, what_is_no_address_is_named, 0, sizeof wrong / sizeof wrong[0]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
