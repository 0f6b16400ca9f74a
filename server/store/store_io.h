// The store's own calls to the file system (RocksDB makes its own), in one place, so that tests can
// let the n-th one fail.
//
// Each returns 0 or the errno of the call that failed, repeats what a signal interrupted, and logs
// nothing. Thread-safe; the fault hook is for tests: set it before threads start.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// The text of an errno; static and the same in every thread.
const char *store_io_error_text(int error);

#define STORE_IO_PATH_BYTES_MAX 1024
#define STORE_DIR_BYTES_MAX 960 // leaves room for the names within

// Called before each call; an errno other than 0 is returned in its place. NULL (default): none.
void store_io_set_fault_hook(int (*hook)(void));

// dir/name into out; ENAMETOOLONG if it does not fit.
MUST_CHECK int store_io_join(char out[STORE_IO_PATH_BYTES_MAX], const char *dir, const char *name);

// Opens with O_CLOEXEC and mode 0600.
MUST_CHECK int store_io_open(const char *path, int flags, int *out_fd);
// Closes; a negative fd is fine. What must be on disk has been synced before.
void store_io_close(int fd);

// Reads from the start of the file until it ends or len bytes are there.
MUST_CHECK int store_io_read(int fd, uint8_t *data, size_t len, size_t *out_len);
// Writes all of it at the start of the file.
MUST_CHECK int store_io_write(int fd, const uint8_t *data, size_t len);
// Data and what is needed to read it back.
MUST_CHECK int store_io_sync(int fd);

// Makes a new file (EEXIST if there is one) with this content, on disk when it returns. The
// directory that names it is not synced.
MUST_CHECK int store_io_create_file(const char *path, const uint8_t *data, size_t len);

MUST_CHECK int store_io_make_dir(const char *path, bool *out_made);
MUST_CHECK int store_io_rename(const char *from, const char *to);
// Makes the entries of a directory durable.
MUST_CHECK int store_io_sync_dir(const char *path);
// EWOULDBLOCK if somebody holds the lock. It ends with the last descriptor of this open file.
MUST_CHECK int store_io_lock(int fd);
MUST_CHECK int store_io_exists(const char *path, bool *out_exists);
MUST_CHECK int store_io_free_bytes(const char *path, uint64_t *out_bytes);
