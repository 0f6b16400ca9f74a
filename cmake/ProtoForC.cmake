# Writes the copy of a .proto file that protoc-c generates from. The wire format is the same.
#
#  * Every string field is a bytes field: protobuf-c hands a string out as char *, so that its length,
#    and all behind an embedded NUL, is lost, and takes invalid UTF-8 as it comes. Our code checks the
#    bytes itself.
#  * Services are left out: protobuf-c makes a struct of them with one member for each method in lower
#    case, which for Register is a keyword of C; we use gRPC's own.
#
#   cmake -D IN=claims.proto -D OUT=copy/claims.proto -P ProtoForC.cmake
file(READ ${IN} text)
string(REGEX REPLACE "\n( *)(repeated |)string " "\n\\1\\2bytes " text "${text}")
string(REGEX REPLACE "\nservice [^{}]*{[^{}]*}" "" text "${text}")
file(WRITE ${OUT} "${text}")
