// A wall clock that is wrong: preloaded into claimd, it moves CLOCK_REALTIME by the milliseconds
// that stand in a file, eight bytes in the machine's order, named by WRONG_CLOCK_FILE. The file is
// mapped, so that the clock jumps in a running process as soon as somebody writes to it.
//
// Every other clock stays as it is, as when an administrator or a time server sets the time. (The
// libfaketime of Debian 12 cannot be used: jemalloc asks for the time before that library is
// ready.)
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_ms;

__attribute__((constructor)) static void wrong_clock_map(void) {
    const char *path = getenv("WRONG_CLOCK_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) abort(); // a test that asked for a wrong clock must not go on with a right one
    void *map = mmap(NULL, sizeof *offset_ms, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) abort();
    (void)close(fd);
    offset_ms = map;
}

// In place of the C library's.
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out) {
    long result = syscall(SYS_clock_gettime, clock, out);
    if (result != 0 || offset_ms == NULL) return (int)result;
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
    int64_t offset = *offset_ms;
    out->tv_sec += offset / 1000;
    out->tv_nsec += offset % 1000 * 1000000;
    if (out->tv_nsec < 0) {
        out->tv_nsec += 1000000000;
        out->tv_sec--;
    } else if (out->tv_nsec >= 1000000000) {
        out->tv_nsec -= 1000000000;
        out->tv_sec++;
    }
    return 0;
}
