#include "quire/convert/detail/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/llmc_numbers.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;

bool has_pickles_name(const fs::path& path) {
  constexpr std::array kEnds = {".bin", ".ckpt", ".pickle",
                                ".pkl", ".pt",   ".pth"};
  return std::ranges::find(kEnds, path.extension()) != kEnds.end();
}

// A model's file or a text's, which end in .bin, too.
bool is_of_llmc(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;  // a pipe would wait
  std::string start(sizeof(std::int32_t), '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), std::ssize(start));
  return begins_with(start, kModelNumbers) || begins_with(start, kTokenNumbers);
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

// Of a trainer's state, an adapter, or a format of its maker's own: not the
// model that a folder's config.json describes.
bool is_no_model(const std::string& name) {
  constexpr std::array<std::string_view, 8> kOthers = {
      "adapter_model", "consolidated.", "optimizer", "random_states",
      "rng_state",     "scaler.",       "scheduler", "training_args"};
  return std::ranges::any_of(
      kOthers, [&](auto start) { return name.starts_with(start); });
}

// What the command reads: one file, or all parts of a model.
struct Source {
  std::string module, loop, file;
};

// The parts of a model are pytorch_model-00001-of-00002.bin and so on.
Source source_of(const std::string& path) {
  constexpr std::size_t kDigits = 5;
  const std::string name = shown(path);
  const auto of = name.find("-of-");
  if (of == std::string::npos || of < kDigits)
    return {.module = "", .loop = "", .file = fmt::format("'{}'", name)};
  return {.module = "glob, ",
          .loop = fmt::format("for f in sorted(glob.glob('{}*{}')) ",
                              name.substr(0, of - kDigits), name.substr(of)),
          .file = "f"};
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
  const Source source = source_of(path);
  throw UsageError(fmt::format(
      "{} is a pickle, which runs code when it is read; turn it into "
      "safetensors once: python -c \"import {}torch, safetensors.torch as s; "
      "s.save_file({{k: v.contiguous().clone() {}for k, v in torch.load({}, "
      "map_location='cpu', weights_only=True).items()}}, 'model.safetensors', "
      "{{'format': 'pt'}})\"",
      path, source.module, source.loop, source.file));
}

void refuse_pickles_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".distcp")
      throw UsageError(fmt::format(
          "{} is a distributed checkpoint whose index is a pickle, which runs "
          "code when it is read; turn it into one file with python -m "
          "torch.distributed.checkpoint.format_utils dcp_to_torch and that "
          "into safetensors, or save with torch's HuggingFaceStorageWriter",
          folder));
    const std::string name = entry.path().filename().string();
    if (has_pickles_name(name) && !is_no_model(name) &&
        !is_of_llmc(entry.path()))
      found.push_back(name);
  }
  if (found.empty()) return;
  const auto usual_first = [](const std::string& name) {
    return std::pair(!name.starts_with("pytorch_model"), name);
  };
  refuse_pickle(
      checkpoint::joined(folder, std::ranges::min(found, {}, usual_first)));
}

}  // namespace quire::convert
