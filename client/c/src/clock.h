// The library's only use of clocks, beside claimd_clock_ms.
#pragma once

#include <stdint.h>

// Sleeps that long, also through signals; returns at once if ms is not above 0.
void claimd__clock_sleep_ms(int64_t ms);
