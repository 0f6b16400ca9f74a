#include "store/store.h"

#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/rocks_error.h"
#include "store/store_private.h"

// A batch that has once grown large gives its memory back when it is cleared.
#define STORE_BATCH_KEEP_BYTES ((size_t)1024 * 1024)

static void store_close_options(struct store *store) {
    if (store->read_any != NULL) rocksdb_readoptions_destroy(store->read_any);
    if (store->read_cached != NULL) rocksdb_readoptions_destroy(store->read_cached);
    if (store->write_options != NULL) rocksdb_writeoptions_destroy(store->write_options);
}

void store_close(struct store *store) {
    if (store == NULL) return;
    // A clean stop loses nothing, in relaxed mode either. The error has been logged; there is
    // nobody left to tell.
    if (store->rocks.database != NULL && !atomic_load(&store->failed)) {
        enum err err = store_sync_high_water(store);
        (void)err;
    }
    store_rocks_close(&store->rocks);
    store_close_options(store);
    high_water_close(&store->mark);
    store_io_close(store->lock_fd); // last: it says that the directory is free
    mem_free(store);
}

enum err store_get(struct store *store, enum keyspace_family family, struct bytes key,
                   enum store_tier tier, struct buf *out) {
    const rocksdb_readoptions_t *options =
        tier == STORE_CACHE_ONLY ? store->read_cached : store->read_any;
    char *text = NULL;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned_cf(store->rocks.database, options, store_family(store, family),
                              store_chars(key), key.len, &text);
    if (text != NULL) return rocks_error_take(text, "a read");
    if (slice == NULL) return ERR_NOT_FOUND;
    size_t len = 0;
    const char *value = rocksdb_pinnableslice_value(slice, &len);
    buf_put(out, value, len);
    rocksdb_pinnableslice_destroy(slice);
    return out->failed ? ERR_NO_MEMORY : ERR_OK;
}

struct store_batch *store_batch_create(void) {
    struct store_batch *batch = mem_alloc(sizeof *batch);
    if (batch == NULL) return NULL;
    batch->rows = rocksdb_writebatch_create();
    return batch;
}

void store_batch_destroy(struct store_batch *batch) {
    if (batch == NULL) return;
    rocksdb_writebatch_destroy(batch->rows);
    mem_free(batch);
}

void store_batch_clear(struct store_batch *batch) {
    size_t len = 0;
    (void)rocksdb_writebatch_data(batch->rows, &len);
    if (len <= STORE_BATCH_KEEP_BYTES) {
        rocksdb_writebatch_clear(batch->rows);
    } else {
        rocksdb_writebatch_destroy(batch->rows);
        batch->rows = rocksdb_writebatch_create();
    }
}

void store_batch_put(struct store_batch *batch, struct store *store, enum keyspace_family family,
                     struct bytes key, struct bytes value) {
    rocksdb_writebatch_put_cf(batch->rows, store_family(store, family), store_chars(key), key.len,
                              store_chars(value), value.len);
}

void store_batch_delete(struct store_batch *batch, struct store *store, enum keyspace_family family,
                        struct bytes key) {
    rocksdb_writebatch_delete_cf(batch->rows, store_family(store, family), store_chars(key),
                                 key.len);
}

static enum err store_write_rows(struct store *store, struct store_batch *batch) {
    // After a failed write RocksDB may abort on the next one, and must not be asked again.
    if (atomic_load(&store->failed)) return ERR_IO;
    char *text = NULL;
    rocksdb_write(store->rocks.database, store->write_options, batch->rows, &text);
    if (text == NULL) return ERR_OK;
    enum err err = rocks_error_take(text, "a write");
    return err == ERR_CORRUPT ? ERR_CORRUPT : ERR_IO;
}

enum err store_write(struct store *store, struct store_batch *batch, uint64_t position) {
    CHECK(position >= atomic_load(&store->position)); // the mark never goes back
    enum err err = store_write_rows(store, batch);
    // Relaxed, the rows may not be on disk yet, and the mark must not get ahead of them:
    // store_sync_high_water writes it after it has synced them.
    if (err == ERR_OK && !store->relaxed) err = high_water_write(&store->mark, position);
    if (err != ERR_OK) {
        atomic_store(&store->failed, true);
        return err;
    }
    atomic_store(&store->position, position);
    return ERR_OK;
}

uint64_t store_position(const struct store *store) { return atomic_load(&store->position); }

static enum err store_sync_relaxed(struct store *store) {
    uint64_t position = store_position(store); // written before the sync below, so covered by it
    char *text = NULL;
    rocksdb_flush_wal(store->rocks.database, 1, &text);
    if (text != NULL) return rocks_error_take(text, "a sync of the log");
    return high_water_write(&store->mark, position);
}

enum err store_sync_high_water(struct store *store) {
    enum err err = store->relaxed ? store_sync_relaxed(store) : ERR_OK;
    return err == ERR_OK ? high_water_sync(&store->mark) : err;
}

enum err store_disk_free(const struct store *store, uint64_t *out_bytes) {
    int error = store_io_free_bytes(store->dir, out_bytes);
    if (error == 0) return ERR_OK;
    log_error("store: asking for the free space of %s failed: %s", store->dir,
              store_io_error_text(error));
    return ERR_IO;
}

void store_compact(struct store *store, enum keyspace_family family) {
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    // Beside the automatic ones: an exclusive one would hold them up, and in the end the writes.
    rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0);
    rocksdb_compact_range_cf_opt(store->rocks.database, store_family(store, family), options, NULL,
                                 0, NULL, 0);
    rocksdb_compactoptions_destroy(options);
}

void store_compact_stop(struct store *store) {
    rocksdb_disable_manual_compaction(store->rocks.database);
}
