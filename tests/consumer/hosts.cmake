# What a host does with an installed copy below ${WORK}/prefix. Reads the variables that
# CMakeLists.txt passes to the scripts.
include(${CMAKE_CURRENT_LIST_DIR}/run_step.cmake)

# build_and_run(SOURCE PROGRAM…): configures the project, builds it, runs its programs.
function(build_and_run source)
  list(GET ARGN 0 name)
  set(build ${WORK}/${name})
  run_step(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  run_step(${CMAKE_COMMAND} --build ${build} --config ${CONFIG})
  foreach(program IN LISTS ARGN)
    run_step(${build}/${program})
    message(STATUS "${step_output}")
  endforeach()
endfunction()

# uses_one_protobuf(PROGRAM…): nothing in the process may bind to the lite runtime where the full one
# is, which holds all of it; a shared Leeway loads the lite one still. In whatever order a host names
# our libraries.
function(uses_one_protobuf)
  set(ENV{LD_BIND_NOW} 1)
  set(ENV{LD_DEBUG} bindings)
  foreach(program IN LISTS ARGN)
    run_step(${program})
    if(NOT step_output MATCHES "binding file [^\n]* to [^\n ]*libprotobuf\\.so")
      message(FATAL_ERROR "${program}: the dynamic linker does not say what it binds")
    elseif(step_output MATCHES "binding file [^\n]* to [^\n ]*libprotobuf-lite[^\n]*")
      message(FATAL_ERROR "${program} uses both protobuf runtimes: ${CMAKE_MATCH_0}")
    endif()
  endforeach()
  unset(ENV{LD_BIND_NOW})
  unset(ENV{LD_DEBUG})
endfunction()

# Hosts on the full protobuf runtime: with leeway::text, and with generated code of their own.
function(use_with_full_protobuf)
  build_and_run(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/text text_consumer)
  build_and_run(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/emitter emitter emitter_with_text)
  uses_one_protobuf(${WORK}/text_consumer/text_consumer ${WORK}/emitter/emitter
    ${WORK}/emitter/emitter_with_text)
endfunction()
