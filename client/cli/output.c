#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "value.h"

#define NUMBER_BYTES 24
#define HEX_BYTES_SHOWN 32

void output_init(struct output *out, enum output_format format) {
    memset(out, 0, sizeof *out);
    out->format = format;
    out->stack[0] = json_object();
    out->depth = 1;
    out->failed = out->stack[0] == NULL;
}

// Takes the value, which may be NULL for want of memory.
static void put(struct output *out, const char *key, json_t *take_value) {
    if (out->failed) {
        json_decref(take_value);
        return;
    }
    json_t *open = out->stack[out->depth - 1];
    out->failed = take_value == NULL || json_object_set_new(open, key, take_value) != 0;
}

static void put_string(struct output *out, const char *key, const char *text) {
    put(out, key, text != NULL ? json_string(text) : NULL);
}

void output_word(struct output *out, const char *key, const char *word) {
    put_string(out, key, word);
}

void output_text(struct output *out, const char *key, const char *text) {
    if (text == NULL || text[0] == '\0') return;
    json_t *exact = out->format == OUTPUT_JSON ? json_string(text) : NULL;
    if (exact != NULL) {
        put(out, key, exact);
        return;
    }
    // For a table; or not UTF-8, which no service stores.
    char *escaped = text_escape(text, strlen(text));
    put_string(out, key, escaped);
    free(escaped);
}

void output_u64(struct output *out, const char *key, uint64_t number) {
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put_string(out, key, text);
}

void output_u32(struct output *out, const char *key, uint32_t number) {
    if (out->format == OUTPUT_TABLE)
        output_u64(out, key, number);
    else
        put(out, key, json_integer(number));
}

void output_bool(struct output *out, const char *key, bool value) {
    if (out->format == OUTPUT_TABLE)
        put_string(out, key, value ? "true" : "false");
    else
        put(out, key, json_boolean(value));
}

void output_flag(struct output *out, const char *key, bool value) {
    if (value) output_bool(out, key, true);
}

void output_duration(struct output *out, const char *key, int64_t ms) {
    char text[VALUE_TEXT_BYTES];
    if (ms != CLAIMD_UNSET_MS) put_string(out, key, value_duration_text(ms, text));
}

void output_time(struct output *out, const char *key, int64_t ms) {
    char text[VALUE_TEXT_BYTES];
    if (ms != CLAIMD_UNSET_MS) put_string(out, key, value_time_text(ms, text));
}

void output_body(struct output *out, const char *key, struct claimd_bytes bytes) {
    if (bytes.data == NULL) return;
    char *text;
    if (out->format == OUTPUT_JSON)
        text = text_base64(bytes.data, bytes.size);
    else if (text_is_printable(bytes.data, bytes.size))
        text = text_copy(bytes.data, bytes.size);
    else
        text = text_hex_summary(bytes.data, bytes.size, HEX_BYTES_SHOWN);
    put_string(out, key, text);
    free(text);
}

void output_digest(struct output *out, const char *key, struct claimd_bytes bytes) {
    if (bytes.data == NULL) return;
    char *text = out->format == OUTPUT_JSON ? text_base64(bytes.data, bytes.size)
                                            : text_hex(bytes.data, bytes.size);
    put_string(out, key, text);
    free(text);
}

static void open_object(struct output *out, json_t *object) {
    if (object == NULL || out->depth == OUTPUT_DEPTH_MAX) {
        // Later values go to the object that is open, which is never shown.
        out->failed = true;
        object = out->stack[out->depth - 1];
        if (out->depth == OUTPUT_DEPTH_MAX) return;
    }
    out->stack[out->depth++] = object;
}

void output_open(struct output *out, const char *key) {
    json_t *object = json_object();
    put(out, key, object);
    open_object(out, out->failed ? NULL : object);
}

void output_open_item(struct output *out, const char *key) {
    json_t *parent = out->stack[out->depth - 1];
    json_t *list = json_object_get(parent, key);
    if (list == NULL) {
        list = json_array();
        put(out, key, list);
    }
    json_t *object = json_object();
    if (out->failed) {
        json_decref(object);
    } else {
        out->failed = json_array_append_new(list, object) != 0;
    }
    open_object(out, out->failed ? NULL : object);
}

void output_close(struct output *out) {
    if (out->depth <= 1) return;
    json_t *closed = out->stack[--out->depth];
    json_t *parent = out->stack[out->depth - 1];
    if (out->failed || json_object_size(closed) > 0) return;
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(parent, next, key, value) {
        if (value == closed) json_object_del(parent, key);
    }
}

// --- the table ----------------------------------------------------------------------------------

static size_t key_width(const json_t *object, size_t prefix) {
    size_t width = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t own = prefix + strlen(key);
        if (json_is_object(value)) own = key_width(value, own + 1);
        if (own > width) width = own;
    }
    return width;
}

static void write_item(const json_t *item, FILE *file) {
    const char *separator = "";
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)item, key, value) {
        fprintf(file, "%s%s=%s", separator, key, json_string_value(value));
        separator = "  ";
    }
    fputc('\n', file);
}

static void write_rows(const json_t *object, const char *prefix, int width, FILE *file) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, key);
        if (json_is_object(value)) {
            snprintf(name, sizeof name, "%s%s.", prefix, key);
            write_rows(value, name, width, file);
        } else if (json_is_array(value)) {
            size_t index;
            json_t *item;
            json_array_foreach(value, index, item) {
                fprintf(file, "%-*s  ", width, index == 0 ? name : "");
                write_item(item, file);
            }
        } else {
            fprintf(file, "%-*s  %s\n", width, name, json_string_value(value));
        }
    }
}

bool output_finish(struct output *out, FILE *file) {
    bool written = false;
    if (out->failed) {
        errno = ENOMEM;
    } else {
        if (out->format == OUTPUT_JSON) {
            if (json_dumpf(out->stack[0], file, JSON_COMPACT) != 0) out->failed = true;
            fputc('\n', file);
        } else {
            write_rows(out->stack[0], "", (int)key_width(out->stack[0], 0), file);
        }
        written = fflush(file) == 0 && !ferror(file) && !out->failed;
    }
    int saved = errno;
    json_decref(out->stack[0]);
    out->stack[0] = NULL;
    errno = saved;
    return written;
}
