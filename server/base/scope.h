// Scope cleanup.
//
//   SCOPE_BUF struct buf key = {0};      freed at the end of the scope
#pragma once

#include "base/bytes.h"

#define SCOPE_BUF __attribute__((cleanup(buf_deinit)))
