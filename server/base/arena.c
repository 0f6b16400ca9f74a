#include "base/arena.h"

#include <string.h>

#include "base/mem.h"

#define ARENA_BLOCK_BYTES 4096
#define ARENA_ALIGN 16

struct arena_block {
    struct arena_block *next;
    size_t cap;
    size_t used;
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

static void arena_free_from(struct arena_block *block) {
    while (block != NULL) {
        struct arena_block *next = block->next;
        mem_free(block);
        block = next;
    }
}

void arena_deinit(struct arena *arena) {
    arena_free_from(arena->first);
    *arena = (struct arena){0};
}

void arena_reset(struct arena *arena) {
    if (arena->first == NULL) return;
    // Only the first block stays: a call with a large body must not pin its memory for ever.
    arena_free_from(arena->first->next);
    arena->first->next = NULL;
    if (arena->first->cap > ARENA_BLOCK_BYTES) {
        arena_deinit(arena);
        return;
    }
    arena->first->used = 0;
    arena->last = arena->first;
}

static struct arena_block *arena_grow(struct arena *arena, size_t len) {
    size_t cap = len > ARENA_BLOCK_BYTES ? len : ARENA_BLOCK_BYTES;
    if (cap > SIZE_MAX - sizeof(struct arena_block)) return NULL;
    struct arena_block *block = mem_alloc(sizeof *block + cap);
    if (block == NULL) return NULL;
    block->next = NULL;
    block->cap = cap;
    block->used = 0;
    if (arena->last == NULL) {
        arena->first = block;
    } else {
        arena->last->next = block;
    }
    arena->last = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t len) {
    if (len > SIZE_MAX - ARENA_ALIGN) return NULL;
    len = (len + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct arena_block *block = arena->last;
    if (block == NULL || block->cap - block->used < len) block = arena_grow(arena, len);
    if (block == NULL) return NULL;
    void *memory = block->data + block->used;
    block->used += len;
    return memory;
}

enum err arena_copy(struct arena *arena, struct bytes bytes, struct bytes *out) {
    if (bytes.len == 0) {
        *out = (struct bytes){0};
        return ERR_OK;
    }
    uint8_t *copy = arena_alloc(arena, bytes.len);
    if (copy == NULL) return ERR_NO_MEMORY;
    memcpy(copy, bytes.data, bytes.len);
    *out = (struct bytes){copy, bytes.len};
    return ERR_OK;
}
