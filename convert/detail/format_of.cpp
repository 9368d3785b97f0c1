// What a path is, by its content.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/convert/dcp/shards.h"
#include "quire/convert/detail/contained.h"
#include "quire/convert/detail/llmc_numbers.h"
#include "quire/convert/detail/look_alikes.h"
#include "quire/convert/detail/pickle.h"
#include "quire/convert/weights.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;

// A checkpoint, or a run that has some.
bool is_quire(const std::string& folder) {
  if (checkpoint::is_step(folder)) return true;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (checkpoint::parse_step_name(entry.path().filename().string()))
      return true;
  return false;
}

// Else it would seem to hold nothing.
void require_readable(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error)
    throw UsageError(
        fmt::format("{} cannot be read: {}", folder, error.message()));
}

Format format_of_folder(const std::string& folder) {
  require_readable(folder);
  if (is_quire(folder)) return Format::kQuire;
  const bool single =
      holds(folder, "model.safetensors") || holds(folder, kIndexName);
  if (!single && holds_dcp_shards(folder)) return Format::kDcp;
  if (single || holds(folder, "config.json")) return Format::kHuggingFace;
  refuse_pickles_in(folder);
  throw UsageError(
      fmt::format("{} is no model's folder; expected a Hugging Face folder "
                  "(config.json and "
                  "safetensors), a checkpoint of Quire, or PyTorch's "
                  "distributed checkpoint "
                  "as safetensors{}",
                  folder, advice_on(folder)));
}

// The first bytes, as many as there are.
std::string start_of(const std::string& path) {
  const auto file =
      checkpoint::File::open(path, checkpoint::File::Links::kFollow);
  std::string start(
      static_cast<std::size_t>(std::min<std::int64_t>(file.bytes(), 16)), '\0');
  file.read(0, std::as_writable_bytes(std::span(start)));
  return start;
}

Format format_of_file(const std::string& path) {
  const std::string start = start_of(path);
  if (start.starts_with("GGUF")) return Format::kGguf;
  if (begins_with(start, kModelNumbers)) return Format::kLlmc;
  if (begins_with(start, kTokenNumbers))
    throw UsageError(fmt::format(
        "{} is a token file, the text and not the model; expected a model's "
        "folder, or a .bin file of llm.c's model",
        path));
  if (is_pickle(path, start)) refuse_pickle(path);
  const bool safetensors = start.size() > 8 && start[8] == '{';
  throw UsageError(fmt::format(
      "{} is {}; expected a model's folder, or a .bin file of llm.c", path,
      safetensors
          ? "one file of tensors without the config.json that says what "
            "they make; name the folder that holds both"
          : "no model"));
}

}  // namespace

Format format_of(const std::string& path) {
  if (checkpoint::is_folder(path)) return format_of_folder(path);
  refuse_hub_name(path);
  return format_of_file(path);
}

}  // namespace quire::convert
