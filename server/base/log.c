#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static _Atomic int log_level_min = LOG_INFO;

void log_set_level(enum log_level level) { atomic_store(&log_level_min, (int)level); }

__attribute__((format(printf, 2, 0))) static void log_write(enum log_level level,
                                                            const char *format, va_list args) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    char line[2048];
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    int more = snprintf(line + len, sizeof line - len, ".%03ldZ %-5s ", now.tv_nsec / 1000000,
                        names[level]);
    len += (size_t)more;
    more = vsnprintf(line + len, sizeof line - len - 1, format, args);
    if (more > 0)
        len += (size_t)more < sizeof line - len - 1 ? (size_t)more : sizeof line - len - 2;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)line[i] < 0x20) line[i] = ' '; // a client's text cannot forge a line
    }
    line[len++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written; // nowhere is left to report it
}

void log_line(enum log_level level, const char *format, ...) {
    if ((int)level < atomic_load(&log_level_min)) return;
    va_list args;
    va_start(args, format);
    log_write(level, format, args);
    va_end(args);
}

_Noreturn void log_fatal(const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_write(LOG_ERROR, format, args);
    va_end(args);
    _exit(70);
}
