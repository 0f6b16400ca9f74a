// One line of text per event to stderr, with a level and key=value pairs in the message.
//
// Thread-safe (one write per line). A function either logs an error or returns it, never both.
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

// Lines below the level are dropped; LOG_INFO at start.
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

// Logs and ends the process at once, without running destructors: for failures after which nothing
// that this process believes may be relied on (a failed write or sync). Exit status 70
// (EX_SOFTWARE).
_Noreturn void log_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
