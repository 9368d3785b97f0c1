# GPT-2's merges become a string of quire_data, so that no file has to be found at run time.

set(merges_file "${PROJECT_SOURCE_DIR}/data/gpt2/merges.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${merges_file}")
file(READ "${merges_file}" gpt2_merges)
configure_file(cmake/gpt2_merges.cpp.in "${PROJECT_BINARY_DIR}/generated/gpt2_merges.cpp" @ONLY)
target_sources(quire_data PRIVATE "${PROJECT_BINARY_DIR}/generated/gpt2_merges.cpp")
