#include "quire/convert/detail/weight_files.h"

#include <fmt/format.h>

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

}  // namespace

std::vector<std::string> weight_file_names(const std::string& folder) {
  const std::string index = joined(folder, kIndexName);
  if (stands(joined(folder, kSingle))) return {std::string(kSingle)};
  if (!stands(index)) return {};
  const Json json = index_of(folder);
  std::set<std::string> names;
  for (const auto& [tensor, name] : json.at("weight_map").members())
    if (names.insert(name.string()).second)
      contained(folder, name.string(), index);
  return {names.begin(), names.end()};
}

WeightFiles::WeightFiles(const std::string& folder) {
  const std::string index = joined(folder, kIndexName);
  if (stands(joined(folder, kSingle))) {
    add_all(open(folder, std::string(kSingle), folder));
  } else if (stands(index)) {
    open_index(folder, index);
  } else {
    refuse_folder(folder);
  }
}

const SafetensorsFile& WeightFiles::open(const std::string& folder,
                                         const std::string& name,
                                         const std::string& said_by) {
  const auto found = files_.find(name);
  if (found != files_.end()) return found->second;
  const auto at = files_.try_emplace(name, contained(folder, name, said_by),
                                     File::Links::kRefuse, open_);
  return at.first->second;
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

void WeightFiles::open_index(const std::string& folder,
                             const std::string& path) {
  const Json json = index_of(folder);
  std::map<std::string, std::string> place;
  for (const auto& [tensor, name] : json.at("weight_map").members()) {
    place[tensor] = name.string();
    open(folder, name.string(), path).at(tensor);
  }
  for (const auto& [name, file] : files_) add_all(file);
  for (const auto& [tensor, weight] : weights_)
    if (!place.contains(tensor))
      throw UsageError(
          fmt::format("{} holds the tensor \"{}\", which {} does "
                      "not name",
                      weight.file->path(), tensor, path));
  const auto metadata = json.find("metadata");
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
