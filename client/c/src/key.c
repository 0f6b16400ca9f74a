#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <claimd.h>

// The part, encoded, at out (nothing is written if out is NULL); returns its length.
static size_t part_encode(const char *part, char *out) {
    size_t length = 0;
    for (; *part != '\0'; part++) {
        const char *code = *part == '%' ? "%25" : *part == ':' ? "%3A" : NULL;
        size_t size = code != NULL ? 3 : 1;
        if (out != NULL) memcpy(out + length, code != NULL ? code : part, size);
        length += size;
    }
    return length;
}

char *claimd_key_join(const char *const *parts, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i] == NULL)
            count = 0;
        else
            size += part_encode(parts[i], NULL) + 1; // a colon behind each, the last one the NUL's
    }
    if (count == 0) {
        errno = EINVAL;
        return NULL;
    }
    char *key = malloc(size);
    if (key == NULL) return NULL;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) key[used++] = ':';
        used += part_encode(parts[i], key + used);
    }
    key[used] = '\0';
    return key;
}

void claimd_free(void *memory) { free(memory); }
