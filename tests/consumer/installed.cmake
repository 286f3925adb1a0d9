# Installs the build, moves it, and uses it as a stranger would: examples/ by find_package, programs on
# the full protobuf runtime, and a compiler called with what pkg-config says.
include(${CMAKE_CURRENT_LIST_DIR}/hosts.cmake)

file(REMOVE_RECURSE ${WORK})
run_step(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/staged)
# An installed tree does not remember where it was.
file(RENAME ${WORK}/staged ${WORK}/prefix)

build_and_run(${SOURCE}/examples quickstart_compiler)
if(TEXT)
  use_with_full_protobuf()
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
  run_step(${pkg_config} --variable=protodir leeway)
  string(STRIP "${step_output}" protos)
  file(GLOB schemas ${protos}/leeway/plan/*/plan.proto)
  if(NOT schemas)
    message(FATAL_ERROR "no schema of plans below ${protos}")
  endif()
endif()
