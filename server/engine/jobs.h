// A few threads that do what may block: reads that missed the cache, flushing the high-water mark.
//
// Jobs are embedded in what they belong to. `run` is called on a job thread, then `wake`, then the
// engine thread gets the job back from jobs_take_done. First in, first out.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"

struct job {
    struct job *next;
    void (*run)(struct job *job); // on a job thread
    void (*finish)(struct job *job,
                   void *context); // on the engine thread, by jobs_take_done's caller
};

struct jobs {
    pthread_mutex_t mutex; // guards what follows
    pthread_cond_t work;
    struct job *waiting_first;
    struct job *waiting_last;
    struct job *done_first;
    struct job *done_last;
    bool stopping;
    pthread_t threads[LIMIT_READER_THREADS];
    uint32_t thread_count;
    void (*wake)(void *self);
    void *wake_self;
};

// Starts the threads. ERR_IO.
MUST_CHECK enum err jobs_init(struct jobs *jobs, void (*wake)(void *self), void *wake_self);
// Finishes what waits and joins the threads. Nothing may be outstanding that somebody still needs.
void jobs_deinit(struct jobs *jobs);

// Engine thread. The job must live until it comes back.
void jobs_submit(struct jobs *jobs, struct job *job);
// Hands back a job from another thread that did its work itself; `finish` runs on the engine
// thread.
void jobs_post_done(struct jobs *jobs, struct job *job);
// A list (by next) of the jobs that are done, in order; NULL if none. Engine thread.
struct job *jobs_take_done(struct jobs *jobs);
