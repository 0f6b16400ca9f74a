#include "fake_clock.h"

#include "base/check.h"

#define NS_PER_MS INT64_C(1000000)

static struct wall_ms fake_wall(void *self) {
    struct fake_clock *clock = self;
    return (struct wall_ms){atomic_load(&clock->wall_ms)};
}

static struct boot_ns fake_boot(void *self) {
    struct fake_clock *clock = self;
    return (struct boot_ns){atomic_load(&clock->boot_ns)};
}

void fake_clock_init(struct fake_clock *clock) {
    atomic_store(&clock->wall_ms, FAKE_CLOCK_WALL_MS);
    atomic_store(&clock->boot_ns, FAKE_CLOCK_BOOT_MS * NS_PER_MS);
}

struct time_source fake_clock_source(struct fake_clock *clock) {
    return (struct time_source){.wall = fake_wall, .boot = fake_boot, .self = clock};
}

void fake_clock_advance(struct fake_clock *clock, int64_t ms) {
    CHECK(ms >= 0);
    atomic_fetch_add(&clock->wall_ms, ms);
    atomic_fetch_add(&clock->boot_ns, ms * NS_PER_MS);
}

void fake_clock_shift_wall(struct fake_clock *clock, int64_t ms) {
    atomic_fetch_add(&clock->wall_ms, ms);
}

void fake_clock_reboot(struct fake_clock *clock) { atomic_store(&clock->boot_ns, 7 * NS_PER_MS); }

int64_t fake_clock_wall_ms(const struct fake_clock *clock) { return atomic_load(&clock->wall_ms); }
