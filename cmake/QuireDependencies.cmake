# What Quire is built from. QUIRE_LIBRARIES names the versions for quire::build_info().

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
include(cmake/QuirePcre2.cmake)
include(cmake/QuireUtf8proc.cmake)

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

# The numbers of #define PREFIX_MAJOR, PREFIX_MINOR and so on in a header, joined by points.
function(quire_header_version result header prefix)
  file(STRINGS "${header}" lines REGEX "#define ${prefix}_(MAJOR|MINOR|RELEASE|PATCH) ")
  list(TRANSFORM lines REPLACE ".*[^0-9]([0-9]+)[^0-9]*$" "\\1")
  list(JOIN lines "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()
quire_header_version(xxhash_version "${QUIRE_XXHASH_INCLUDE_DIR}/xxhash.h" XXH_VERSION)
quire_header_version(pcre2_version "${QUIRE_PCRE2_INCLUDE_DIR}/pcre2.h" PCRE2)
quire_header_version(utf8proc_version "${QUIRE_UTF8PROC_INCLUDE_DIR}/utf8proc.h" UTF8PROC_VERSION)

string(JOIN ", " QUIRE_LIBRARIES "${products_version}" "nlohmann_json ${nlohmann_json_VERSION}" "fmt ${fmt_VERSION}"
       "xxHash ${xxhash_version}" "PCRE2 ${pcre2_version}" "utf8proc ${utf8proc_version}")
