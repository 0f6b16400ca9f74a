#include "store/rocks_error.h"

#include <string.h>

#include <rocksdb/c.h>

#include "base/check.h"
#include "base/log.h"

static bool text_begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Two wordings: another open within this process, and a lock that another process holds.
static bool text_is_lock(const char *text) {
    return text_begins(text, "IO error:") &&
           (strstr(text, "lock hold by current process") != NULL ||
            strstr(text, "While lock file") != NULL);
}

enum err rocks_error_code(const char *text) {
    if (text_begins(text, "Result incomplete")) return ERR_WOULD_BLOCK;
    if (text_begins(text, "Corruption")) return ERR_CORRUPT;
    if (text_is_lock(text)) return ERR_LOCKED;
    return ERR_IO;
}

enum err rocks_error_open_code(const char *text) {
    enum err err = rocks_error_code(text);
    if (err != ERR_IO) return err;
    if (text_begins(text, "Invalid argument")) return ERR_CORRUPT;
    if (strstr(text, "No such file or directory") != NULL) return ERR_CORRUPT;
    return ERR_IO;
}

enum err rocks_error_take(char *take_text, const char *doing) {
    CHECK(take_text != NULL);
    enum err err = rocks_error_code(take_text);
    if (err != ERR_WOULD_BLOCK) log_error("store: %s failed: %s", doing, take_text);
    rocksdb_free(take_text);
    return err;
}
