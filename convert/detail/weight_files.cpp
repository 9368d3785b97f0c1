#include "quire/convert/detail/weight_files.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/convert/detail/contained.h"
#include "quire/convert/detail/look_alikes.h"
#include "quire/convert/detail/pickle.h"
#include "quire/convert/weights.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using checkpoint::File;
using checkpoint::joined;
using checkpoint::Json;
using checkpoint::SafetensorsFile;

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::int64_t kMostIndex = std::int64_t{64} << 20;

Json index_of(const std::string& folder) {
  const std::string text = checkpoint::read_text(
      contained(folder, std::string(kIndexName), folder), kMostIndex);
  return Json::parse(text, joined(folder, kIndexName));
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  refuse_pickles_in(folder);
  const std::string advice = advice_on(folder);
  throw UsageError(
      fmt::format("{} holds neither {} nor {}{}", folder, kSingle, kIndexName,
                  advice.empty() ? "; copy the model's there" : advice));
}

struct Named {
  std::set<std::string> files;
  std::optional<Json> index;  // what names them
};

Named named_in(const std::string& folder) {
  if (holds(folder, kSingle)) return {{std::string(kSingle)}, {}};
  if (!holds(folder, kIndexName)) return {};
  Named named = {{}, index_of(folder)};
  const std::string path = joined(folder, kIndexName);
  for (const auto& [tensor, file] : named.index->at("weight_map").members())
    if (named.files.insert(file.string()).second)
      contained(folder, file.string(), path);
  return named;
}

}  // namespace

std::vector<std::string> weight_file_names(const std::string& folder) {
  const auto files = named_in(folder).files;
  return {files.begin(), files.end()};
}

void check_weight_index(const std::string& folder) {
  if (named_in(folder).index) const WeightFiles checked(folder);
}

WeightFiles::WeightFiles(const std::string& folder) {
  const auto [files, index] = named_in(folder);
  if (files.empty() && !index) refuse_folder(folder);
  const std::string path = joined(folder, kIndexName);
  for (const std::string& name : files)
    open(folder, name, index ? path : folder);
  for (const auto& [name, file] : files_) add_all(file);
  if (index) check_index(*index, path);
}

void WeightFiles::open(const std::string& folder, const std::string& name,
                       const std::string& said_by) {
  files_.try_emplace(name, contained(folder, name, said_by),
                     File::Links::kRefuse, open_);
}

void WeightFiles::add_all(const SafetensorsFile& file) {
  for (const auto& entry : file.entries()) {
    const auto [at, fresh] =
        weights_.try_emplace(entry.name, Weight{&file, &entry});
    if (!fresh)
      throw UsageError(fmt::format("tensor \"{}\" is in {} and in {}",
                                   entry.name, at->second.file->path(),
                                   file.path()));
  }
}

void WeightFiles::check_index(const Json& index, const std::string& path) {
  std::set<std::string> named;
  for (const auto& [tensor, file] : index.at("weight_map").members()) {
    files_.at(file.string()).at(tensor);
    named.insert(tensor);
  }
  for (const auto& [tensor, weight] : weights_)
    if (!named.contains(tensor))
      throw UsageError(
          fmt::format("{} holds the tensor \"{}\", which {} does "
                      "not name",
                      weight.file->path(), tensor, path));
  const auto metadata = index.find("metadata");
  const auto total = metadata ? metadata->find("total_size") : std::nullopt;
  if (total && total->kind() == Json::Kind::kInteger)
    check_sizes(total->integer(INT64_MIN), path);
}

void WeightFiles::check_sizes(std::int64_t total, const std::string& path) {
  std::int64_t held = 0;
  for (const auto& [tensor, weight] : weights_)
    held += weight.entry->end - weight.entry->begin;
  if (held != total)
    warnings_.push_back(fmt::format(
        "{}: total_size is {}; the files hold {} bytes", path, total, held));
}

}  // namespace quire::convert
