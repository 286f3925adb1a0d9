# What `cmake --install` puts where: libraries, program, public headers, schemas, and what lets
# others find them (a CMake package with the component "text", and a pkg-config file).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/leeway)

install(TARGETS leeway EXPORT leewayTargets)
install(EXPORT leewayTargets NAMESPACE leeway:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/leeway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
# Compilers generate code of their own from these.
set(LEEWAY_PROTO_DIR ${CMAKE_INSTALL_DATADIR}/leeway/proto)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/plans/schema/leeway
        DESTINATION ${LEEWAY_PROTO_DIR} FILES_MATCHING PATTERN "*.proto")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(installed_libraries leeway)
if(TARGET leeway_text_library)
  list(APPEND installed_libraries leeway_text_library)
  install(TARGETS leeway_text_library EXPORT leewayTextTargets)
  install(EXPORT leewayTextTargets NAMESPACE leeway:: DESTINATION ${package_dir})
endif()
if(TARGET leeway_cli)
  install(TARGETS leeway_cli)
endif()

# Prints into `out` which of our dependencies a library links: absl::strings gives absl.
function(leeway_packages_of target out)
  get_target_property(links ${target} LINK_LIBRARIES)
  set(packages "")
  foreach(link IN LISTS links)
    if(link MATCHES "^([A-Za-z]+)::")
      list(APPEND packages ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  list(REMOVE_ITEM packages protobuf)
  set(${out} "${packages}" PARENT_SCOPE)
endfunction()

leeway_packages_of(leeway LEEWAY_PACKAGES)
set(LEEWAY_TEXT_PACKAGES "")
if(TARGET leeway_text_library)
  leeway_packages_of(leeway_text_library LEEWAY_TEXT_PACKAGES)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/leewayConfig.cmake.in
  ${PROJECT_BINARY_DIR}/leewayConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS LEEWAY_PROTO_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/leewayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/leewayConfig.cmake
              ${PROJECT_BINARY_DIR}/leewayConfigVersion.cmake
        DESTINATION ${package_dir})

# pkg-config names of what is linked; a program needs them on its line if Leeway is an archive.
function(leeway_pkgconfig_requires out)
  get_target_property(links leeway LINK_LIBRARIES)
  set(names "")
  foreach(link IN LISTS links)
    if(link MATCHES "^absl::(.*)$")
      list(APPEND names absl_${CMAKE_MATCH_1})
    elseif(link STREQUAL "ZLIB::ZLIB")
      list(APPEND names zlib)
    elseif(link STREQUAL "TBB::tbb")
      list(APPEND names tbb)
    elseif(link STREQUAL "protobuf::libprotobuf-lite")
      list(APPEND names protobuf-lite)
    endif()
  endforeach()
  list(JOIN names ", " joined)
  set(${out} "${joined}" PARENT_SCOPE)
endfunction()

leeway_pkgconfig_requires(requires)
if(BUILD_SHARED_LIBS)
  set(LEEWAY_PC_DEPENDENCIES "Requires.private: ${requires}")
else()
  set(LEEWAY_PC_DEPENDENCIES "Requires: ${requires}")
endif()
# Relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH LEEWAY_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" LEEWAY_PC_PREFIX "${LEEWAY_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/leeway.pc.in ${PROJECT_BINARY_DIR}/leeway.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/leeway.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
