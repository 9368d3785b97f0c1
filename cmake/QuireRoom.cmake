# A room is a top-level folder and one static library of its sources (an interface library while it has none).
#
#   quire_room(NAME [ROOMS room...] [FOLDERS sub...] [PUBLIC lib...] [PRIVATE lib...] [HEADER_ONLY lib...])
#
# ROOMS are the rooms it may include, FOLDERS the sub-folders whose sources belong to it. PRIVATE libraries are linked
# and so needed by whoever links the room; HEADER_ONLY ones leave no trace outside its sources. Headers are reached as
# "quire/NAME/header.h" through one link per room under the build tree's include folder.

set(QUIRE_ROOM_TARGETS "")
set(QUIRE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${QUIRE_INCLUDE_DIR}/quire")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/quire.h" "${QUIRE_INCLUDE_DIR}/quire/quire.h" SYMBOLIC)

function(quire_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;FOLDERS;PUBLIC;PRIVATE;HEADER_ONLY" ${ARGN})
  set(patterns "${PROJECT_SOURCE_DIR}/${name}/*.cpp")
  foreach(folder IN LISTS ROOM_FOLDERS)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/${name}/${folder}/*.cpp")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${name}" "${QUIRE_INCLUDE_DIR}/quire/${name}" SYMBOLIC)

  set(target quire_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(${target} PRIVATE -Wall -Wextra)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    list(TRANSFORM ROOM_HEADER_ONLY REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
    target_link_libraries(${target} PRIVATE ${ROOM_PRIVATE} ${ROOM_HEADER_ONLY})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(quire::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${QUIRE_INCLUDE_DIR}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  list(TRANSFORM ROOM_ROOMS PREPEND quire_)
  target_link_libraries(${target} ${scope} ${ROOM_ROOMS} ${ROOM_PUBLIC})
  set(QUIRE_ROOM_TARGETS ${QUIRE_ROOM_TARGETS} ${target} PARENT_SCOPE)
endfunction()
