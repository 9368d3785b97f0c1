// What this build is: its version, what it was compiled with and for, and the
// commit it came from. The macros of "quire/version.h" are the headers'
// version, version() is the library's.
#pragma once

#include <string>
#include <string_view>

namespace quire {

// "MAJOR.MINOR.PATCH" of the library that is linked.
std::string_view version();

struct BuildInfo {
  std::string version;  // as version()
  std::string commit;   // "unknown" outside a git work tree; "-dirty" if edited
  std::string compiler;      // "GNU 12.2.0"
  std::string type;          // "Release"
  std::string libraries;     // "oneDNN 2.6.3, Eigen 3.4.0, ..."
  std::string compiled_for;  // the kernels' -march and its vector extensions
  std::string processor;     // the vector extensions that this machine has
};

BuildInfo build_info();
// One "name: value" line per field, the last one ended too.
std::string to_string(const BuildInfo& info);

}  // namespace quire
