# The libraries that claimd is built on, each as one imported target. Debian's packages of them are
# listed in script/bootstrap. Their headers are system headers: our warnings are not for them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(rocksdb REQUIRED IMPORTED_TARGET rocksdb)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(nettle REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)

# gRPC's pkg-config file names every library below the C core, which the shared libraries load by
# themselves; only the C core is linked.
find_path(CLAIMD_GRPC_INCLUDE grpc/grpc.h REQUIRED)
find_library(CLAIMD_GRPC_LIBRARY grpc REQUIRED)
find_library(CLAIMD_GPR_LIBRARY gpr REQUIRED)
add_library(claimd_grpc INTERFACE)
target_include_directories(claimd_grpc SYSTEM INTERFACE ${CLAIMD_GRPC_INCLUDE})
target_link_libraries(claimd_grpc INTERFACE ${CLAIMD_GRPC_LIBRARY} ${CLAIMD_GPR_LIBRARY})
