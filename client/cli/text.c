#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES_MAX 32

// The length of the well-formed UTF-8 character at the start of data, 0 if there is none.
static size_t char_length(const uint8_t *data, size_t size) {
    static const struct {
        uint8_t first_min, first_max, second_min, second_max;
        size_t length;
    } forms[] = {
        // Unicode's table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
        {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (data[0] < forms[i].first_min || data[0] > forms[i].first_max) continue;
        if (forms[i].length > size) return 0;
        if (forms[i].length > 1 &&
            (data[1] < forms[i].second_min || data[1] > forms[i].second_max)) {
            return 0;
        }
        for (size_t at = 2; at < forms[i].length; at++) {
            if ((data[at] & 0xC0) != 0x80) return 0;
        }
        return forms[i].length;
    }
    return 0;
}

// C0, DEL, and C1, which some terminals obey although it comes as two bytes of UTF-8.
static bool is_control(const uint8_t *data, size_t length) {
    return (length == 1 && (data[0] < 0x20 || data[0] == 0x7F)) ||
           (length == 2 && data[0] == 0xC2 && data[1] < 0xA0);
}

bool text_is_printable(const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t at = 0; at < size;) {
        size_t length = char_length(bytes + at, size - at);
        if (length == 0) return false;
        if (is_control(bytes + at, length) && bytes[at] != '\n' && bytes[at] != '\t') return false;
        at += length;
    }
    return true;
}

char *text_copy(const void *data, size_t size) {
    char *copy = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (copy == NULL) return NULL;
    if (size > 0) memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

static char *put_hex(char *out, uint8_t byte) {
    static const char digits[] = "0123456789abcdef";
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
    return out;
}

char *text_escape(const void *data, size_t size) {
    const uint8_t *bytes = data;
    char *text = size < SIZE_MAX / 4 ? malloc(size * 4 + 1) : NULL;
    if (text == NULL) return NULL;
    char *out = text;
    for (size_t at = 0; at < size;) {
        size_t length = char_length(bytes + at, size - at);
        if (length > 0 && !is_control(bytes + at, length)) {
            memcpy(out, bytes + at, length);
            out += length;
            at += length;
        } else {
            *out++ = '\\';
            *out++ = 'x';
            out = put_hex(out, bytes[at++]);
        }
    }
    *out = '\0';
    return text;
}

char *text_base64(const void *data, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *bytes = data;
    char *text = size < SIZE_MAX / 2 ? malloc((size + 2) / 3 * 4 + 1) : NULL;
    if (text == NULL) return NULL;
    char *out = text;
    for (size_t at = 0; at < size; at += 3) {
        size_t left = size - at;
        uint32_t group = (uint32_t)bytes[at] << 16 | (left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)bytes[at + 2] : 0);
        *out++ = digits[group >> 18];
        *out++ = digits[group >> 12 & 63];
        *out++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[group & 63] : '=';
    }
    *out = '\0';
    return text;
}

char *text_hex(const void *data, size_t size) {
    const uint8_t *bytes = data;
    char *text = size < SIZE_MAX / 2 ? malloc(size * 2 + 1) : NULL;
    if (text == NULL) return NULL;
    char *out = text;
    for (size_t at = 0; at < size; at++) out = put_hex(out, bytes[at]);
    *out = '\0';
    return text;
}

char *text_hex_summary(const void *data, size_t size, size_t shown) {
    char *hex = text_hex(data, size < shown ? size : shown);
    size_t room = shown * 2 + 64;
    char *text = hex != NULL ? malloc(room) : NULL;
    if (text != NULL) {
        snprintf(text, room, "%zu bytes: %s%s", size, hex, size > shown ? "..." : "");
    }
    free(hex);
    return text;
}

size_t text_distance(const char *a, const char *b) {
    size_t row[WORD_BYTES_MAX + 1];
    size_t length = strnlen(b, WORD_BYTES_MAX);
    for (size_t i = 0; i <= length; i++) row[i] = i;
    for (size_t at = 0; at < WORD_BYTES_MAX && a[at] != '\0'; at++) {
        size_t diagonal = row[0];
        row[0] = at + 1;
        for (size_t i = 0; i < length; i++) {
            size_t best = diagonal + (a[at] == b[i] ? 0 : 1);
            diagonal = row[i + 1];
            if (diagonal + 1 < best) best = diagonal + 1;
            if (row[i] + 1 < best) best = row[i] + 1;
            row[i + 1] = best;
        }
    }
    return row[length];
}
