# "quire/version.h", and what quire_core needs for quire::build_info().

configure_file(cmake/version.h.in "${QUIRE_INCLUDE_DIR}/quire/version.h" @ONLY)

set(generated "${PROJECT_BINARY_DIR}/generated")
configure_file(cmake/build_info.h.in "${generated}/build_info.h" @ONLY)
add_custom_target(quire_commit
  COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${generated}/commit.h"
          -P "${PROJECT_SOURCE_DIR}/cmake/QuireCommit.cmake"
  BYPRODUCTS "${generated}/commit.h"
  COMMENT "Looking up the commit")
add_dependencies(quire_core quire_commit)
target_include_directories(quire_core PRIVATE "${generated}")
