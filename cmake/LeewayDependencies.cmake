# What the library and the program link. Every package is in Debian 12.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(absl REQUIRED)
find_package(TBB REQUIRED)

# Protobuf ships a CMake package from some vendors and only a find module from others.
find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  find_package(Protobuf MODULE REQUIRED)
endif()
