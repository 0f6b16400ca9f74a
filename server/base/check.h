// Assertions that stay on in release builds.
//
// A failed CHECK is a bug in claimd: it prints where and aborts. Never CHECK bytes that came from
// the network or the disk; those are ERR_CORRUPT or an invalid argument.
#pragma once

#include <stddef.h>

// Prints the failed condition with its place to stderr and aborts.
_Noreturn void check_fail(const char *condition, const char *file, int line);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) check_fail(#condition, __FILE__, __LINE__);         \
    } while (0)

// The enclosing structure of a member that is embedded in it.
#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
