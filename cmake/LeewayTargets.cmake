# Functions that make our targets. Flags go on our own targets only.

function(leeway_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  # An archive must not leak into what the host exports. A shared library needs its public symbols
  # visible: leeway.map then hides all others.
  if(NOT BUILD_SHARED_LIBS)
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON)
  endif()
  # Contraction to fused multiply-add would make results depend on the CPU.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(NOT ARGV1 STREQUAL "GENERATED")
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(${target} PRIVATE -Wthread-safety)
    elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # It sees overlaps in "literal" + std::string that are not there (gcc bug 105651).
      target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    if(LEEWAY_WERROR)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  endif()
  if(LEEWAY_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LEEWAY_SANITIZE}
      -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${LEEWAY_SANITIZE})
  endif()
endfunction()

# leeway_module(NAME SOURCES … [DEPENDS module…] [LINK target…])
#
# One module of lib/: an object library that goes into leeway::leeway, and an archive that tests
# of the module link, so that a module's tests build without the modules above it.
function(leeway_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  set(objects leeway_${name}_objects)
  add_library(${objects} OBJECT ${ARG_SOURCES})
  leeway_target_defaults(${objects})
  set_target_properties(${objects} PROPERTIES
    UNITY_BUILD ${LEEWAY_UNITY}
    UNITY_BUILD_BATCH_SIZE 16)
  target_include_directories(${objects} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${objects} PUBLIC ${ARG_LINK})

  add_library(leeway_${name} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${objects}>)
  set_target_properties(leeway_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_compile_features(leeway_${name} PUBLIC cxx_std_20)
  target_include_directories(leeway_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${PROJECT_BINARY_DIR}/include)
  list(TRANSFORM ARG_DEPENDS PREPEND leeway_ OUTPUT_VARIABLE archives)
  target_link_libraries(leeway_${name} PUBLIC ${archives} ${ARG_LINK})
  if(LEEWAY_SANITIZE)
    target_link_options(leeway_${name} PUBLIC -fsanitize=${LEEWAY_SANITIZE})
  endif()
  set_property(GLOBAL APPEND PROPERTY LEEWAY_MODULES ${name})
endfunction()

# leeway_tests(MODULE FILES … [LINK target…])
#
# One test program a module. Configuring fails on a *_test.cc that is not listed: a test that is
# not built is worse than none.
function(leeway_tests module)
  cmake_parse_arguments(ARG "" "" "FILES;SUPPORT;LINK" ${ARGN})
  file(GLOB present RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *_test.cc)
  foreach(file IN LISTS present)
    if(NOT file IN_LIST ARG_FILES)
      message(FATAL_ERROR "tests/${module}/${file} is not listed in its CMakeLists.txt")
    endif()
  endforeach()
  set(target leeway_${module}_tests)
  add_executable(${target} ${ARG_FILES} ${ARG_SUPPORT})
  leeway_target_defaults(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_LINK} leeway_catch)
  target_compile_definitions(${target} PRIVATE LEEWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  catch_discover_tests(${target} TEST_PREFIX "${module}: " PROPERTIES LABELS ${module})
endfunction()
