// A directory of a test's own, removed with all that is in it.
//
// Made under $TMPDIR, else /tmp, else /var/tmp. Failing to make or remove one ends the test
// program: a test has nothing to do without it.
#pragma once

#include <stdbool.h>

#define TEMP_DIR_PATH_BYTES_MAX 512

struct temp_dir {
    char path[TEMP_DIR_PATH_BYTES_MAX];
};

enum temp_dir_kind {
    TEMP_DIR_ANY,
    TEMP_DIR_ON_DISK, // never in memory: what is synced must reach a disk
};

void temp_dir_create(enum temp_dir_kind kind, struct temp_dir *out);
// Removes the directory and its contents. An empty path is fine.
void temp_dir_remove(struct temp_dir *dir);

// True if the path lies on a file system that keeps its files in memory.
bool temp_dir_is_in_memory(const char *path);

// Removes a file, or a directory with its contents; what is not there is fine.
void temp_dir_remove_path(const char *path);

// Copies a file, or a directory with its contents, to a path where nothing is.
void temp_dir_copy_path(const char *from, const char *to);

// Writes "dir/name" to a static ring of buffers: good for a few calls.
const char *temp_dir_join(const char *dir, const char *name);
