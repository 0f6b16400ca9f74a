/*
 * A consumer's log: tab-separated words, one line and one write each, so that what was written
 * before a SIGKILL is there after it. The driver counts from it (report.py).
 * Threads: any; lines do not mix.
 */
#pragma once

#include <stdbool.h>

/* Opens the file of this process for appending. False: it cannot be opened. */
bool trail_open(const char *path);

/* Appends one line, formatted as by printf; the newline is added. A line that cannot be written
 * ends the process: a consumer whose deeds are not counted is of no use to the demo. */
__attribute__((format(printf, 1, 2))) void trail_write(const char *format, ...);
