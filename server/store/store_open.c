#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/scope.h"
#include "store/rocks_error.h"
#include "store/store_label.h"
#include "store/store_private.h"

#define OPEN_REMEDY "restore the whole data directory from a backup"

// What opening writes besides what it recovers: a manifest, options, texts, the start of a log.
#define OPEN_ROOM_BYTES ((uint64_t)2 * 1024 * 1024)

// Says why there is nothing to open.
static enum err open_check_dir(const char *dir, struct error_detail *detail) {
    enum store_dir_kind kind = STORE_DIR_ABSENT;
    char entry[STORE_IO_PATH_BYTES_MAX] = "";
    int error = store_label_look(dir, &kind, entry);
    if (error != 0) {
        error_detail_set(detail, "cannot look into %s: %s", dir, store_io_error_text(error));
        return ERR_IO;
    }
    switch (kind) {
    case STORE_DIR_STORE:
        return ERR_OK;
    case STORE_DIR_ABSENT:
    case STORE_DIR_EMPTY:
        error_detail_set(detail,
                         "there is no store in %s: mount its volume, or create a store with: "
                         "claimd init --data-dir %s",
                         dir, dir);
        return ERR_NOT_FOUND;
    case STORE_DIR_FOREIGN:
        error_detail_set(detail,
                         "there is no store in %s (it holds %s): choose another directory, and "
                         "create a store with: claimd init --data-dir DIR",
                         dir, entry);
        return ERR_NOT_FOUND;
    case STORE_DIR_UNFINISHED:
        error_detail_set(detail,
                         "the init of %s was interrupted; nothing was ever stored there: remove "
                         "%s/" STORE_LABEL_NAME_UNFINISHED
                         ", %s/db and %s/position, which is safe, "
                         "and run: claimd init --data-dir %s",
                         dir, dir, dir, dir, dir);
        return ERR_NOT_FOUND;
    case STORE_DIR_UNLABELLED:
        error_detail_set(detail,
                         "%s/" STORE_LABEL_NAME " is missing, but %s/%s is there: " OPEN_REMEDY,
                         dir, dir, entry);
        return ERR_CORRUPT;
    }
    return ERR_NOT_FOUND;
}

static enum err open_mark(struct store *store, uint64_t *out_acknowledged,
                          struct error_detail *detail) {
    char path[STORE_IO_PATH_BYTES_MAX];
    CHECK(store_io_join(path, store->dir, STORE_POSITION_NAME) == 0);
    enum err err = high_water_open(path, &store->mark, out_acknowledged);
    if (err == ERR_OK) return ERR_OK;
    if (err == ERR_IO) {
        error_detail_set(detail, "cannot read %s", path);
        return ERR_IO;
    }
    error_detail_set(
        detail,
        "%s is %s, and without it a loss of acknowledged claims would go unnoticed: " OPEN_REMEDY,
        path, err == ERR_NOT_FOUND ? "missing" : "damaged");
    return ERR_CORRUPT;
}

// Recovery writes what is in the logs into tables. Where there is no room for it, this library's
// assertions would end the process with a text that helps nobody.
static enum err open_check_room(struct store *store, const char *path,
                                struct error_detail *detail) {
    uint64_t free_bytes = 0;
    uint64_t needed_bytes = store_rocks_log_bytes(path) + OPEN_ROOM_BYTES;
    int error = store_io_free_bytes(store->dir, &free_bytes);
    if (error != 0) {
        error_detail_set(detail, "cannot ask for the free space of %s: %s", store->dir,
                         store_io_error_text(error));
        return ERR_IO;
    }
    if (free_bytes >= needed_bytes) return ERR_OK;
    error_detail_set(detail,
                     "the disk of %s is full: %" PRIu64
                     " KiB are free, and opening the store takes "
                     "up to %" PRIu64 " KiB; nothing is lost: make room and start again",
                     store->dir, free_bytes / 1024, needed_bytes / 1024);
    return ERR_IO;
}

static enum err open_database(struct store *store, const struct store_options *options,
                              struct error_detail *detail) {
    char path[STORE_IO_PATH_BYTES_MAX];
    char current[STORE_IO_PATH_BYTES_MAX];
    bool exists = false;
    CHECK(store_io_join(path, store->dir, STORE_DB_NAME) == 0);
    CHECK(store_io_join(current, path, "CURRENT") == 0);
    int error = store_io_exists(current, &exists);
    if (error != 0) {
        error_detail_set(detail, "cannot open %s/db: %s", store->dir, store_io_error_text(error));
        return ERR_IO;
    }
    // RocksDB would leave files in an unmounted or emptied directory before it refuses.
    if (!exists) {
        error_detail_set(detail, "%s is missing: " OPEN_REMEDY, current);
        return ERR_CORRUPT;
    }
    enum err err = open_check_room(store, path, detail);
    if (err != ERR_OK) return err;
    struct error_detail text = {0};
    err = store_rocks_open(path, options, false, &store->rocks, &text);
    if (err == ERR_LOCKED) {
        error_detail_set(detail, "another process has %s open: stop it first", store->dir);
    } else if (err == ERR_CORRUPT) {
        error_detail_set(detail, "the store is damaged: %.350s: " OPEN_REMEDY, text.text);
    } else if (err != ERR_OK) {
        error_detail_set(detail, "cannot open the store: %.350s", text.text);
    }
    return err;
}

