# Run at build time: writes OUTPUT, a header with the commit of SOURCE, and leaves
# it alone if nothing changed. Only SOURCE's own repository counts, not one around it.

function(quire_git result)
  execute_process(COMMAND git --no-optional-locks -C "${SOURCE}" ${ARGN}
                  OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(commit "unknown")
quire_git(top rev-parse --show-toplevel)
file(REAL_PATH "${SOURCE}" source)
if(top STREQUAL source)
  quire_git(described describe --always --dirty --abbrev=12 --exclude=*)
  if(described)
    set(commit "${described}")
  endif()
endif()

file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#pragma once

namespace quire::build {

inline constexpr char kCommit[] = "@commit@";

}  // namespace quire::build
]])
