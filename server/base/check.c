#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_fail(const char *condition, const char *file, int line) {
    fprintf(stderr, "claimd: bug: check failed: %s (%s:%d)\n", condition, file, line);
    abort();
}
