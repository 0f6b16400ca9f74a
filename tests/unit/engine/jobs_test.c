// Jobs: each runs once, off this thread, and comes back once, in the order in which they are done.
#include "engine/jobs.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"

#define JOBS 1000

struct counted_job {
    struct job job;
    _Atomic int runs;
    int finishes;
    pthread_t ran_on;
};

static struct jobs jobs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static unsigned wakes;
static struct counted_job list[JOBS];
static unsigned finished;

static void wake(void *self) {
    ck_assert_ptr_eq(self, &wakes);
    pthread_mutex_lock(&mutex);
    wakes++;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&mutex);
}

static void setup(void) { ck_assert_int_eq(jobs_init(&jobs, wake, &wakes), ERR_OK); }

static void teardown(void) { jobs_deinit(&jobs); }

static void run(struct job *job) {
    struct counted_job *counted = CONTAINER_OF(job, struct counted_job, job);
    atomic_fetch_add(&counted->runs, 1);
    counted->ran_on = pthread_self();
}

static void finish(struct job *job, void *context) {
    struct counted_job *counted = CONTAINER_OF(job, struct counted_job, job);
    ck_assert_ptr_eq(context, &jobs);
    ck_assert_int_eq(atomic_load(&counted->runs), 1);
    counted->finishes++;
    finished++;
}

// What an engine does with its jobs, until so many are finished. A wake always comes after its job.
static void take_until(unsigned count) {
    unsigned seen = 0;
    while (finished < count) {
        pthread_mutex_lock(&mutex);
        while (wakes == seen) pthread_cond_wait(&woken, &mutex);
        seen = wakes;
        pthread_mutex_unlock(&mutex);
        for (struct job *job = jobs_take_done(&jobs); job != NULL;) {
            struct job *next = job->next;
            job->finish(job, &jobs);
            job = next;
        }
    }
}

START_TEST(each_runs_once_and_comes_back_once) {
    for (int i = 0; i < JOBS; i++) {
        list[i].job = (struct job){.run = run, .finish = finish};
        jobs_submit(&jobs, &list[i].job);
    }
    take_until(JOBS);
    ck_assert_ptr_null(jobs_take_done(&jobs));
    for (int i = 0; i < JOBS; i++) {
        ck_assert_int_eq(list[i].finishes, 1);
        ck_assert(!pthread_equal(list[i].ran_on, pthread_self()));
    }
}
END_TEST

static void *post_one(void *arg) {
    struct counted_job *counted = arg;
    run(&counted->job);
    jobs_post_done(&jobs, &counted->job);
    return NULL;
}

START_TEST(other_threads_post_what_they_did_themselves) {
    pthread_t thread;
    list[0].job = (struct job){.finish = finish};
    ck_assert_int_eq(pthread_create(&thread, NULL, post_one, &list[0]), 0);
    take_until(1);
    pthread_join(thread, NULL);
    ck_assert_int_eq(list[0].finishes, 1);
}
END_TEST

START_TEST(deinit_runs_what_waits) {
    struct jobs own;
    ck_assert_int_eq(jobs_init(&own, wake, &wakes), ERR_OK);
    for (int i = 0; i < JOBS; i++) {
        list[i].job = (struct job){.run = run, .finish = finish};
        jobs_submit(&own, &list[i].job);
    }
    jobs_deinit(&own);
    for (int i = 0; i < JOBS; i++) ck_assert_int_eq(atomic_load(&list[i].runs), 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("engine/jobs");
    TCase *cases = tcase_create("jobs");
    tcase_set_timeout(cases, 0); // the runner's limit holds
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, each_runs_once_and_comes_back_once);
    tcase_add_test(cases, other_threads_post_what_they_did_themselves);
    tcase_add_test(cases, deinit_runs_what_waits);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
