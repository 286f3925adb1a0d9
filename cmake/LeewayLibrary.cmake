# Puts the modules of lib/ together into what is installed:
#
#   leeway::leeway   every module but text and cli; static unless BUILD_SHARED_LIBS
#   leeway::text     the textproto and JSON forms; brings the full protobuf runtime
get_property(modules GLOBAL PROPERTY LEEWAY_MODULES)
list(REMOVE_DUPLICATES modules)

# leeway_library(TARGET module…)
function(leeway_library target)
  set(objects "")
  set(links "")
  foreach(module IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:leeway_${module}_objects>)
    get_target_property(module_links leeway_${module}_objects LINK_LIBRARIES)
    if(module_links)
      list(APPEND links ${module_links})
    endif()
  endforeach()
  # What modules link of ours is among the objects.
  list(FILTER links EXCLUDE REGEX "^leeway_")
  list(REMOVE_DUPLICATES links)

  add_library(${target} ${objects})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE ${links})
  if(LEEWAY_SANITIZE)
    target_link_options(${target} PUBLIC -fsanitize=${LEEWAY_SANITIZE})
  endif()
  if(BUILD_SHARED_LIBS AND NOT APPLE)
    set(script ${PROJECT_SOURCE_DIR}/cmake/leeway.map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${script})
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${script})
  endif()
endfunction()

set(core ${modules})
list(REMOVE_ITEM core text cli)
leeway_library(leeway ${core})
add_library(leeway::leeway ALIAS leeway)

# The module's own archive has the name leeway_text.
if(TARGET leeway_text_objects)
  set(text_modules text)
  if(BUILD_SHARED_LIBS)
    # A shared leeway exports its public API only, which base is not.
    list(APPEND text_modules base)
  endif()
  leeway_library(leeway_text_library ${text_modules})
  add_library(leeway::text ALIAS leeway_text_library)
  set_target_properties(leeway_text_library PROPERTIES OUTPUT_NAME leeway_text EXPORT_NAME text)
  target_link_libraries(leeway_text_library PUBLIC leeway)
  # The full protobuf runtime holds the lite one. Named first, it leaves nothing for the lite one to
  # resolve, in whatever order a program names our libraries, and the linker drops that: a process
  # loads one of the two.
  target_link_options(leeway_text_library INTERFACE
    -Wl,--no-as-needed,$<TARGET_FILE:protobuf::libprotobuf>,--as-needed)
endif()
