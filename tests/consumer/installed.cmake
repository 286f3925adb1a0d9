# Installs the build, moves it, and uses it as a stranger would: examples/ by find_package, a program
# of both libraries, and a compiler called with what pkg-config says.
include(${CMAKE_CURRENT_LIST_DIR}/run_step.cmake)

file(REMOVE_RECURSE ${WORK})
run_step(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/staged)
# An installed tree does not remember where it was.
file(RENAME ${WORK}/staged ${WORK}/prefix)

function(build_and_run source program)
  set(build ${WORK}/${program})
  run_step(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  run_step(${CMAKE_COMMAND} --build ${build} --config ${CONFIG})
  run_step(${build}/${program})
  message(STATUS "${step_output}")
endfunction()

build_and_run(${SOURCE}/examples quickstart_compiler)
if(TEXT)
  build_and_run(${CMAKE_CURRENT_LIST_DIR}/text text_consumer)
  # One process must not load two protobuf runtimes, in whatever order our libraries are named.
  run_step(ldd ${WORK}/text_consumer/text_consumer)
  if(step_output MATCHES "libprotobuf-lite")
    message(FATAL_ERROR "a program of leeway::text loads both protobuf runtimes:\n${step_output}")
  endif()
endif()

if(NOT EXISTS ${WORK}/prefix/share/leeway/proto/leeway/plan/v1alpha/plan.proto)
  message(FATAL_ERROR "no schemas below ${WORK}/prefix/share/leeway/proto")
endif()

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE pc ${WORK}/prefix/leeway.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  run_step(${pkg_config} --cflags --libs leeway)
  separate_arguments(flags UNIX_COMMAND "${step_output}")
  run_step(${CXX} -std=c++20 ${SOURCE}/examples/quickstart_compiler.cc ${flags}
    -Wl,-rpath,${pc_folder}/.. -o ${WORK}/quickstart_by_pkg_config)
  run_step(${WORK}/quickstart_by_pkg_config)
endif()
