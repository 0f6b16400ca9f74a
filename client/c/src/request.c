#include "request.h"

#include <string.h>

#include "error.h"

bool claimd__request_take(void *own, size_t own_size, const void *given,
                          struct claimd_error *error) {
    if (given == NULL) {
        claimd__error_argument(error, "request", "the request is NULL");
        return false;
    }
    size_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    // This is the first version, so the one size there has been is today's.
    if (given_size != own_size) {
        claimd__error_argument(error, "struct_size",
                               given_size < own_size
                                   ? "start the struct from its INIT macro"
                                   : "the struct is of a newer libclaimd than is loaded");
        return false;
    }
    memcpy(own, given, own_size);
    return true;
}
