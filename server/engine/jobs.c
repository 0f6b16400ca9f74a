#include "engine/jobs.h"

#include <stddef.h>

#include "base/check.h"

void jobs_post_done(struct jobs *jobs, struct job *job) {
    pthread_mutex_lock(&jobs->mutex);
    job->next = NULL;
    if (jobs->done_last == NULL) {
        jobs->done_first = job;
    } else {
        jobs->done_last->next = job;
    }
    jobs->done_last = job;
    pthread_mutex_unlock(&jobs->mutex);
    // The engine may take the job back before this; it joins the thread before it is torn down.
    jobs->wake(jobs->wake_self);
}

static void *jobs_main(void *self) {
    struct jobs *jobs = self;
    pthread_mutex_lock(&jobs->mutex);
    for (;;) {
        while (jobs->waiting_first == NULL && !jobs->stopping) {
            pthread_cond_wait(&jobs->work, &jobs->mutex);
        }
        struct job *job = jobs->waiting_first;
        if (job == NULL) break;
        jobs->waiting_first = job->next;
        if (jobs->waiting_first == NULL) jobs->waiting_last = NULL;
        pthread_mutex_unlock(&jobs->mutex);
        job->run(job);
        jobs_post_done(jobs, job);
        pthread_mutex_lock(&jobs->mutex);
    }
    pthread_mutex_unlock(&jobs->mutex);
    return NULL;
}

enum err jobs_init(struct jobs *jobs, void (*wake)(void *self), void *wake_self) {
    *jobs = (struct jobs){.wake = wake, .wake_self = wake_self};
    pthread_mutex_init(&jobs->mutex, NULL);
    pthread_cond_init(&jobs->work, NULL);
    for (uint32_t i = 0; i < LIMIT_READER_THREADS; i++) {
        if (pthread_create(&jobs->threads[i], NULL, jobs_main, jobs) != 0) {
            jobs_deinit(jobs);
            return ERR_IO;
        }
        jobs->thread_count++;
    }
    return ERR_OK;
}

void jobs_deinit(struct jobs *jobs) {
    pthread_mutex_lock(&jobs->mutex);
    jobs->stopping = true;
    pthread_cond_broadcast(&jobs->work);
    pthread_mutex_unlock(&jobs->mutex);
    for (uint32_t i = 0; i < jobs->thread_count; i++) pthread_join(jobs->threads[i], NULL);
    pthread_cond_destroy(&jobs->work);
    pthread_mutex_destroy(&jobs->mutex);
}

void jobs_submit(struct jobs *jobs, struct job *job) {
    pthread_mutex_lock(&jobs->mutex);
    job->next = NULL;
    if (jobs->waiting_last == NULL) {
        jobs->waiting_first = job;
    } else {
        jobs->waiting_last->next = job;
    }
    jobs->waiting_last = job;
    pthread_cond_signal(&jobs->work);
    pthread_mutex_unlock(&jobs->mutex);
}

struct job *jobs_take_done(struct jobs *jobs) {
    pthread_mutex_lock(&jobs->mutex);
    struct job *first = jobs->done_first;
    jobs->done_first = jobs->done_last = NULL;
    pthread_mutex_unlock(&jobs->mutex);
    return first;
}
