#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/rocks_error.h"
#include "store/store_private.h"

// For a table file that is missing RocksDB names the one of an older naming that it looked for
// last, which never was there.
static void rocks_name_tables(char *text) {
    for (char *at = strstr(text, ".ldb"); at != NULL; at = strstr(at, ".ldb"))
        memcpy(at, ".sst", 4);
}

uint64_t store_rocks_log_bytes(const char *path) {
    static const char end[] = ".log";
    uint64_t bytes = 0;
    DIR *dir = opendir(path);
    if (dir == NULL) return 0; // opening it will say why
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        struct stat info;
        if (len < sizeof end || strcmp(entry->d_name + len - (sizeof end - 1), end) != 0) continue;
        if (fstatat(dirfd(dir), entry->d_name, &info, 0) == 0) bytes += (uint64_t)info.st_size;
    }
    (void)closedir(dir);
    return bytes;
}

// RocksDB writes its options to a file of another name first, and never removes one that a kill has
// left half-way: each would stay for ever. Not finding or removing them harms nothing, so that
// errors are left for the next open.
static void rocks_remove_left_over(const char *path) {
    static const char begin[] = "OPTIONS-";
    static const char end[] = ".dbtmp";
    DIR *dir = opendir(path);
    if (dir == NULL) return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        if (len < sizeof begin + sizeof end) continue;
        if (strncmp(entry->d_name, begin, sizeof begin - 1) != 0) continue;
        if (strcmp(entry->d_name + len - (sizeof end - 1), end) != 0) continue;
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    (void)closedir(dir);
}

enum err store_rocks_open(const char *path, const struct store_options *options, bool create,
                          struct store_rocks *out, struct error_detail *detail) {
    struct rocks_options rocks_options;
    if (!create) rocks_remove_left_over(path);
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
