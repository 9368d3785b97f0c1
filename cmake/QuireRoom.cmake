# A room is a top-level folder and one static library of its sources.
#
#   quire_room(NAME [ROOMS room...] [WITHOUT sub...] [PUBLIC lib...] [PRIVATE lib...] [HEADER_ONLY lib...])
#
# ROOMS are the rooms it may include, WITHOUT the sub-folders whose sources are left out. PRIVATE libraries are linked
# and so needed by whoever links the room, fmt always; HEADER_ONLY ones leave no trace outside its sources. Headers are
# reached as "quire/NAME/header.h" through one link per room under the build tree's include folder.

set(QUIRE_ROOM_TARGETS "")
set(QUIRE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${QUIRE_INCLUDE_DIR}/quire")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/quire.h" "${QUIRE_INCLUDE_DIR}/quire/quire.h" SYMBOLIC)

function(quire_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;WITHOUT;PUBLIC;PRIVATE;HEADER_ONLY" ${ARGN})
  set(folder "${PROJECT_SOURCE_DIR}/${name}")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*/*.cpp")
  foreach(without IN LISTS ROOM_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "/${name}/${without}/")
  endforeach()
  file(CREATE_LINK "${folder}" "${QUIRE_INCLUDE_DIR}/quire/${name}" SYMBOLIC)

  set(target quire_${name})
  add_library(${target} STATIC ${sources})
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  add_library(quire::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${QUIRE_INCLUDE_DIR}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  list(TRANSFORM ROOM_ROOMS PREPEND quire_)
  list(TRANSFORM ROOM_HEADER_ONLY REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(${target} PUBLIC ${ROOM_ROOMS} ${ROOM_PUBLIC}
                        PRIVATE fmt::fmt ${ROOM_PRIVATE} ${ROOM_HEADER_ONLY})
  set(QUIRE_ROOM_TARGETS ${QUIRE_ROOM_TARGETS} ${target} PARENT_SCOPE)
endfunction()
