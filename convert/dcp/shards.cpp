#include "quire/convert/dcp/shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;
using checkpoint::File;
using checkpoint::Json;
using checkpoint::SafetensorsEntry;
using checkpoint::SafetensorsFile;
using Shard = std::shared_ptr<const SafetensorsFile>;

// Rows [row, row + entry->shape[0]) of a tensor; all of one of rank 0.
struct Part {
  Shard file;
  const SafetensorsEntry* entry;
  std::int64_t row;

  std::int64_t rows() const {
    return entry->shape.empty() ? 1 : entry->shape[0];
  }
};
using Parts = std::map<std::string, std::vector<Part>>;

std::vector<std::string> safetensors_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".safetensors")
      paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  return paths;
}

[[noreturn]] void refuse(const Part& part, const std::string& why) {
  throw UsageError(fmt::format("{}: tensor \"{}\": {}", part.file->path(),
                               part.entry->name, why));
}

// Where the part starts; only rows are cut.
std::int64_t row_of(const Part& part, const Json& offsets) {
  const auto items = offsets.items();
  const std::size_t rank = part.entry->shape.size();
  if (items.size() != rank)
    offsets.refuse(fmt::format("{} of them, one for each dimension", rank));
  for (std::size_t i = 1; i < rank; ++i)
    if (items[i].integer() != 0)
      items[i].refuse("0: only shards that are cut by rows are supported");
  return rank == 0 ? 0 : items[0].integer(0, INT64_MAX - part.rows());
}

// Every tensor has its offsets, and the other way round.
void add_parts(const Shard& file, const std::string& info, Parts& parts) {
  const Json json =
      Json::parse(info, fmt::format("{}: {}", file->path(), kShardingKey));
  for (const auto& entry : file->entries()) {
    Part part{.file = file, .entry = &entry, .row = 0};
    const auto said = json.find(entry.name);
    if (!said) refuse(part, fmt::format("{} does not name it", kShardingKey));
    part.row = row_of(part, said->at("saved_offsets"));
    parts[entry.name].push_back(std::move(part));
  }
  for (const auto& [name, said] : json.members())
    if (file->find(name) == nullptr)
      said.refuse("offsets of tensors that are in the file only");
}

void require_alike(const Part& first, const Part& other) {
  const auto& a = first.entry->shape;
  const auto& b = other.entry->shape;
  if (first.entry->dtype != other.entry->dtype)
    refuse(other, fmt::format("is {}; {} has {}", other.entry->dtype,
                              first.file->path(), first.entry->dtype));
  if (a.size() != b.size() ||
      !std::equal(a.begin() + !a.empty(), a.end(), b.begin() + !b.empty()))
    refuse(other, fmt::format("is [{}]; {} has [{}], and only rows are cut",
                              fmt::join(b, ", "), first.file->path(),
                              fmt::join(a, ", ")));
}

// Ascending, without hole or overlap; parts without rows are left out, but for
// a tensor that has no others. Returns the number of rows.
std::int64_t put_together(std::vector<Part>& parts) {
  for (const Part& part : parts) require_alike(parts.front(), part);
  const auto of = [](const Part& part) {
    return std::pair(part.row, part.rows());
  };
  std::ranges::sort(parts, {}, of);
  std::int64_t end = 0;
  for (const Part& part : parts) {
    if (part.rows() > 0 && part.row != end)
      refuse(part, fmt::format("starts at row {}; the parts before it end at "
                               "row {}: a shard is missing, or two overlap",
                               part.row, end));
    end += part.rows();
  }
  std::erase_if(parts, [&](const Part& p) { return end > 0 && p.rows() == 0; });
  return end;
}

// Elements from `first` on, of the parts that hold them.
void read_parts(const std::vector<Part>& parts, std::int64_t first,
                std::span<std::byte> out) {
  const auto width = size_of(parts.front().entry->type.value());
  for (const Part& part : parts) {
    const std::int64_t numel = part.entry->numel;
    const std::int64_t wanted = static_cast<std::int64_t>(out.size()) / width;
    const std::int64_t count = std::min(wanted, numel - first);
    if (count > 0) {
      const auto bytes = static_cast<std::size_t>(count * width);
      part.file->read(*part.entry, first, count, out.first(bytes));
      out = out.subspan(bytes);
      first += count;
    }
    first -= numel;
  }
}

ForeignTensor tensor_of(std::vector<Part> parts) {
  const std::int64_t rows = put_together(parts);
  const SafetensorsEntry& entry = *parts.front().entry;
  ForeignTensor tensor{.name = entry.name,
                       .file = parts.front().file->path(),
                       .dtype = entry.dtype,
                       .type = entry.type,
                       .shape = entry.shape,
                       .read = {}};
  if (!tensor.shape.empty()) tensor.shape[0] = rows;
  tensor.read = [parts = std::move(parts)](std::int64_t first,
                                           std::span<std::byte> out) {
    read_parts(parts, first, out);
  };
  return tensor;
}

}  // namespace

std::string shard_file_name(int shard) {
  return fmt::format("shard-{:05}-model-00001-of-00001.safetensors", shard + 1);
}

bool holds_dcp_shards(const std::string& folder) {
  for (const auto& path : safetensors_of(folder)) {
    try {
      const SafetensorsFile file(path, File::Links::kRefuse);
      if (file.metadata().contains(kShardingKey)) return true;
    } catch (const UsageError&) {
      // Not one of ours to judge.
    }
  }
  return false;
}

std::vector<ForeignTensor> open_shards(const std::string& folder) {
  Parts parts;
  const auto open = std::make_shared<checkpoint::OpenFiles>();
  for (const auto& path : safetensors_of(folder)) {
    const auto file = std::make_shared<const SafetensorsFile>(
        path, File::Links::kRefuse, open);
    const auto info = file->metadata().find(kShardingKey);
    if (info == file->metadata().end())
      throw UsageError(
          fmt::format("{}: has no {}, which the other files of the folder have",
                      path, kShardingKey));
    add_parts(file, info->second, parts);
  }
  std::vector<ForeignTensor> tensors;
  for (auto& [name, list] : parts)
    tensors.push_back(tensor_of(std::move(list)));
  return tensors;
}

}  // namespace quire::convert
