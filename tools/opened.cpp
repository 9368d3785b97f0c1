#include "tools/opened.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/core/error.h"

namespace quire::tools {
namespace {

namespace fs = std::filesystem;

bool has_steps(const std::string& folder) {
  return !checkpoint::list_steps(folder).empty();
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".safetensors")
      files.push_back(entry.path().string());
  }
  if (error) {
    throw UsageError(
        fmt::format("{} cannot be read: {}", folder, error.message()));
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool is_checkpoint_path(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return false;
  return checkpoint::is_step(path) || has_steps(path);
}

std::vector<std::string> safetensors_files(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return {path};
  if (!fs::exists(path, ignored))
    throw UsageError(
        fmt::format("{} does not exist; expected a checkpoint, a run's folder "
                    "or a safetensors file",
                    path));
  const auto files = files_in(path);
  if (files.empty()) {
    throw UsageError(fmt::format(
        "{} holds no step-NNNNNNNN, no {} and no .safetensors file; expected a "
        "checkpoint, a run's folder or a safetensors file",
        path, checkpoint::kManifestName));
  }
  return files;
}

}  // namespace quire::tools
