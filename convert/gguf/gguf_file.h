// Files in the GGUF layout, version 3, little endian:
//
//   file   = "GGUF" u32:3 u64:TENSORS u64:KEYS {key} {tensor} pad {data pad}
//   key    = string u32:TYPE value
//   tensor = string u32:RANK {u64: extents, the fastest first} u32:TYPE
//            u64:OFFSET
//   string = u64:LENGTH bytes
//
// pad is zeros up to a multiple of 32; an offset counts from the first data.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/safetensors.h"
#include "quire/core/dtype.h"
#include "quire/core/shape.h"

namespace quire::convert {

// No bool, which text in quotes would become.
enum class GgufBool : std::uint8_t { kFalse, kTrue };

// Every key once.
class GgufKeys {
 public:
  void put(std::string_view key, std::uint32_t value);
  void put(std::string_view key, float value);
  void put(std::string_view key, GgufBool value);
  void put(std::string_view key, std::string_view value);
  void put(std::string_view key, std::span<const std::string> values);
  void put(std::string_view key, std::span<const std::int32_t> values);

  std::uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void begin(std::string_view key, std::uint32_t type);

  std::uint64_t count_ = 0;
  std::string bytes_;
};

struct GgufTensor {
  std::string name;
  Shape shape;  // the fastest last, as everywhere else here
  DType dtype;  // fp32, bf16 or fp16
  std::function<void(const checkpoint::ByteSink&)> give;  // called once

  std::int64_t bytes() const { return shape.numel() * size_of(dtype); }
};

// Makes the file, which must not exist, and syncs it. Returns its bytes.
std::int64_t write_gguf_file(const std::string& path, const GgufKeys& keys,
                             std::span<const GgufTensor> tensors);

}  // namespace quire::convert
