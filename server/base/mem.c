#include "base/mem.h"

#include <stdlib.h>

static bool (*mem_fault_hook)(void);

void mem_set_fault_hook(bool (*hook)(void)) { mem_fault_hook = hook; }

static bool mem_fails(void) { return mem_fault_hook != NULL && mem_fault_hook(); }

void *mem_alloc(size_t len) { return mem_fails() ? NULL : malloc(len == 0 ? 1 : len); }

void *mem_zalloc(size_t len) { return mem_fails() ? NULL : calloc(1, len == 0 ? 1 : len); }

void *mem_realloc(void *block, size_t len) {
    return mem_fails() ? NULL : realloc(block, len == 0 ? 1 : len);
}

void mem_free(void *block) { free(block); }
