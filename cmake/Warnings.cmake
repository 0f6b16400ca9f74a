# The warnings that our own code is held to, as errors. Generated and external code is not.
add_library(claimd_warnings INTERFACE)
target_compile_options(claimd_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -Wformat=2 -Wundef -Wswitch-enum -Wcast-qual -Wpointer-arith -Wimplicit-fallthrough)
# What the sanitizers add to the code misleads gcc's analysis of values; the plain build has judged it.
if(NOT CLAIMD_SANITIZE)
  target_compile_options(claimd_warnings INTERFACE -Werror)
endif()
