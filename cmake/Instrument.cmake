# The builds that look for bugs rather than serve: sanitizers and coverage.
if(CLAIMD_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(CLAIMD_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(CLAIMD_SANITIZE)
  message(FATAL_ERROR "CLAIMD_SANITIZE is '${CLAIMD_SANITIZE}': must be address or thread")
endif()
if(CLAIMD_SANITIZE)
  # -O1 keeps stacks readable; the last -O wins over the build type's.
  add_compile_options(${sanitizers} -O1 -fno-omit-frame-pointer)
  add_link_options(${sanitizers})
endif()

# Only the server's code is measured; the tests themselves keep their speed.
add_library(claimd_coverage INTERFACE)
if(CLAIMD_COVERAGE)
  target_compile_options(claimd_coverage INTERFACE --coverage -O0)
  add_link_options(--coverage)
endif()
