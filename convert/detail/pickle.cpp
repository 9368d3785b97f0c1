#include "quire/convert/detail/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;

bool has_pickles_name(const fs::path& path) {
  constexpr std::array kEnds = {".bin", ".ckpt", ".pickle",
                                ".pkl", ".pt",   ".pth"};
  return std::ranges::find(kEnds, path.extension()) != kEnds.end();
}

// A name that a shell and Python take as it is; the command gets copied.
std::string shown(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  return plain ? name : "FILE";
}

}  // namespace

bool is_pickle(const std::string& path, std::string_view start) {
  using std::string_view_literals::operator""sv;
  const bool zip = start.starts_with("PK\x03\x04"sv);
  const bool pickle =
      start.size() >= 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
  return zip || pickle || has_pickles_name(path);
}

void refuse_pickle(const std::string& path) {
  throw UsageError(fmt::format(
      "{} is a pickle, which runs code when it is read; turn it into "
      "safetensors once: python -c \"import torch, safetensors.torch as s; "
      "s.save_file({{k: v.contiguous().clone() for k, v in torch.load('{}', "
      "map_location='cpu', weights_only=True).items()}}, 'model.safetensors', "
      "{{'format': 'pt'}})\"",
      path, shown(path)));
}

void refuse_pickles_in(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".distcp")
      throw UsageError(fmt::format(
          "{} is a distributed checkpoint whose index is a pickle, which runs "
          "code when it is read; turn it into one file with python -m "
          "torch.distributed.checkpoint.format_utils dcp_to_torch and that "
          "into safetensors, or save with torch's HuggingFaceStorageWriter",
          folder));
    if (has_pickles_name(entry.path())) found.push_back(entry.path());
  }
  if (!found.empty()) refuse_pickle(std::ranges::min(found).string());
}

}  // namespace quire::convert
