// A clock that moves only when a test moves it: wall time and boot time, apart from each other.
//
// Thread-safe: the engine's own threads read it while a test moves it. It must outlive what reads
// it.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/time.h"

// Where a clock starts: some evening of 2023, and a machine that has been up for an hour and a
// half.
#define FAKE_CLOCK_WALL_MS INT64_C(1700000000000)
#define FAKE_CLOCK_BOOT_MS INT64_C(5400000)

struct fake_clock {
    _Atomic int64_t wall_ms;
    _Atomic int64_t boot_ns;
};

void fake_clock_init(struct fake_clock *clock);

// What the engine is given.
struct time_source fake_clock_source(struct fake_clock *clock);

// Time goes by: both move. Not negative.
void fake_clock_advance(struct fake_clock *clock, int64_t ms);
// Somebody sets the wall clock, forward or (negative) back; boot time knows nothing of it.
void fake_clock_shift_wall(struct fake_clock *clock, int64_t ms);
// The machine boots: boot time starts again from a few seconds.
void fake_clock_reboot(struct fake_clock *clock);

int64_t fake_clock_wall_ms(const struct fake_clock *clock);
