#include "quire/core/version.h"

#include <fmt/core.h>

#include "build_info.h"
#include "commit.h"

namespace quire {
namespace {

std::string processor_extensions() {
  std::string found;
#if defined(__x86_64__)
  // The builtin takes literals only.
#define QUIRE_ADD_IF_SUPPORTED(name) \
  if (__builtin_cpu_supports(name)) found += found.empty() ? name : " " name
  QUIRE_ADD_IF_SUPPORTED("sse4.2");
  QUIRE_ADD_IF_SUPPORTED("avx");
  QUIRE_ADD_IF_SUPPORTED("avx2");
  QUIRE_ADD_IF_SUPPORTED("fma");
  QUIRE_ADD_IF_SUPPORTED("avx512f");
  QUIRE_ADD_IF_SUPPORTED("avx512bw");
  QUIRE_ADD_IF_SUPPORTED("avx512vnni");
  QUIRE_ADD_IF_SUPPORTED("avx512bf16");
#undef QUIRE_ADD_IF_SUPPORTED
#endif
  return found.empty() ? "baseline" : found;
}

}  // namespace

std::string_view version() { return build::kVersion; }

BuildInfo build_info() {
  return {.version = build::kVersion,
          .commit = build::kCommit,
          .compiler = build::kCompiler,
          .type = build::kType,
          .libraries = build::kLibraries,
          .compiled_for = build::kCompiledFor,
          .processor = processor_extensions()};
}

std::string to_string(const BuildInfo& info) {
  return fmt::format(
      "version: {}\ncommit: {}\ncompiler: {}\nbuild type: {}\nlibraries: {}\n"
      "compiled for: {}\nprocessor: {}\n",
      info.version, info.commit, info.compiler, info.type, info.libraries,
      info.compiled_for, info.processor);
}

}  // namespace quire
