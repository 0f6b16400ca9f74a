// Clocks that are wrong: preloaded into claimd, it moves CLOCK_REALTIME and CLOCK_BOOTTIME by the
// two numbers of milliseconds that stand in a file (eight bytes each, in the machine's order),
// named by WRONG_CLOCK_FILE. The file is mapped, so that the wall clock jumps in a running process
// as soon as somebody writes to it. A boot-time clock never jumps while a process runs: it is for a
// machine that was down, or has booted anew, between two runs.
//
// All other clocks stay as they are. (The libfaketime of Debian 12 cannot be used: jemalloc asks
// for the time before that library is ready.)
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS_PER_S 1000
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

static const volatile int64_t *offsets_ms; // wall, boot

__attribute__((constructor)) static void wrong_clock_map(void) {
    const char *path = getenv("WRONG_CLOCK_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) abort(); // a test that asked for a wrong clock must not go on with a right one
    void *map = mmap(NULL, 2 * sizeof *offsets_ms, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) abort();
    (void)close(fd);
    offsets_ms = map;
}

static int64_t offset_of(clockid_t clock) {
    if (offsets_ms == NULL) return 0;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return offsets_ms[0];
    return clock == CLOCK_BOOTTIME ? offsets_ms[1] : 0;
}

// In place of the C library's.
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out) {
    long result = syscall(SYS_clock_gettime, clock, out);
    if (result != 0) return (int)result;
    int64_t offset_ms = offset_of(clock);
    out->tv_sec += offset_ms / MS_PER_S;
    out->tv_nsec += offset_ms % MS_PER_S * NS_PER_MS;
    if (out->tv_nsec < 0) {
        out->tv_nsec += NS_PER_S;
        out->tv_sec--;
    } else if (out->tv_nsec >= NS_PER_S) {
        out->tv_nsec -= NS_PER_S;
        out->tv_sec++;
    }
    return 0;
}
