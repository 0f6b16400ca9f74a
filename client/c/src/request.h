// How a public request struct is read: by the size that its caller was compiled with.
#pragma once

#include <claimd.h>

// Copies a caller's struct over one that its INIT macro has filled in, as far as the caller's
// version goes. Every such struct begins with size_t struct_size. False, and the error is set, if
// given is NULL, was not started from its INIT macro, or is of a newer version than this library:
// what it may ask for would be ignored.
bool claimd__request_take(void *own, size_t own_size, const void *given,
                          struct claimd_error *error);
