# The warnings that our own code is held to, as errors. Generated and external code is not.
add_library(claimd_warnings INTERFACE)
target_compile_options(claimd_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -Wformat=2 -Wundef -Wswitch-enum -Wcast-qual -Wpointer-arith -Wimplicit-fallthrough
  -Werror)
