// A reader of GGUF files of the tests' own, from the format's description.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quire::testing {

struct GgufTensorEntry {
  std::vector<std::uint64_t> extents;  // as written: the fastest first
  std::uint32_t type;                  // 0 fp32, 1 fp16, 30 bf16
  std::uint64_t offset;                // in the file
};

class GgufFile {
 public:
  explicit GgufFile(std::string bytes) : bytes_(std::move(bytes)) {
    if (text(4) != "GGUF" || take<std::uint32_t>() != 3)
      throw std::runtime_error("no GGUF 3");
    const auto tensor_count = take<std::uint64_t>();
    const auto key_count = take<std::uint64_t>();
    for (std::uint64_t i = 0; i < key_count; ++i) read_key();
    for (std::uint64_t i = 0; i < tensor_count; ++i) read_tensor();
    const std::size_t data = (at_ + 31) / 32 * 32;
    for (auto& [name, tensor] : tensors) {
      if (tensor.offset % 32 != 0) throw std::runtime_error("not aligned");
      tensor.offset += data;
    }
  }

  // Elements of an fp32 tensor.
  std::vector<float> floats(const std::string& name) const {
    const auto& tensor = tensors.at(name);
    std::size_t count = 1;
    for (const auto extent : tensor.extents) count *= extent;
    std::vector<float> values(count);
    if (tensor.offset + 4 * count > bytes_.size())
      throw std::runtime_error("too short");
    std::memcpy(values.data(), bytes_.data() + tensor.offset, 4 * count);
    return values;
  }

  std::map<std::string, std::uint32_t> numbers;
  std::map<std::string, float> reals;
  std::map<std::string, bool> flags;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<std::string>> lists;
  std::map<std::string, std::vector<std::int32_t>> integers;
  std::map<std::string, GgufTensorEntry> tensors;

 private:
  std::string text(std::size_t count) {
    const std::string part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string string() { return text(take<std::uint64_t>()); }

  void read_key() {
    const std::string key = string();
    const auto type = take<std::uint32_t>();
    if (type == 4)
      numbers[key] = take<std::uint32_t>();
    else if (type == 6)
      reals[key] = take<float>();
    else if (type == 7)
      flags[key] = take<std::uint8_t>() == 1;
    else if (type == 8)
      texts[key] = string();
    else if (type == 9)
      read_array(key);
    else
      throw std::runtime_error("unknown type of " + key);
  }
  void read_array(const std::string& key) {
    const auto type = take<std::uint32_t>();
    const auto count = take<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (type == 8)
        lists[key].push_back(string());
      else
        integers[key].push_back(take<std::int32_t>());
    }
  }
  void read_tensor() {
    const std::string name = string();
    GgufTensorEntry tensor;
    tensor.extents.resize(take<std::uint32_t>());
    for (auto& extent : tensor.extents) extent = take<std::uint64_t>();
    tensor.type = take<std::uint32_t>();
    tensor.offset = take<std::uint64_t>();
    tensors[name] = tensor;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace quire::testing
