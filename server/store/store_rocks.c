#include <string.h>

#include "store/rocks_error.h"
#include "store/store_private.h"

// For a table file that is missing RocksDB names the one of an older naming that it looked for
// last, which never was there.
static void rocks_name_tables(char *text) {
    for (char *at = strstr(text, ".ldb"); at != NULL; at = strstr(at, ".ldb"))
        memcpy(at, ".sst", 4);
}

enum err store_rocks_open(const char *path, const struct store_options *options, bool create,
                          struct store_rocks *out, struct error_detail *detail) {
    struct rocks_options rocks_options;
    rocks_options_init(options, create, &rocks_options);
    const rocksdb_options_t *family_options[ROCKS_FAMILIES];
    for (size_t i = 0; i < ROCKS_FAMILIES; i++) family_options[i] = rocks_options.family[i];
    struct store_rocks rocks = {0};
    char *text = NULL;
    rocks.database =
        rocksdb_open_column_families(rocks_options.database, path, ROCKS_FAMILIES,
                                     rocks_family_names, family_options, rocks.family, &text);
    rocks_options_deinit(&rocks_options);
    if (text != NULL) {
        enum err err = rocks_error_open_code(text);
        rocks_name_tables(text);
        error_detail_set(detail, "%s: %s", path, text);
        rocksdb_free(text);
        return err;
    }
    *out = rocks;
    return ERR_OK;
}

void store_rocks_close(struct store_rocks *rocks) {
    if (rocks->database == NULL) return;
    rocksdb_cancel_all_background_work(rocks->database, 1);
    for (size_t i = 0; i < ROCKS_FAMILIES; i++) {
        rocksdb_column_family_handle_destroy(rocks->family[i]);
    }
    rocksdb_close(rocks->database);
    *rocks = (struct store_rocks){0};
}
