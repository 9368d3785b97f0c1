# Libraries, public headers (those in a room's own folder, and of a sub-folder the one that has its name), the CMake
# package and quire.pc. All of it may be moved to another prefix.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quire")

install(TARGETS ${QUIRE_ROOM_TARGETS} quire EXPORT quireTargets)
install(EXPORT quireTargets NAMESPACE quire:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/quireConfig.cmake.in "${PROJECT_BINARY_DIR}/quireConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/quireConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/quireConfig.cmake" "${PROJECT_BINARY_DIR}/quireConfigVersion.cmake"
        cmake/QuirePcre2.cmake cmake/QuireUtf8proc.cmake DESTINATION "${package_dir}")

foreach(target IN LISTS QUIRE_ROOM_TARGETS)
  string(REPLACE "quire_" "" room "${target}")
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room}/*.h")
  install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quire/${room}")
  file(GLOB inner CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room}/*/*.h")
  foreach(header IN LISTS inner)
    cmake_path(GET header STEM name)
    cmake_path(GET header PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    if(name STREQUAL folder)
      install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quire/${room}/${folder}")
    endif()
  endforeach()
endforeach()
install(FILES quire.h "${QUIRE_INCLUDE_DIR}/quire/version.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quire")
install(FILES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# A static library comes after those that use it.
set(pc_libraries "")
foreach(target IN LISTS QUIRE_ROOM_TARGETS)
  string(PREPEND pc_libraries "-l${target} ")
endforeach()
string(STRIP "${pc_libraries}" pc_libraries)
set(pc_products "")
if(QUIRE_ENABLE_ONEDNN)
  set(pc_products "-ldnnl ")
endif()
file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file(cmake/quire.pc.in "${PROJECT_BINARY_DIR}/quire.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/quire.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
