# quire::pcre2, the 8-bit library of PCRE2. Also part of the installed package.

if(NOT TARGET quire::pcre2)
  find_path(QUIRE_PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
  find_library(QUIRE_PCRE2_LIBRARY pcre2-8 REQUIRED)
  mark_as_advanced(QUIRE_PCRE2_INCLUDE_DIR QUIRE_PCRE2_LIBRARY)
  add_library(quire::pcre2 UNKNOWN IMPORTED)
  set_target_properties(quire::pcre2 PROPERTIES IMPORTED_LOCATION "${QUIRE_PCRE2_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${QUIRE_PCRE2_INCLUDE_DIR}"
                        INTERFACE_COMPILE_DEFINITIONS PCRE2_CODE_UNIT_WIDTH=8)
endif()
