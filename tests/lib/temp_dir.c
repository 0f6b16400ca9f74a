#define _GNU_SOURCE // nftw
#include "temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/check.h"

static _Noreturn void temp_dir_die(const char *doing, const char *path) {
    (void)fprintf(stderr, "temp_dir: cannot %s %s: %s\n", doing, path, strerror(errno));
    abort();
}

bool temp_dir_is_in_memory(const char *path) {
    struct statfs info;
    if (statfs(path, &info) != 0) temp_dir_die("look at the file system of", path);
    return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

static bool temp_dir_create_under(const char *parent, enum temp_dir_kind kind,
                                  struct temp_dir *out) {
    if (parent == NULL || access(parent, W_OK | X_OK) != 0) return false;
    if (kind == TEMP_DIR_ON_DISK && temp_dir_is_in_memory(parent)) return false;
    int len = snprintf(out->path, sizeof out->path, "%s/claimd-test-XXXXXX", parent);
    if (len < 0 || (size_t)len >= sizeof out->path) return false;
    return mkdtemp(out->path) != NULL;
}

void temp_dir_create(enum temp_dir_kind kind, struct temp_dir *out) {
    const char *const parents[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        if (temp_dir_create_under(parents[i], kind, out)) return;
    }
    (void)fprintf(stderr,
                  "temp_dir: no directory for tests: set TMPDIR to one that is writable%s\n",
                  kind == TEMP_DIR_ON_DISK ? " and on a disk" : "");
    abort();
}

static int temp_dir_remove_entry(const char *path, const struct stat *info, int type,
                                 struct FTW *walk) {
    (void)info;
    (void)type;
    (void)walk;
    if (remove(path) != 0 && errno != ENOENT) temp_dir_die("remove", path);
    return 0;
}

void temp_dir_remove_path(const char *path) {
    if (nftw(path, temp_dir_remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        temp_dir_die("remove", path);
    }
}

void temp_dir_remove(struct temp_dir *dir) {
    if (dir->path[0] == '\0') return;
    temp_dir_remove_path(dir->path);
    dir->path[0] = '\0';
}

static void temp_dir_copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) temp_dir_die("open", from);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0) temp_dir_die("create", to);
    char block[65536];
    ssize_t len;
    while ((len = read(in, block, sizeof block)) > 0) {
        if (write(out, block, (size_t)len) != len) temp_dir_die("write", to);
    }
    if (len < 0) temp_dir_die("read", from);
    (void)close(in);
    if (close(out) != 0) temp_dir_die("close", to);
}

// nftw hands its callback no context.
static struct {
    size_t from_len;
    const char *to;
} temp_dir_copying;

static int temp_dir_copy_entry(const char *path, const struct stat *info, int type,
                               struct FTW *walk) {
    (void)info;
    (void)walk;
    char to[4096];
    int len =
        snprintf(to, sizeof to, "%s%s", temp_dir_copying.to, path + temp_dir_copying.from_len);
    CHECK(len > 0 && (size_t)len < sizeof to);
    if (type == FTW_F)
        temp_dir_copy_file(path, to);
    else if (type == FTW_D && mkdir(to, 0700) != 0)
        temp_dir_die("make", to);
    return 0;
}

void temp_dir_copy_path(const char *from, const char *to) {
    temp_dir_copying.from_len = strlen(from);
    temp_dir_copying.to = to;
    if (nftw(from, temp_dir_copy_entry, 16, FTW_PHYS) != 0) temp_dir_die("copy", from);
}

const char *temp_dir_join(const char *dir, const char *name) {
    static char ring[8][1024];
    static size_t next;
    char *out = ring[next++ % (sizeof ring / sizeof ring[0])];
    int len = snprintf(out, sizeof ring[0], "%s/%s", dir, name);
    CHECK(len > 0 && (size_t)len < sizeof ring[0]);
    return out;
}
