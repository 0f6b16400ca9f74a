#include "config/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

enum option_kind { OPTION_TEXT, OPTION_FLAG, OPTION_BYTES, OPTION_DURABILITY };

struct option_row {
    const char *name;
    const char *value_name; // NULL: takes none
    enum option_kind kind;
    size_t offset;
    const char *help;
};

static const struct option_row option_rows[] = {
    {"data-dir", "DIR", OPTION_TEXT, offsetof(struct config, data_dir),
     "where the store is (required)"},
    {"listen", "HOST:PORT", OPTION_TEXT, offsetof(struct config, listen),
     "where to listen; port 0: any free one (default 127.0.0.1:7420)"},
    {"insecure", NULL, OPTION_FLAG, offsetof(struct config, insecure),
     "allow an address that is not loopback, although nothing is encrypted"},
    {"create", NULL, OPTION_FLAG, offsetof(struct config, create),
     "make the store first if DIR does not exist or is empty"},
    {"durability", "full|relaxed", OPTION_DURABILITY, offsetof(struct config, durability_relaxed),
     "relaxed: answer before the change is on disk; a power cut may lose it (default full)"},
    {"disk-soft-reserve", "BYTES", OPTION_BYTES, offsetof(struct config, disk_soft_reserve_bytes),
     "refuse new claims when less is free (default 1G)"},
    {"disk-hard-reserve", "BYTES", OPTION_BYTES, offsetof(struct config, disk_hard_reserve_bytes),
     "refuse every change when less is free (default 256M)"},
};
#define OPTION_ROWS (sizeof option_rows / sizeof option_rows[0])

void config_print_help(void) {
    printf("claimd - makes an effect happen once although its message comes twice\n\n"
           "Usage:\n"
           "  claimd init --data-dir DIR                     create an empty store\n"
           "  claimd --data-dir DIR [--listen HOST:PORT]     serve it\n"
           "  claimd --help | --version\n\n"
           "Options:\n");
    for (size_t i = 0; i < OPTION_ROWS; i++) {
        const struct option_row *row = &option_rows[i];
        char left[64];
        (void)snprintf(left, sizeof left, "--%s %s", row->name,
                       row->value_name == NULL ? "" : row->value_name);
        printf("  %-32s %s\n", left, row->help);
    }
    printf(
        "\nExample:\n"
        "  claimd init --data-dir /var/lib/claimd\n"
        "  claimd --data-dir /var/lib/claimd --listen 127.0.0.1:7420\n\n"
        "SIGTERM stops it cleanly: claims under way may end first. Exit status: 0 after a clean\n"
        "stop, 1 if it could not start, 2 for wrong usage, 70 if the store could not be "
        "written.\n");
}

// Digits with an optional K, M, G or T (powers of 1024).
static bool bytes_read(const char *text, uint64_t *out) {
    static const char units[] = "KMGT";
    uint64_t value = 0;
    const char *end = text;
    for (; *end >= '0' && *end <= '9'; end++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*end - '0'), &value)) {
            return false;
        }
    }
    if (end == text) return false;
    const char *unit = *end == '\0' ? NULL : strchr(units, *end);
    if (unit != NULL) {
        uint64_t factor = UINT64_C(1) << (10 * (unit - units + 1));
        if (__builtin_mul_overflow(value, factor, &value)) return false;
        end++;
    }
    *out = value;
    return *end == '\0';
}

static enum err option_set(const struct option_row *row, const char *value, struct config *config,
                           struct error_detail *detail) {
    char *field = (char *)config + row->offset;
    switch (row->kind) {
    case OPTION_TEXT:
        memcpy(field, &value, sizeof value);
        return ERR_OK;
    case OPTION_FLAG:
        *(bool *)field = true;
        return ERR_OK;
    case OPTION_BYTES:
        if (bytes_read(value, (uint64_t *)(void *)field)) return ERR_OK;
        error_detail_set(detail, "--%s %s: must be a number of bytes, such as 512M or 1G",
                         row->name, value);
        return ERR_INVALID_ARGUMENT;
    case OPTION_DURABILITY:
        CHECK(value != NULL); // the row has a value_name
        *(bool *)field = strcmp(value, "relaxed") == 0;
        if (*(bool *)field || strcmp(value, "full") == 0) return ERR_OK;
        error_detail_set(detail, "--durability %s: must be full or relaxed", value);
        return ERR_INVALID_ARGUMENT;
    }
    return ERR_OK;
}

// The row of "--name" or "--name=value"; *out_value points behind the "=", or is NULL.
static const struct option_row *option_find(const char *argument, const char **out_value) {
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals == NULL ? strlen(name) : (size_t)(equals - name);
    *out_value = equals == NULL ? NULL : equals + 1;
    for (size_t i = 0; i < OPTION_ROWS; i++) {
        if (strlen(option_rows[i].name) == len && memcmp(option_rows[i].name, name, len) == 0) {
            return &option_rows[i];
        }
    }
    return NULL;
}

static enum err config_check(const struct config *config, struct error_detail *detail) {
    if (config->command != CONFIG_SERVE && config->command != CONFIG_INIT) return ERR_OK;
    if (config->data_dir == NULL || config->data_dir[0] == '\0') {
        error_detail_set(detail, "--data-dir DIR is required");
        return ERR_INVALID_ARGUMENT;
    }
    if (config->disk_hard_reserve_bytes > config->disk_soft_reserve_bytes) {
        error_detail_set(detail, "--disk-hard-reserve must not be above --disk-soft-reserve");
        return ERR_INVALID_ARGUMENT;
    }
    return ERR_OK;
}

enum err config_read(int argc, char **argv, struct config *out, struct error_detail *detail) {
    *out = (struct config){
        .command = CONFIG_SERVE,
        .listen = "127.0.0.1:7420",
        .disk_soft_reserve_bytes = LIMIT_DISK_SOFT_RESERVE_BYTES,
        .disk_hard_reserve_bytes = LIMIT_DISK_HARD_RESERVE_BYTES,
    };
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            out->command = CONFIG_HELP;
            return ERR_OK;
        }
        if (strcmp(argument, "--version") == 0) {
            out->command = CONFIG_VERSION;
            return ERR_OK;
        }
        if (i == 1 && strcmp(argument, "init") == 0) {
            out->command = CONFIG_INIT;
            continue;
        }
        const char *value = NULL;
        const struct option_row *row =
            strncmp(argument, "--", 2) == 0 ? option_find(argument, &value) : NULL;
        if (row == NULL) {
            error_detail_set(detail, "unknown argument %s", argument);
            return ERR_INVALID_ARGUMENT;
        }
        if (row->value_name == NULL && value != NULL) {
            error_detail_set(detail, "--%s takes no value", row->name);
            return ERR_INVALID_ARGUMENT;
        }
        if (row->value_name != NULL && value == NULL) {
            if (i + 1 == argc) {
                error_detail_set(detail, "--%s needs %s", row->name, row->value_name);
                return ERR_INVALID_ARGUMENT;
            }
            value = argv[++i];
        }
        enum err err = option_set(row, value, out, detail);
        if (err != ERR_OK) return err;
    }
    return config_check(out, detail);
}
