// The three kinds of time, as types that cannot be mixed, and the only clock readings of the
// server.
//
// wall_ms is for people; store_ms decides every deadline; both are explained in docs/SEMANTICS.md,
// "Time". Boot time (CLOCK_BOOTTIME) is what store time advances by, and times timeouts in the
// process: it never jumps and counts sleep.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Milliseconds since 1970, as the wall clock had it.
struct wall_ms {
    int64_t ms;
};

// Milliseconds that the store has been served in all.
struct store_ms {
    int64_t ms;
};

// Nanoseconds of CLOCK_BOOTTIME.
struct boot_ns {
    int64_t ns;
};

// A source of time; tests have their own. Both functions are thread-safe.
struct time_source {
    struct wall_ms (*wall)(void *self);
    struct boot_ns (*boot)(void *self);
    void *self;
};

// The kernel's clocks.
struct time_source time_source_real(void);

struct wall_ms time_wall(const struct time_source *source);
struct boot_ns time_boot(const struct time_source *source);

// a + b and a - b that stop at the ends of the range instead of overflowing.
int64_t time_add_ms(int64_t a_ms, int64_t b_ms);
int64_t time_sub_ms(int64_t a_ms, int64_t b_ms);
