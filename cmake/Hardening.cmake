# Hardening of every object and executable: what the compiler at hand supports.
include(CheckCCompilerFlag)
include(CheckPIESupported)

check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "CLAIMD_HAS${flag}" supported)
  check_c_compiler_flag(${flag} ${supported})
  if(${supported})
    add_compile_options(${flag})
  endif()
endforeach()

# Fortify needs optimisation, and hides accesses from the sanitizers.
if(NOT CLAIMD_SANITIZE AND NOT CLAIMD_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
