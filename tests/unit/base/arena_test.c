// The arena: aligned, separate, kept small, and honest about memory.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"

static int allocations;
static int allocations_left;

static bool count_only(void) {
    allocations++;
    return false;
}

static bool fail_when_used_up(void) { return allocations_left-- <= 0; }

START_TEST(test_allocations_are_aligned_and_apart) {
    struct arena arena = {0};
    uint8_t *blocks[600];
    for (size_t i = 0; i < 600; i++) {
        blocks[i] = arena_alloc(&arena, i);
        if (blocks[i] == NULL || (uintptr_t)blocks[i] % 16 != 0) ck_abort_msg("block %zu", i);
        memset(blocks[i], (int)(i % 256), i);
    }
    for (size_t i = 0; i < 600; i++) {
        for (size_t at = 0; at < i; at++) {
            if (blocks[i][at] != i % 256) ck_abort_msg("block %zu at %zu", i, at);
        }
    }
    arena_deinit(&arena);
    ck_assert_ptr_null(arena.first);
}
END_TEST

START_TEST(test_reset_reuses_the_first_block) {
    struct arena arena = {0};
    arena_reset(&arena); // empty is fine
    void *first = arena_alloc(&arena, 100);
    for (int i = 0; i < 100; i++) ck_assert_ptr_nonnull(arena_alloc(&arena, 1000));
    arena_reset(&arena);
    allocations = 0;
    mem_set_fault_hook(count_only);
    ck_assert_ptr_eq(arena_alloc(&arena, 100), first);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 3000));
    mem_set_fault_hook(NULL);
    ck_assert_int_eq(allocations, 0);
    arena_deinit(&arena);
}
END_TEST

// A call with a large body must not pin its memory for ever.
START_TEST(test_reset_lets_a_large_first_block_go) {
    struct arena arena = {0};
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1 << 20));
    arena_reset(&arena);
    ck_assert_ptr_null(arena.first);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1));
    arena_deinit(&arena);
}
END_TEST

// A request with a large body has a large first block and small ones behind it. They were freed
// twice; the sanitizers tell.
START_TEST(test_reset_lets_a_large_first_block_and_its_successors_go) {
    struct arena arena = {0};
    ck_assert_ptr_nonnull(arena_alloc(&arena, 100000));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 10));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 5000));
    arena_reset(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 10));
    arena_deinit(&arena);
}
END_TEST

START_TEST(test_deinit_leaves_it_usable) {
    struct arena arena = {0};
    arena_deinit(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1));
    arena_deinit(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1));
    arena_deinit(&arena);
}
END_TEST

START_TEST(test_impossible_sizes_fail) {
    struct arena arena = {0};
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 16));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 16));
    arena_deinit(&arena);
}
END_TEST

START_TEST(test_copy) {
    struct arena arena = {0};
    struct bytes copy = {0};
    char text[] = "hello";
    ck_assert_int_eq(arena_copy(&arena, bytes_of(text), &copy), ERR_OK);
    text[0] = 'j';
    ck_assert(bytes_equal(copy, bytes_of("hello")));
    ck_assert_int_eq(arena_copy(&arena, (struct bytes){0}, &copy), ERR_OK);
    ck_assert_uint_eq(copy.len, 0);
    arena_deinit(&arena);
}
END_TEST

// The n-th allocation fails, until none is left to fail; what was there before stays whole.
START_TEST(test_memory_failures) {
    uint8_t body[3000];
    memset(body, 0x5A, sizeof body);
    for (int n = 0;; n++) {
        struct arena arena = {0};
        struct bytes copies[4];
        int made = 0;
        allocations_left = n;
        mem_set_fault_hook(fail_when_used_up);
        while (made < 4) {
            struct bytes copy = {body, 1};
            enum err err = arena_copy(&arena, (struct bytes){body, sizeof body}, &copy);
            if (err != ERR_OK) {
                ck_assert_int_eq(err, ERR_NO_MEMORY);
                ck_assert(copy.data == body && copy.len == 1); // left alone
                break;
            }
            copies[made++] = copy;
        }
        mem_set_fault_hook(NULL);
        for (int i = 0; i < made; i++) {
            ck_assert(bytes_equal(copies[i], (struct bytes){body, sizeof body}));
        }
        arena_reset(&arena);
        arena_deinit(&arena);
        ck_assert_int_eq(made, n < 4 ? n : 4);
        if (made == 4) break;
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("arena");
    TCase *tests = tcase_create("arena");
    tcase_add_test(tests, test_allocations_are_aligned_and_apart);
    tcase_add_test(tests, test_reset_reuses_the_first_block);
    tcase_add_test(tests, test_reset_lets_a_large_first_block_go);
    tcase_add_test(tests, test_reset_lets_a_large_first_block_and_its_successors_go);
    tcase_add_test(tests, test_deinit_leaves_it_usable);
    tcase_add_test(tests, test_impossible_sizes_fail);
    tcase_add_test(tests, test_copy);
    tcase_add_test(tests, test_memory_failures);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
