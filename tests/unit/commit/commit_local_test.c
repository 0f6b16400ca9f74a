// Commit on one node: positions in order, each group applied once and given back once, by the
// thread that submits it or by the writer.
#include "commit/commit_local.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#define GROUPS 500
#define INLINE_OPS_MAX 4

static struct commit *commit;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned wakes;
static bool may_apply; // the writer waits for it
static uint64_t applied[GROUPS];
static size_t applied_count;
static pthread_t applied_by;
static enum err apply_answer;

static enum err apply(void *self, uint64_t position, struct bytes frame) {
    ck_assert_ptr_eq(self, applied);
    ck_assert_uint_eq(frame.len, position % 7 + 1);
    pthread_mutex_lock(&mutex);
    while (!may_apply) pthread_cond_wait(&changed, &mutex);
    applied[applied_count++] = position;
    applied_by = pthread_self();
    pthread_mutex_unlock(&mutex);
    return apply_answer;
}

static void wake(void *self) {
    ck_assert_ptr_eq(self, &wakes);
    pthread_mutex_lock(&mutex);
    wakes++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void let_apply(bool may) {
    pthread_mutex_lock(&mutex);
    may_apply = may;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_wakes(unsigned count) {
    pthread_mutex_lock(&mutex);
    while (wakes < count) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void setup(void) {
    struct commit_sink sink = {
        .apply = apply, .apply_self = applied, .wake = wake, .wake_self = &wakes};
    may_apply = true;
    ck_assert_int_eq(commit_local_create(&sink, INLINE_OPS_MAX, &commit), ERR_OK);
}

static void teardown(void) { commit_destroy(commit); }

static struct commit_group group_of(uint64_t position, uint32_t op_count) {
    struct commit_group group = {.position = position, .op_count = op_count};
    for (uint64_t i = 0; i <= position % 7; i++) buf_put_u8(&group.frame, 'x');
    ck_assert(!group.frame.failed);
    return group;
}

START_TEST(small_groups_are_written_here_and_now) {
    for (uint32_t ops = 0; ops <= INLINE_OPS_MAX; ops++) {
        struct commit_group group = group_of(ops + 1, ops);
        ck_assert(commit_is_idle(commit));
        commit_submit(commit, &group);
        ck_assert_uint_eq(applied_count, ops + 1);
        ck_assert(pthread_equal(applied_by, pthread_self()));
        ck_assert(!commit_is_idle(commit));
        ck_assert_ptr_eq(commit_take_done(commit), &group);
        ck_assert_ptr_null(commit_take_done(commit));
        ck_assert(commit_is_idle(commit));
        buf_deinit(&group.frame);
    }
    ck_assert_uint_eq(wakes, 0); // who submitted knows already
}
END_TEST

START_TEST(larger_groups_are_the_writers) {
    struct commit_group group = group_of(1, INLINE_OPS_MAX + 1);
    let_apply(false);
    commit_submit(commit, &group);
    ck_assert_ptr_null(commit_take_done(commit)); // not before it is on disk
    ck_assert(!commit_is_idle(commit));
    let_apply(true);
    wait_for_wakes(1);
    ck_assert_ptr_eq(commit_take_done(commit), &group);
    ck_assert(!pthread_equal(applied_by, pthread_self()));
    ck_assert_ptr_null(commit_take_done(commit));
    ck_assert(commit_is_idle(commit));
    ck_assert_uint_eq(wakes, 1);
    buf_deinit(&group.frame);
}
END_TEST

START_TEST(both_ways_keep_the_order) {
    unsigned by_writer = 0;
    for (uint64_t i = 0; i < GROUPS; i++) {
        struct commit_group group = group_of(i + 1, (uint32_t)(i % 9));
        commit_submit(commit, &group);
        if (i % 9 > INLINE_OPS_MAX) wait_for_wakes(++by_writer);
        ck_assert_ptr_eq(commit_take_done(commit), &group);
        ck_assert_ptr_null(commit_take_done(commit));
        buf_deinit(&group.frame);
    }
    ck_assert_uint_eq(applied_count, GROUPS);
    for (uint64_t i = 0; i < GROUPS; i++) ck_assert_uint_eq(applied[i], i + 1);
}
END_TEST

START_TEST(destroy_finishes_what_is_under_way) {
    struct commit *own;
    struct commit_group group = group_of(1, 100);
    struct commit_sink sink = {
        .apply = apply, .apply_self = applied, .wake = wake, .wake_self = &wakes};
    ck_assert_int_eq(commit_local_create(&sink, 0, &own), ERR_OK);
    commit_submit(own, &group);
    commit_destroy(own);
    ck_assert_uint_eq(applied_count, 1);
    buf_deinit(&group.frame);
}
END_TEST

START_TEST(destroy_takes_null) { commit_destroy(NULL); }
END_TEST

// What is on disk is then unknown: the process ends, and answers nobody.
START_TEST(failed_write_ends_the_process) {
    struct commit_group group = group_of(1, 1);
    apply_answer = ERR_IO;
    commit_submit(commit, &group);
    ck_abort_msg("went on after a failed write");
}
END_TEST

static Suite *suite_of(void) {
    Suite *suite = suite_create("commit/local");
    TCase *cases = tcase_create("local");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, small_groups_are_written_here_and_now);
    tcase_add_test(cases, larger_groups_are_the_writers);
    tcase_add_test(cases, both_ways_keep_the_order);
    tcase_add_test(cases, destroy_finishes_what_is_under_way);
    tcase_add_test(cases, destroy_takes_null);
    tcase_add_exit_test(cases, failed_write_ends_the_process, 70);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(suite_of());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
