#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "quire/checkpoint/detail/safetensors_types.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::checkpoint {
namespace {

using Header = nlohmann::ordered_json;

const SafetensorsType& type_of(const std::string& path,
                               const SafetensorsTensor& tensor) {
  const auto* type = find_type(tensor.dtype);
  if (type == nullptr)
    throw UsageError(fmt::format("{}: tensor \"{}\" has the unknown type {}",
                                 path, tensor.name, tensor.dtype));
  return *type;
}

std::int64_t bytes_of(const std::string& path,
                      const SafetensorsTensor& tensor) {
  const auto extent = extent_of(type_of(path, tensor), tensor.shape);
  if (!extent)
    throw UsageError(fmt::format(
        "{}: tensor \"{}\": the shape has negative extents, half bytes or more "
        "than 2^63",
        path, tensor.name));
  return extent->bytes;
}

void put_in_order(const std::string& path,
                  std::vector<SafetensorsTensor>& tensors) {
  std::ranges::sort(tensors, [&](const auto& a, const auto& b) {
    return std::tuple(-type_of(path, a).bits, std::string_view(a.dtype),
                      std::string_view(a.name)) <
           std::tuple(-type_of(path, b).bits, std::string_view(b.dtype),
                      std::string_view(b.name));
  });
}

// Every name once, whatever its type.
void check_names(const std::string& path,
                 const std::vector<SafetensorsTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const auto& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    throw UsageError(
        fmt::format("{}: tensor \"{}\" is given twice", path, *twice));
  if (std::binary_search(names.begin(), names.end(), "__metadata__"))
    throw UsageError(path + ": no tensor may be named __metadata__");
}

Header header_of(const std::string& path,
                 const std::vector<SafetensorsTensor>& tensors,
                 const std::map<std::string, std::string>& metadata) {
  Header header = Header::object();
  header["__metadata__"] = metadata;
  auto& members = header.get_ref<Header::object_t&>();
  std::int64_t end = 0;
  for (const auto& tensor : tensors) {
    const std::int64_t begin = end;
    if (__builtin_add_overflow(begin, bytes_of(path, tensor), &end))
      throw UsageError(path + ": the tensors have more than 2^63 bytes");
    members.emplace_back(tensor.name, Header{{"dtype", tensor.dtype},
                                             {"shape", tensor.shape},
                                             {"data_offsets", {begin, end}}});
  }
  return header;
}

// Length and header; the buffer then starts at a multiple of 8.
std::string head_of(const std::string& path, const Header& header) {
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw UsageError(path + ": a tensor's name or metadata is no UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (static_cast<std::int64_t>(text.size()) > SafetensorsFile::kMostHeader)
    throw UsageError(fmt::format(
        "{}: a header of {} bytes; safetensors files have at most {}", path,
        text.size(), SafetensorsFile::kMostHeader));
  std::string head;
  for (int i = 0; i < 8; ++i)
    head += static_cast<char>(static_cast<std::uint64_t>(text.size()) >> 8 * i);
  return head + text;
}

// `write` puts them where they belong.
void write_tensor(const std::string& path, const SafetensorsTensor& tensor,
                  const ByteSink& write) {
  std::int64_t given = 0;
  tensor.give([&](std::span<const std::byte> bytes) {
    write(bytes);
    given += static_cast<std::int64_t>(bytes.size());
  });
  const std::int64_t wanted = bytes_of(path, tensor);
  if (given != wanted)
    throw UsageError(
        fmt::format("{}: tensor \"{}\" gave {} bytes; its shape has {}", path,
                    tensor.name, given, wanted));
}

void fill(File& file, std::int64_t place, const SafetensorsTensor& tensor) {
  const std::int64_t end = place + bytes_of(file.path(), tensor);
  write_tensor(file.path(), tensor, [&](std::span<const std::byte> bytes) {
    const auto room = static_cast<std::size_t>(end - place);
    const auto fits = bytes.first(std::min(bytes.size(), room));
    file.write_at(place, fits);
    place += static_cast<std::int64_t>(fits.size());
  });
}

// One behind another; those that are asked behind another are filled in then.
void write_tensors(File& file, std::span<const SafetensorsTensor> tensors) {
  struct Follower {
    std::int64_t place;
    const SafetensorsTensor* tensor;
  };
  std::unordered_map<std::string_view, Follower> followers;
  std::int64_t place = file.bytes();
  for (const auto& tensor : tensors) {
    if (!tensor.behind.empty())
      followers.insert_or_assign(tensor.behind, Follower{place, &tensor});
    place += bytes_of(file.path(), tensor);
  }
  for (const auto& tensor : tensors) {
    if (!tensor.behind.empty()) {
      file.skip(bytes_of(file.path(), tensor));
      continue;
    }
    write_tensor(file.path(), tensor, [&](auto bytes) { file.append(bytes); });
    const auto found = followers.find(tensor.name);
    if (found == followers.end()) continue;
    fill(file, found->second.place, *found->second.tensor);
    followers.erase(found);
  }
  if (!followers.empty())
    throw UsageError(
        fmt::format("{}: tensor \"{}\" is asked behind \"{}\", "
                    "which is not there",
                    file.path(), followers.begin()->second.tensor->name,
                    followers.begin()->first));
}

}  // namespace

SafetensorsWritten write_safetensors(
    const std::string& path, std::vector<SafetensorsTensor> tensors,
    std::map<std::string, std::string> metadata, const FileObserver& observer) {
  check_names(path, tensors);
  put_in_order(path, tensors);
  metadata["format"] = "pt";
  const std::string head = head_of(path, header_of(path, tensors, metadata));
  File file = File::create(path, observer);
  file.append(std::as_bytes(std::span(head)));
  write_tensors(file, tensors);
  file.sync();
  return {.bytes = file.bytes(), .header_checksum = hash64(head)};
}

}  // namespace quire::checkpoint
