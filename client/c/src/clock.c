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
