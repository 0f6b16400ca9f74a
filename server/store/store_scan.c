#include "store/store_scan.h"

#include "base/mem.h"
#include "base/scope.h"
#include "store/rocks_error.h"
#include "store/store_private.h"

struct store_scan {
    struct store *store;
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator;
    struct buf upper; // the options keep a view of it
    uint64_t position;
    bool started;
};

// The first key after all that begin with prefix; false if there is none (only 0xFF, or empty).
static bool scan_upper_bound(struct bytes prefix, struct buf *out) {
    size_t len = prefix.len;
    while (len > 0 && prefix.data[len - 1] == 0xFF) len--;
    if (len == 0) return false;
    buf_put(out, prefix.data, len);
    if (!out->failed) out->data[len - 1]++;
    return true;
}

// The position as the snapshot sees it: the head row rides in every group.
static enum err scan_read_position(struct store_scan *scan) {
    struct bytes key = keyspace_head_key();
    char *text = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(
        scan->store->rocks.database, scan->options, store_family(scan->store, KEYSPACE_META),
        store_chars(key), key.len, &text);
    if (text != NULL) return rocks_error_take(text, "reading the position of a scan");
    if (slice == NULL) return ERR_CORRUPT;
    size_t len = 0;
    const char *value = rocksdb_pinnableslice_value(slice, &len);
    struct keyspace_head head;
    enum err err = keyspace_parse_head((struct bytes){(const uint8_t *)value, len}, &head);
    rocksdb_pinnableslice_destroy(slice);
    if (err == ERR_OK) scan->position = head.position;
    return err;
}

static enum err scan_start(struct store_scan *scan, enum keyspace_family family,
                           struct bytes prefix) {
    bool bounded = scan_upper_bound(prefix, &scan->upper);
    if (scan->upper.failed) return ERR_NO_MEMORY;
    scan->snapshot = rocksdb_create_snapshot(scan->store->rocks.database);
    scan->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(scan->options, scan->snapshot);
    rocksdb_readoptions_set_fill_cache(scan->options, 0); // a walk must not push out the hot blocks
    enum err err = scan_read_position(scan);
    if (err != ERR_OK) return err;
    if (bounded) {
        rocksdb_readoptions_set_iterate_upper_bound(scan->options, (const char *)scan->upper.data,
                                                    scan->upper.len);
    }
    scan->iterator = rocksdb_create_iterator_cf(scan->store->rocks.database, scan->options,
                                                store_family(scan->store, family));
    rocksdb_iter_seek(scan->iterator, store_chars(prefix), prefix.len);
    return ERR_OK;
}

enum err store_scan_open(struct store *store, enum keyspace_family family, struct bytes prefix,
                         struct store_scan **out_scan) {
    struct store_scan *scan = mem_zalloc(sizeof *scan);
    if (scan == NULL) return ERR_NO_MEMORY;
    scan->store = store;
    enum err err = scan_start(scan, family, prefix);
    if (err != ERR_OK) {
        store_scan_close(scan);
        return err;
    }
    *out_scan = scan;
    return ERR_OK;
}

void store_scan_close(struct store_scan *scan) {
    if (scan == NULL) return;
    if (scan->iterator != NULL) rocksdb_iter_destroy(scan->iterator);
    if (scan->options != NULL) rocksdb_readoptions_destroy(scan->options);
    if (scan->snapshot != NULL) {
        rocksdb_release_snapshot(scan->store->rocks.database, scan->snapshot);
    }
    buf_deinit(&scan->upper);
    mem_free(scan);
}

uint64_t store_scan_position(const struct store_scan *scan) { return scan->position; }

enum err store_scan_next(struct store_scan *scan, struct bytes *out_key, struct bytes *out_value) {
    if (scan->started && rocksdb_iter_valid(scan->iterator)) rocksdb_iter_next(scan->iterator);
    scan->started = true;
    if (!rocksdb_iter_valid(scan->iterator)) {
        char *text = NULL;
        rocksdb_iter_get_error(scan->iterator, &text);
        return text == NULL ? ERR_NOT_FOUND : rocks_error_take(text, "a scan");
    }
    size_t len = 0;
    const char *key = rocksdb_iter_key(scan->iterator, &len);
    *out_key = (struct bytes){(const uint8_t *)key, len};
    const char *value = rocksdb_iter_value(scan->iterator, &len);
    *out_value = (struct bytes){(const uint8_t *)value, len};
    return ERR_OK;
}
