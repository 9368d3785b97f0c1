# quire::utf8proc, Unicode's normalization forms. Also part of the installed package.

if(NOT TARGET quire::utf8proc)
  find_path(QUIRE_UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
  find_library(QUIRE_UTF8PROC_LIBRARY utf8proc REQUIRED)
  mark_as_advanced(QUIRE_UTF8PROC_INCLUDE_DIR QUIRE_UTF8PROC_LIBRARY)
  add_library(quire::utf8proc UNKNOWN IMPORTED)
  set_target_properties(quire::utf8proc PROPERTIES IMPORTED_LOCATION "${QUIRE_UTF8PROC_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${QUIRE_UTF8PROC_INCLUDE_DIR}")
endif()
