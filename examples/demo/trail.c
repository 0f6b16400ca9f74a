#include "trail.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int trail_fd = -1;

bool trail_open(const char *path) {
    trail_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return trail_fd >= 0;
}

void trail_write(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof line - 1) abort();
    line[size++] = '\n';
    if (write(trail_fd, line, (size_t)size) != size) abort();
}
