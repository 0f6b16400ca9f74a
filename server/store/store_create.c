#include <errno.h>

#include "base/scope.h"
#include "store/rocks_error.h"
#include "store/store_label.h"
#include "store/store_private.h"

static enum err create_fail(struct error_detail *detail, const char *what, const char *path,
                            int error) {
    error_detail_set(detail, "cannot %s %s: %s", what, path, store_io_error_text(error));
    return ERR_IO;
}

// Makes the directory if there is none, and durable in its parent.
static enum err create_make_dir(const char *dir, struct error_detail *detail) {
    bool made = false;
    int error = store_io_make_dir(dir, &made);
    if (error == ENOENT) {
        error_detail_set(detail, "cannot make %s: the directory above it is missing", dir);
        return ERR_IO;
    }
    if (error != 0) return create_fail(detail, "make", dir, error);
    if (!made) return ERR_OK;
    char parent[STORE_IO_PATH_BYTES_MAX];
    error = store_io_join(parent, dir, "..");
    if (error == 0) error = store_io_sync_dir(parent);
    return error == 0 ? ERR_OK : create_fail(detail, "sync the directory above", dir, error);
}

// Only an empty directory becomes a store.
static enum err create_check_dir(const char *dir, struct error_detail *detail) {
    enum store_dir_kind kind = STORE_DIR_ABSENT;
    char entry[STORE_IO_PATH_BYTES_MAX] = "";
    int error = store_label_look(dir, &kind, entry);
    if (error != 0) return create_fail(detail, "look into", dir, error);
    switch (kind) {
    case STORE_DIR_ABSENT:
        return create_fail(detail, "look into", dir, ENOENT);
    case STORE_DIR_EMPTY:
        return ERR_OK;
    case STORE_DIR_STORE:
        error_detail_set(detail, "there is a store in %s already", dir);
        return ERR_EXISTS;
    case STORE_DIR_UNFINISHED:
        error_detail_set(
            detail,
            "another init is at work in %s, or one was interrupted: in the second case "
            "remove %s/" STORE_LABEL_NAME_UNFINISHED ", %s/db and %s/position, which "
            "hold nothing, and init again",
            dir, dir, dir, dir);
        return ERR_INVALID_ARGUMENT;
    case STORE_DIR_UNLABELLED:
        error_detail_set(detail,
                         "%s has %s of a store but no " STORE_LABEL_NAME ": if it was a store, "
                         "restore that file from a backup; else choose an empty directory",
                         dir, entry);
        return ERR_INVALID_ARGUMENT;
    case STORE_DIR_FOREIGN:
        error_detail_set(detail, "%s is not empty (it holds %s): choose an empty directory", dir,
                         entry);
        return ERR_INVALID_ARGUMENT;
    }
    return ERR_INVALID_ARGUMENT;
}

// The rows that every store has, in one synced batch.
static enum err create_write_rows(struct store_rocks *rocks, uint64_t initial_token,
                                  struct error_detail *detail) {
    SCOPE_BUF struct buf head = {0};
    SCOPE_BUF struct buf clock = {0};
    keyspace_put_head(&head, &(struct keyspace_head){.position = 0, .term = 0});
    keyspace_put_clock(&clock, &(struct keyspace_clock){.token_next = initial_token, .mark = {0}});
    if (head.failed || clock.failed) return ERR_NO_MEMORY;
    rocksdb_column_family_handle_t *meta = rocks->family[ROCKS_FAMILY_INDEX(KEYSPACE_META)];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    struct bytes key = keyspace_head_key();
    rocksdb_writebatch_put_cf(batch, meta, store_chars(key), key.len, (const char *)head.data,
                              head.len);
    key = keyspace_clock_key();
    rocksdb_writebatch_put_cf(batch, meta, store_chars(key), key.len, (const char *)clock.data,
                              clock.len);
    rocksdb_writeoptions_t *synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(synced, 1);
    char *text = NULL;
    rocksdb_write(rocks->database, synced, batch, &text);
    rocksdb_writeoptions_destroy(synced);
    rocksdb_writebatch_destroy(batch);
    if (text == NULL) return ERR_OK;
    error_detail_set(detail, "cannot write the first rows: %s", text);
    rocksdb_free(text);
    return ERR_IO;
}

static enum err create_database(const char *dir, uint64_t initial_token,
                                struct error_detail *detail) {
    char path[STORE_IO_PATH_BYTES_MAX];
    int error = store_io_join(path, dir, STORE_DB_NAME);
    if (error != 0) return create_fail(detail, "name the database in", dir, error);
    struct store_options options = store_options_default();
    struct store_rocks rocks = {0};
    enum err err = store_rocks_open(path, &options, true, &rocks, detail);
    if (err == ERR_OK) err = create_write_rows(&rocks, initial_token, detail);
    store_rocks_close(&rocks);
    return err == ERR_OK || err == ERR_NO_MEMORY ? err : ERR_IO;
}

static enum err create_position(const char *dir, struct error_detail *detail) {
    char path[STORE_IO_PATH_BYTES_MAX];
    int error = store_io_join(path, dir, STORE_POSITION_NAME);
    if (error != 0) return create_fail(detail, "name the position file in", dir, error);
    enum err err = high_water_create(path, 0);
    if (err != ERR_OK) error_detail_set(detail, "cannot write %s", path);
    return err == ERR_OK ? ERR_OK : ERR_IO;
}

enum err store_create(const char *dir, uint64_t initial_token, struct error_detail *detail) {
    enum err err = create_make_dir(dir, detail);
    if (err == ERR_OK) err = create_check_dir(dir, detail);
    if (err != ERR_OK) return err;
    int error = store_label_begin(dir);
    if (error != 0) return create_fail(detail, "begin a store in", dir, error);
    err = create_database(dir, initial_token, detail);
    if (err == ERR_OK) err = create_position(dir, detail);
    if (err != ERR_OK) return err;
    error = store_label_finish(dir);
    return error == 0 ? ERR_OK : create_fail(detail, "finish the store in", dir, error);
}
