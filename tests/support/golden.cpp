#include "tests/support/golden.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/tensors.h"

namespace quire::testing {
namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

DType dtype_of(const std::string& name) {
  static const std::map<std::string, DType> known = {{"F32", DType::kF32},
                                                     {"BF16", DType::kBF16},
                                                     {"F16", DType::kF16},
                                                     {"I32", DType::kI32},
                                                     {"I64", DType::kI64}};
  return known.at(name);
}

}  // namespace

Golden::Golden(const std::string& name)
    : path_(std::string(QUIRE_TEST_DATA) + "/" + name + ".safetensors"),
      data_(read_file(path_)) {
  std::uint64_t length = 0;
  std::memcpy(&length, data_.data(), sizeof(length));
  const char* header = data_.data() + sizeof(length);
  const auto json = nlohmann::json::parse(header, header + length);
  for (const auto& [key, value] : json.items()) {
    if (key == "__metadata__") continue;
    const auto extents = value.at("shape").get<std::vector<std::int64_t>>();
    const auto begin = value.at("data_offsets").at(0).get<std::int64_t>();
    entries_[key] = {
        .dtype = dtype_of(value.at("dtype").get<std::string>()),
        .shape = Shape(std::span<const std::int64_t>(extents)),
        .begin = begin + static_cast<std::int64_t>(sizeof(length) + length)};
  }
}

Tensor Golden::tensor(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    throw UsageError(path_ + ": holds no tensor " + name);
  Tensor y = zeros(found->second.shape, found->second.dtype);
  std::memcpy(y.raw(), data_.data() + found->second.begin,
              static_cast<std::size_t>(y.bytes()));
  return y;
}

std::vector<std::string> Golden::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace quire::testing
