// Values of another implementation, kept in tests/data/ as safetensors files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quire/core/tensor.h"

namespace quire::testing {

class Golden {
 public:
  // tests/data/NAME.safetensors. Throws UsageError if it cannot be read.
  explicit Golden(const std::string& name);

  // A copy of its own on the CPU (fp32, bf16, fp16, i32 or i64). Throws
  // UsageError naming what is missing.
  Tensor tensor(const std::string& name) const;
  bool contains(const std::string& name) const {
    return entries_.count(name) != 0;
  }
  std::vector<std::string> names() const;

 private:
  struct Entry {
    DType dtype;
    Shape shape;
    std::int64_t begin;  // in data_
  };

  std::string path_;
  std::vector<char> data_;
  std::map<std::string, Entry> entries_;
};

}  // namespace quire::testing