static void open_options(struct store *store) {
    store->read_any = rocksdb_readoptions_create();
    store->read_cached = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(store->read_cached, 1); // kBlockCacheTier
    store->write_options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(store->write_options, !store->relaxed);
}

// Writes a row that means nothing into RocksDB's own family, so that this run's log is not empty:
// RocksDB lets earlier logs go when it recovers something from the last one, and a crash loop
// without a write would leave one for each run, for ever. Not one of our rows: the position must
// stay beside the data that it vouches for.
static enum err open_write(struct store *store, struct error_detail *detail) {
    static const char key[] = "opened";
    char *text = NULL;
    rocksdb_put_cf(store->rocks.database, store->write_options, store->rocks.family[0], key,
                   sizeof key - 1, "", 0, &text);
    if (text == NULL) return ERR_OK;
    error_detail_set(detail, "cannot write into %s/db: %.350s", store->dir, text);
    rocksdb_free(text);
    return ERR_IO;
}

// The store must reach at least what was acknowledged; RocksDB itself opens a shortened log.
static enum err open_position(struct store *store, uint64_t acknowledged,
                              struct error_detail *detail) {
    SCOPE_BUF struct buf value = {0};
    struct keyspace_head head;
    enum err err = store_get(store, KEYSPACE_META, keyspace_head_key(), STORE_MAY_READ, &value);
    if (err == ERR_OK) err = keyspace_parse_head(buf_bytes(&value), &head);
    if (err == ERR_NO_MEMORY || err == ERR_IO) {
        error_detail_set(detail, "cannot read the position of %s/db", store->dir);
        return err;
    }
    if (err != ERR_OK) {
        error_detail_set(
            detail, "the row of %s/db that holds its position is missing or damaged: " OPEN_REMEDY,
            store->dir);
        return ERR_CORRUPT;
    }
    if (head.position < acknowledged) {
        error_detail_set(detail,
                         "the store in %s/db ends at position %" PRIu64
                         ", but %s/position says that "
                         "%" PRIu64 " was acknowledged: acknowledged claims are missing (a file "
                         "%s/db/*.log was lost or cut): " OPEN_REMEDY,
                         store->dir, head.position, store->dir, acknowledged, store->dir);
        return ERR_CORRUPT;
    }
    atomic_store(&store->position, head.position);
    // What was recovered beyond the mark is on disk now and will be told to clients.
    err = high_water_write(&store->mark, head.position);
    if (err == ERR_OK) err = high_water_sync(&store->mark);
    if (err != ERR_OK) {
        error_detail_set(detail, "cannot write %s/position", store->dir);
        return err;
    }
    return open_write(store, detail);
}

enum err store_open(const char *dir, const struct store_options *options, struct store **out_store,
                    struct error_detail *detail) {
    if (strlen(dir) > STORE_DIR_BYTES_MAX) {
        error_detail_set(detail, "the path of the data directory is longer than %d bytes",
                         STORE_DIR_BYTES_MAX);
        return ERR_IO;
    }
    enum err err = open_check_dir(dir, detail);
    if (err != ERR_OK) return err;
    struct store *store = mem_zalloc(sizeof *store);
    if (store == NULL) {
        error_detail_set(detail, "no memory to open %s", dir);
        return ERR_NO_MEMORY;
    }
    store->lock_fd = -1;
    store->mark.fd = -1;
    store->relaxed = options->relaxed;
    memcpy(store->dir, dir, strlen(dir) + 1);
    uint64_t acknowledged = 0;
    err = store_label_open(dir, &store->lock_fd, detail);
    if (err == ERR_OK) err = open_mark(store, &acknowledged, detail);
    if (err == ERR_OK) err = open_database(store, options, detail);
    if (err == ERR_OK) {
        open_options(store);
        err = open_position(store, acknowledged, detail);
    }
    if (err != ERR_OK) {
        store->failed = true; // closing writes nothing
        store_close(store);
        return err;
    }
    *out_store = store;
    return ERR_OK;
}
