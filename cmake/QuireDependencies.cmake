# What Quire is built from. QUIRE_LIBRARIES names the versions for quire::build_info().

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

# Two folders of kernels/ compute matrix products, with a library each; QUIRE_OTHER_PRODUCTS is the one to leave out.
if(QUIRE_ENABLE_ONEDNN)
  find_package(DNNL REQUIRED)
  set(QUIRE_OTHER_PRODUCTS eigen)
  set(QUIRE_PRODUCTS_LIBRARY DNNL::dnnl)
  set(products_version "oneDNN ${DNNL_VERSION}")
else()
  find_package(Eigen3 REQUIRED NO_MODULE)
  set(QUIRE_OTHER_PRODUCTS onednn)
  set(QUIRE_PRODUCTS_HEADERS Eigen3::Eigen)
  set(products_version "Eigen ${Eigen3_VERSION}")
endif()

# Compiled into the sources that include it: there is no library to link.
find_path(QUIRE_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
mark_as_advanced(QUIRE_XXHASH_INCLUDE_DIR)
add_library(quire_xxhash INTERFACE)
add_library(quire::xxhash ALIAS quire_xxhash)
target_include_directories(quire_xxhash INTERFACE "${QUIRE_XXHASH_INCLUDE_DIR}")
target_compile_definitions(quire_xxhash INTERFACE "XXH_INLINE_ALL=")

set(xxhash_version "")
file(STRINGS "${QUIRE_XXHASH_INCLUDE_DIR}/xxhash.h" lines REGEX "#define XXH_VERSION_(MAJOR|MINOR|RELEASE) ")
foreach(line IN LISTS lines)
  string(REGEX MATCH "[0-9]+" number "${line}")
  list(APPEND xxhash_version ${number})
endforeach()
list(JOIN xxhash_version "." xxhash_version)

set(QUIRE_LIBRARIES
    "${products_version}, nlohmann_json ${nlohmann_json_VERSION}, fmt ${fmt_VERSION}, xxHash ${xxhash_version}")
