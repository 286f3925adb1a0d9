# Configures a host that takes Leeway's sources in, and compiles what it includes.
include(${CMAKE_CURRENT_LIST_DIR}/run_step.cmake)

file(REMOVE_RECURSE ${WORK})
run_step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subproject -B ${WORK} -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${CXX} -DLEEWAY_SOURCE=${SOURCE})
if(GENERATOR MATCHES "Ninja")
  run_step(${CMAKE_COMMAND} --build ${WORK} --target CMakeFiles/host.dir/host.cc.o)
endif()
