// What a durable small append costs on a file system: append 150 bytes, fdatasync, N times.
//
//   bench_sync FILE N      prints one JSON object with percentiles in microseconds
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: bench_sync FILE N\n");
        return 2;
    }
    unsigned long long count = 0;
    for (const char *at = argv[2]; *at >= '0' && *at <= '9' && count <= 1000000; at++) {
        count = count * 10 + (unsigned long long)(*at - '0');
    }
    if (count == 0 || count > 1000000) {
        fprintf(stderr, "bench_sync: N is 1 to 1000000\n");
        return 2;
    }
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    uint64_t *took_ns = calloc(count, sizeof *took_ns);
    char block[150];
    memset(block, 'x', sizeof block);
    if (fd < 0 || took_ns == NULL) {
        perror(argv[1]);
        return 2;
    }
    for (unsigned long long i = 0; i < count; i++) {
        uint64_t start_ns = now_ns();
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd) != 0) {
            perror(argv[1]);
            return 1;
        }
        took_ns[i] = now_ns() - start_ns;
    }
    qsort(took_ns, count, sizeof took_ns[0], compare_u64);
    printf("{\"calls\": %llu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", count,
           (double)took_ns[count / 2] / 1000, (double)took_ns[count * 99 / 100] / 1000);
    free(took_ns);
    return close(fd) == 0 && unlink(argv[1]) == 0 ? 0 : 1;
}
