#include "quire/convert/gguf/gguf_file.h"

#include <fmt/format.h>

#include <bit>
#include <ranges>

#include "quire/checkpoint/files.h"
#include "quire/core/divide.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

// Types of values.
constexpr std::uint32_t kUnsigned = 4, kInteger = 5, kFloat = 6, kBool = 7,
                        kString = 8, kArray = 9;
constexpr std::uint32_t kVersion = 3;
constexpr std::int64_t kAlignment = 32;

template <class T>
void append(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes += static_cast<char>(value >> 8 * i);
}

void append_text(std::string& bytes, std::string_view text) {
  append(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

std::uint32_t type_of(DType dtype) {
  constexpr std::uint32_t kF32 = 0, kF16 = 1, kBF16 = 30;
  if (dtype == DType::kF32) return kF32;
  return dtype == DType::kF16 ? kF16 : kBF16;
}

std::int64_t padded(std::int64_t bytes) {
  return divide_up(bytes, kAlignment) * kAlignment;
}

void append_entry(std::string& head, const GgufTensor& tensor,
                  std::int64_t offset) {
  const auto extents = tensor.shape.extents();
  append_text(head, tensor.name);
  append(head, static_cast<std::uint32_t>(extents.size()));
  for (const std::int64_t extent : extents | std::views::reverse)
    append(head, static_cast<std::uint64_t>(extent));
  append(head, type_of(tensor.dtype));
  append(head, static_cast<std::uint64_t>(offset));
}

std::string head_of(const GgufKeys& keys, std::span<const GgufTensor> tensors) {
  std::string head = "GGUF";
  append(head, kVersion);
  append(head, static_cast<std::uint64_t>(tensors.size()));
  append(head, keys.count());
  head += keys.bytes();
  std::int64_t offset = 0;
  for (const auto& tensor : tensors) {
    append_entry(head, tensor, offset);
    offset += padded(tensor.bytes());
  }
  return head;
}

void pad(checkpoint::File& file) {
  const std::string zeros(
      static_cast<std::size_t>(padded(file.bytes()) - file.bytes()), '\0');
  file.append(std::as_bytes(std::span(zeros)));
}

void append_tensor(checkpoint::File& file, const GgufTensor& tensor) {
  const std::int64_t begin = file.bytes();
  tensor.give([&](std::span<const std::byte> bytes) { file.append(bytes); });
  if (file.bytes() - begin != tensor.bytes())
    throw UsageError(fmt::format("{}: {} gave {} bytes; its shape has {}",
                                 file.path(), tensor.name, file.bytes() - begin,
                                 tensor.bytes()));
  pad(file);
}

}  // namespace

void GgufKeys::begin(std::string_view key, std::uint32_t type) {
  ++count_;
  append_text(bytes_, key);
  append(bytes_, type);
}

void GgufKeys::put(std::string_view key, std::uint32_t value) {
  begin(key, kUnsigned);
  append(bytes_, value);
}

void GgufKeys::put(std::string_view key, float value) {
  begin(key, kFloat);
  append(bytes_, std::bit_cast<std::uint32_t>(value));
}

void GgufKeys::put(std::string_view key, GgufBool value) {
  begin(key, kBool);
  append(bytes_, static_cast<std::uint8_t>(value));
}

void GgufKeys::put(std::string_view key, std::string_view value) {
  begin(key, kString);
  append_text(bytes_, value);
}

void GgufKeys::put(std::string_view key, std::span<const std::string> values) {
  begin(key, kArray);
  append(bytes_, kString);
  append(bytes_, static_cast<std::uint64_t>(values.size()));
  for (const auto& value : values) append_text(bytes_, value);
}

void GgufKeys::put(std::string_view key, std::span<const std::int32_t> values) {
  begin(key, kArray);
  append(bytes_, kInteger);
  append(bytes_, static_cast<std::uint64_t>(values.size()));
  for (const std::int32_t value : values)
    append(bytes_, std::bit_cast<std::uint32_t>(value));
}

std::int64_t write_gguf_file(const std::string& path, const GgufKeys& keys,
                             std::span<const GgufTensor> tensors) {
  const std::string head = head_of(keys, tensors);
  auto file = checkpoint::File::create(path, {});
  file.append(std::as_bytes(std::span(head)));
  pad(file);
  for (const auto& tensor : tensors) append_tensor(file, tensor);
  file.sync();
  return file.bytes();
}

}  // namespace quire::convert
