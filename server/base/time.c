#include "base/time.h"

#include <stddef.h>
#include <time.h>

#include "base/check.h"

static struct timespec clock_read(clockid_t id) {
    struct timespec now;
    CHECK(clock_gettime(id, &now) == 0);
    return now;
}

static struct wall_ms real_wall(void *self) {
    (void)self;
    struct timespec now = clock_read(CLOCK_REALTIME);
    return (struct wall_ms){(int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000};
}

static struct boot_ns real_boot(void *self) {
    (void)self;
    struct timespec now = clock_read(CLOCK_BOOTTIME);
    return (struct boot_ns){(int64_t)now.tv_sec * 1000000000 + now.tv_nsec};
}

struct time_source time_source_real(void) {
    return (struct time_source){.wall = real_wall, .boot = real_boot, .self = NULL};
}

struct wall_ms time_wall(const struct time_source *source) {
    return source->wall(source->self);
}
struct boot_ns time_boot(const struct time_source *source) {
    return source->boot(source->self);
}

int64_t time_add_ms(int64_t a_ms, int64_t b_ms) {
    int64_t sum;
    if (__builtin_add_overflow(a_ms, b_ms, &sum)) return b_ms < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

int64_t time_sub_ms(int64_t a_ms, int64_t b_ms) {
    int64_t difference;
    if (__builtin_sub_overflow(a_ms, b_ms, &difference)) return b_ms < 0 ? INT64_MAX : INT64_MIN;
    return difference;
}
