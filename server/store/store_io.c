#define _GNU_SOURCE // strerrordesc_np: as strerror, but safe with threads
#include "store/store_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int (*store_io_fault_hook)(void);

void store_io_set_fault_hook(int (*hook)(void)) { store_io_fault_hook = hook; }

const char *store_io_error_text(int error) {
    const char *text = strerrordesc_np(error);
    return text == NULL ? "unknown error" : text;
}

static int store_io_fault(void) { return store_io_fault_hook == NULL ? 0 : store_io_fault_hook(); }

// Runs a call that answers -1 on failure until no signal interrupts it, and returns its errno from
// the enclosing function if it fails.
#define STORE_IO_TRY(result, call)                                                                 \
    do {                                                                                           \
        int fault_ = store_io_fault();                                                             \
        if (fault_ != 0) return fault_;                                                            \
        do (result) = (call);                                                                      \
        while ((result) < 0 && errno == EINTR);                                                    \
        if ((result) < 0) return errno;                                                            \
    } while (0)

int store_io_join(char out[STORE_IO_PATH_BYTES_MAX], const char *dir, const char *name) {
    int len = snprintf(out, STORE_IO_PATH_BYTES_MAX, "%s/%s", dir, name);
    return len < 0 || len >= STORE_IO_PATH_BYTES_MAX ? ENAMETOOLONG : 0;
}

int store_io_open(const char *path, int flags, int *out_fd) {
    int fd;
    STORE_IO_TRY(fd, open(path, flags | O_CLOEXEC, 0600));
    *out_fd = fd;
    return 0;
}

void store_io_close(int fd) {
    if (fd >= 0) (void)close(fd); // nothing unsynced depends on it
}

int store_io_read(int fd, uint8_t *data, size_t len, size_t *out_len) {
    size_t have = 0;
    while (have < len) {
        ssize_t got;
        STORE_IO_TRY(got, pread(fd, data + have, len - have, (off_t)have));
        if (got == 0) break;
        have += (size_t)got;
    }
    *out_len = have;
    return 0;
}

int store_io_write(int fd, const uint8_t *data, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t put;
        STORE_IO_TRY(put, pwrite(fd, data + done, len - done, (off_t)done));
        done += (size_t)put;
    }
    return 0;
}

int store_io_sync(int fd) {
    int fault = store_io_fault();
    if (fault != 0) return fault;
    // Never repeated: after a failure the kernel may have dropped the pages and then says yes.
    return fdatasync(fd) == 0 ? 0 : errno;
}

int store_io_create_file(const char *path, const uint8_t *data, size_t len) {
    int fd = -1;
    int error = store_io_open(path, O_WRONLY | O_CREAT | O_EXCL, &fd);
    if (error != 0) return error;
    error = store_io_write(fd, data, len);
    if (error == 0) error = store_io_sync(fd);
    store_io_close(fd);
    return error;
}

int store_io_make_dir(const char *path, bool *out_made) {
    int fault = store_io_fault();
    if (fault != 0) return fault;
    bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST) return errno;
    *out_made = made;
    return 0;
}

int store_io_rename(const char *from, const char *to) {
    int result;
    STORE_IO_TRY(result, rename(from, to));
    return 0;
}

int store_io_sync_dir(const char *path) {
    int fd = -1;
    int error = store_io_open(path, O_RDONLY | O_DIRECTORY, &fd);
    if (error != 0) return error;
    error = store_io_sync(fd);
    store_io_close(fd);
    return error;
}

int store_io_lock(int fd) {
    int result;
    STORE_IO_TRY(result, flock(fd, LOCK_EX | LOCK_NB));
    return 0;
}

int store_io_exists(const char *path, bool *out_exists) {
    int fault = store_io_fault();
    if (fault != 0) return fault;
    struct stat info;
    bool exists = lstat(path, &info) == 0;
    if (!exists && errno != ENOENT) return errno;
    *out_exists = exists;
    return 0;
}

int store_io_free_bytes(const char *path, uint64_t *out_bytes) {
    int result;
    struct statvfs info;
    STORE_IO_TRY(result, statvfs(path, &info));
    *out_bytes = (uint64_t)info.f_bavail * (uint64_t)info.f_frsize;
    return 0;
}
