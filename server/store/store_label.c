#include "store/store_label.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/scope.h"
#include "codec/crc32c.h"

// The file: magic (a line of text, for those who look) | version u32 | crc32c u32 of all before it.
// Every later version keeps this beginning, so that an older claimd can name what it refuses.
#define LABEL_MAGIC "claimd store\n"
#define LABEL_MAGIC_BYTES (sizeof LABEL_MAGIC - 1)
#define LABEL_BYTES (LABEL_MAGIC_BYTES + 8)
_Static_assert(LABEL_BYTES == 21, "docs/FORMATS.md says so");

struct label_look {
    bool has_label;
    bool has_unfinished;
    bool has_ours;
    bool has_foreign;
    char *entry; // one that is foreign, else one of ours
};

static void label_note(struct label_look *look, const char *name) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    if (strcmp(name, "lost+found") == 0) return; // the root of a fresh volume has it
    if (strcmp(name, STORE_LABEL_NAME) == 0) {
        look->has_label = true;
    } else if (strcmp(name, STORE_LABEL_NAME_UNFINISHED) == 0) {
        look->has_unfinished = true;
    } else {
        bool ours = strcmp(name, STORE_DB_NAME) == 0 || strcmp(name, STORE_POSITION_NAME) == 0;
        if (!ours || !look->has_foreign) {
            (void)snprintf(look->entry, STORE_IO_PATH_BYTES_MAX, "%s", name);
        }
        if (ours)
            look->has_ours = true;
        else
            look->has_foreign = true;
    }
}

static enum store_dir_kind label_kind(const struct label_look *look) {
    if (look->has_label) return STORE_DIR_STORE;
    if (look->has_unfinished) return STORE_DIR_UNFINISHED;
    if (look->has_foreign) return STORE_DIR_FOREIGN;
    return look->has_ours ? STORE_DIR_UNLABELLED : STORE_DIR_EMPTY;
}

int store_label_look(const char *dir, enum store_dir_kind *out_kind,
                     char out_entry[STORE_IO_PATH_BYTES_MAX]) {
    bool exists = false;
    int error = store_io_exists(dir, &exists);
    if (error != 0) return error;
    if (!exists) {
        *out_kind = STORE_DIR_ABSENT;
        return 0;
    }
    DIR *stream = opendir(dir);
    if (stream == NULL) return errno;
    struct label_look look = {.entry = out_entry};
    errno = 0;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        label_note(&look, entry->d_name);
        errno = 0; // what tells the end from an error
    }
    error = errno;
    (void)closedir(stream);
    if (error == 0) *out_kind = label_kind(&look);
    return error;
}

static void label_encode(struct buf *out) {
    buf_put(out, LABEL_MAGIC, LABEL_MAGIC_BYTES);
    buf_put_u32(out, STORE_FORMAT_VERSION);
    buf_put_u32(out, crc32c(0, buf_bytes(out)));
}

int store_label_begin(const char *dir) {
    SCOPE_BUF struct buf content = {0};
    label_encode(&content);
    if (content.failed) return ENOMEM;
    char path[STORE_IO_PATH_BYTES_MAX];
    int error = store_io_join(path, dir, STORE_LABEL_NAME_UNFINISHED);
    if (error == 0) error = store_io_create_file(path, content.data, content.len);
    return error != 0 ? error : store_io_sync_dir(dir);
}

int store_label_finish(const char *dir) {
    char from[STORE_IO_PATH_BYTES_MAX];
    char to[STORE_IO_PATH_BYTES_MAX];
    int error = store_io_join(from, dir, STORE_LABEL_NAME_UNFINISHED);
    if (error == 0) error = store_io_join(to, dir, STORE_LABEL_NAME);
    // All that the label speaks for is named durably before the label is.
    if (error == 0) error = store_io_sync_dir(dir);
    if (error == 0) error = store_io_rename(from, to);
    return error != 0 ? error : store_io_sync_dir(dir);
}

static enum err label_check(int fd, const char *path, struct error_detail *detail) {
    uint8_t content[LABEL_BYTES];
    size_t len = 0;
    int error = store_io_read(fd, content, sizeof content, &len);
    if (error != 0) {
        error_detail_set(detail, "cannot read %s: %s", path, store_io_error_text(error));
        return ERR_IO;
    }
    struct reader reader = reader_init((struct bytes){content, len});
    struct bytes magic = reader_bytes(&reader, LABEL_MAGIC_BYTES);
    uint32_t version = reader_u32(&reader);
    uint32_t crc = reader_u32(&reader);
    if (!reader_is_done(&reader) || !bytes_equal(magic, bytes_of(LABEL_MAGIC)) ||
        crc != crc32c(0, (struct bytes){content, LABEL_BYTES - 4})) {
        error_detail_set(detail, "%s is damaged: restore the data directory from a backup", path);
        return ERR_CORRUPT;
    }
    if (version != STORE_FORMAT_VERSION) {
        error_detail_set(
            detail,
            "%s says store format %u, and this claimd reads format %d: start the claimd "
            "that wrote it, or a newer one",
            path, version, STORE_FORMAT_VERSION);
        return ERR_CORRUPT;
    }
    return ERR_OK;
}

enum err store_label_open(const char *dir, int *out_fd, struct error_detail *detail) {
    char path[STORE_IO_PATH_BYTES_MAX] = "";
    int fd = -1;
    int error = store_io_join(path, dir, STORE_LABEL_NAME);
    if (error == 0) error = store_io_open(path, O_RDONLY, &fd);
    // Before RocksDB's own lock: its open renames the running owner's log file before it locks.
    if (error == 0) error = store_io_lock(fd);
    enum err err = ERR_OK;
    if (error == EWOULDBLOCK) {
        error_detail_set(detail, "another process has %s open: stop it first", dir);
        err = ERR_LOCKED;
    } else if (error != 0) {
        error_detail_set(detail, "cannot open %s: %s", path, store_io_error_text(error));
        err = ERR_IO;
    } else {
        err = label_check(fd, path, detail);
    }
    if (err != ERR_OK) {
        store_io_close(fd);
        return err;
    }
    *out_fd = fd;
    return ERR_OK;
}
