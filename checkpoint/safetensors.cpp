#include "quire/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "quire/checkpoint/detail/safetensors_types.h"
#include "quire/checkpoint/json.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::checkpoint {
namespace {

constexpr std::int64_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// What stands in place of large files where Git LFS did not fetch them.
void refuse_pointer(const File& file) {
  constexpr std::string_view kStart = "version https://git-lfs";
  std::string start(kStart.size(), '\0');
  if (file.bytes() < std::ssize(start)) return;
  file.read(0, std::as_writable_bytes(std::span(start)));
  if (start == kStart)
    throw UsageError(fmt::format(
        "{} is what Git LFS keeps in place of a file that it has not fetched; "
        "expected the file itself: run git lfs pull in its repository",
        file.path()));
}

// Length and header.
std::string read_head(const File& file) {
  if (file.bytes() < kLengthBytes)
    throw UsageError(fmt::format(
        "{} has {} bytes; a safetensors file starts with a length of 8",
        file.path(), file.bytes()));
  std::array<std::byte, kLengthBytes> field;
  file.read(0, field);
  const std::uint64_t length = little_endian(field);
  const auto most = static_cast<std::uint64_t>(
      std::min(file.bytes() - kLengthBytes, SafetensorsFile::kMostHeader));
  if (length > most) {
    refuse_pointer(file);
    throw UsageError(
        fmt::format("{} announces a header of {} bytes; expected at most {}: "
                    "it was cut short or is no safetensors file",
                    file.path(), length, most));
  }
  std::string head(static_cast<std::size_t>(length) + kLengthBytes, '\0');
  file.read(0, std::as_writable_bytes(std::span(head)));
  return head;
}

void read_offsets(const Json& json, SafetensorsEntry& entry) {
  const auto offsets = json.at("data_offsets").items();
  if (offsets.size() != 2)
    throw UsageError(fmt::format("{}: got {} data_offsets; expected 2",
                                 json.where(), offsets.size()));
  entry.begin = offsets[0].integer();
  entry.end = offsets[1].integer(entry.begin);
}

SafetensorsEntry read_entry(const std::string& name, const Json& json) {
  SafetensorsEntry entry{};
  entry.name = name;
  entry.dtype = json.at("dtype").string();
  const SafetensorsType* type = find_type(entry.dtype);
  if (type == nullptr)
    json.at("dtype").refuse("a type that safetensors files know, as F32");
  entry.type = type->type;
  for (const Json& dim : json.at("shape").items())
    entry.shape.push_back(dim.integer());
  read_offsets(json, entry);
  const auto extent = extent_of(*type, entry.shape);
  if (!extent || extent->bytes != entry.end - entry.begin)
    throw UsageError(fmt::format(
        "{}: shape and type need {} bytes, data_offsets hold {}", json.where(),
        extent ? fmt::to_string(extent->bytes) : "more than 2^63 or half",
        entry.end - entry.begin));
  entry.numel = extent->numel;
  return entry;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path, File::Links links,
                                 std::shared_ptr<OpenFiles> others)
    : path_(path), links_(links), open_(std::move(others)) {
  const auto file = open_->keep(File::open(path, links));
  bytes_ = file->bytes();
  const std::string head = read_head(*file);
  buffer_ = static_cast<std::int64_t>(head.size());
  checksum_ = hash64(head);
  read_header(std::string_view(head).substr(kLengthBytes));
  check_ranges();
}

std::shared_ptr<const File> SafetensorsFile::file() const {
  if (auto open = open_->find(path_)) return open;
  File again = File::open(path_, links_);
  if (again.bytes() != bytes_ || hash64(read_head(again)) != checksum_)
    throw SystemError(
        fmt::format("{} was changed while it was read; start again", path_));
  return open_->keep(std::move(again));
}

void SafetensorsFile::read_header(std::string_view header) {
  if (!header.starts_with('{'))
    throw UsageError(path() + ": the header does not start with '{'");
  const Json json = Json::parse(header, path() + ": the header");
  for (const auto& [name, value] : json.members()) {
    if (name != kMetadata) {
      entries_.push_back(read_entry(name, value));
      continue;
    }
    for (const auto& [key, text] : value.members())
      metadata_[key] = text.string();
  }
  std::ranges::sort(entries_, [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  for (std::size_t i = 0; i < entries_.size(); ++i)
    index_[entries_[i].name] = i;
}

void SafetensorsFile::check_ranges() const {
  std::int64_t end = 0;
  for (const auto& entry : entries_) {
    if (entry.begin != end)
      throw UsageError(fmt::format(
          "{}: the header: tensor \"{}\" begins at byte {}, {} byte {} where "
          "the one before ends",
          path(), entry.name, entry.begin,
          entry.begin < end ? "before" : "after", end));
    end = entry.end;
  }
  const std::int64_t held = bytes() - buffer_;
  if (end != held)
    throw UsageError(fmt::format(
        "{}: the tensors need {} bytes, the file holds {}: it is {}", path(),
        end, held, held < end ? "cut short" : "longer than its header says"));
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const SafetensorsEntry& SafetensorsFile::at(std::string_view name) const {
  const auto* entry = find(name);
  if (entry == nullptr)
    throw UsageError(fmt::format("{}: holds no tensor \"{}\"", path(), name));
  return *entry;
}

void SafetensorsFile::read(const SafetensorsEntry& entry, std::int64_t first,
                           std::int64_t count, std::span<std::byte> out) const {
  const std::int64_t bits = find_type(entry.dtype)->bits;
  const bool inside = first >= 0 && count >= 0 && count <= entry.numel - first;
  if (!inside || bits % 8 != 0 ||
      static_cast<std::int64_t>(out.size()) != count * bits / 8)
    throw UsageError(fmt::format(
        "{}: got elements [{}, {} + {}) into {} bytes; tensor \"{}\" has {} of "
        "{} bits",
        path(), first, first, count, out.size(), entry.name, entry.numel,
        bits));
  file()->read(buffer_ + entry.begin + first * bits / 8, out);
}

void SafetensorsFile::will_read(const SafetensorsEntry& entry) const {
  file()->will_read(buffer_ + entry.begin, entry.end - entry.begin);
}

}  // namespace quire::checkpoint
