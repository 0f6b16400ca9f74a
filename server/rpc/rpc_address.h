// Whether an address may be listened on without encryption.
#pragma once

#include <stdbool.h>

#include "base/error.h"

// ERR_INVALID_ARGUMENT unless the text is HOST:PORT, [V6]:PORT or unix:PATH and either every
// address that it stands for is loopback or allow_insecure is set. detail says what would be right.
MUST_CHECK enum err rpc_address_check(const char *address, bool allow_insecure,
                                      struct error_detail *detail);
