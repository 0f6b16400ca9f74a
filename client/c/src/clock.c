#include "clock.h"

#include <errno.h>
#include <time.h>

#include <claimd.h>

#define MS_PER_SECOND 1000
#define NANOS_PER_MS 1000000

int64_t claimd_clock_ms(void) {
    struct timespec now;
    // Cannot fail: the clock is there on every Linux that this library runs on.
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / NANOS_PER_MS;
}

void claimd__clock_sleep_ms(int64_t ms) {
    if (ms <= 0) return;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(ms / MS_PER_SECOND);
    end.tv_nsec += (long)(ms % MS_PER_SECOND) * NANOS_PER_MS;
    if (end.tv_nsec >= MS_PER_SECOND * NANOS_PER_MS) {
        end.tv_sec++;
        end.tv_nsec -= MS_PER_SECOND * NANOS_PER_MS;
    }
    // Until an absolute time, so that signals do not stretch it.
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) continue;
}
