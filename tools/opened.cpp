#include "tools/opened.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/convert/weights.h"
#include "quire/core/error.h"

namespace quire::tools {
namespace {

namespace fs = std::filesystem;

// By its name, or by the brace behind the length of its header.
bool is_safetensors(const std::string& path) {
  char brace = 0;
  std::ifstream(path, std::ios::binary).seekg(8).get(brace);
  return path.ends_with(".safetensors") || brace == '{';
}

std::vector<std::string> safetensors_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".safetensors")
      names.push_back(entry.path().filename().string());
  }
  if (error) {
    throw UsageError(
        fmt::format("{} cannot be read: {}", folder, error.message()));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> files_in(const std::string& folder) {
  const auto all = safetensors_names(folder);
  const auto chosen = convert::weight_file_names(folder);
  std::vector<std::string> files;
  for (const std::string& name : chosen.empty() ? all : chosen)
    files.push_back((fs::path(folder) / name).string());
  return files;
}

}  // namespace

bool is_checkpoint_path(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return false;
  return checkpoint::is_step(path) || checkpoint::newest_step(path);
}

bool is_llmc_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || is_safetensors(path)) return false;
  const convert::Format format = convert::format_of(path);
  if (format == convert::Format::kGguf) convert::open_weights(path);  // refuses
  return format == convert::Format::kLlmc;
}

std::vector<std::string> safetensors_files(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return {path};
  if (!fs::exists(path, ignored))
    throw UsageError(
        fmt::format("{} does not exist; expected a checkpoint, a run's folder "
                    "or a safetensors file",
                    path));
  if (!fs::is_directory(path, ignored))
    throw UsageError(fmt::format(
        "{} is neither a file nor a folder; expected a checkpoint, a run's "
        "folder or a safetensors file",
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

std::vector<std::string> strangers_in(const std::string& folder) {
  const auto chosen = convert::weight_file_names(folder);
  std::vector<std::string> strangers;
  if (!chosen.empty())
    std::ranges::set_difference(safetensors_names(folder), chosen,
                                std::back_inserter(strangers));
  return strangers;
}

}  // namespace quire::tools
