# Builds Leeway as shared libraries, unoptimised because only linking is in question, and uses them from
# hosts on the full protobuf runtime. The build stays, so that the next run compiles what changed.
include(${CMAKE_CURRENT_LIST_DIR}/hosts.cmake)

file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/text_consumer ${WORK}/emitter)
run_step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
  -DBUILD_SHARED_LIBS=ON -DLEEWAY_UNITY=ON -DLEEWAY_BUILD_CLI=OFF -DLEEWAY_BUILD_TESTS=OFF)
run_step(${CMAKE_COMMAND} --build ${WORK}/build)
run_step(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
use_with_full_protobuf()

# What is exported is the public API: nothing that a host's own copy of anything could meet.
file(GLOB_RECURSE library ${WORK}/prefix/libleeway.so)
run_step(nm --dynamic --defined-only --demangle ${library})
if(NOT step_output MATCHES "leeway::v0::Plan::Parse")
  message(FATAL_ERROR "${library} does not export the public API:\n${step_output}")
endif()
string(REGEX REPLACE "[^\n]*leeway::v0::[^\n]*\n" "" others "${step_output}")
if(others)
  message(FATAL_ERROR "${library} exports more than leeway::v0:\n${others}")
endif()
