// Models in folders, for the tests of conversions: copies that can be changed,
// made ones, and comparisons of whole models.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/convert/weights.h"
#include "tests/support/golden.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::testing {

using Tensors = std::map<std::string, Tensor>;

inline std::string data_path(const std::string& name) {
  return std::string(QUIRE_TEST_DATA) + "/" + name;
}
inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
inline std::string read_file(const std::string& path) {
  return checkpoint::read_text(path, std::int64_t{1} << 26);
}

inline Tensors tensors_of(const std::string& golden) {
  Tensors tensors;
  const Golden file(golden);
  for (const auto& name : file.names())
    tensors.emplace(name, file.tensor(name));
  return tensors;
}

inline void save_tensors(
    const std::string& path, const Tensors& tensors,
    const std::map<std::string, std::string>& metadata = {}) {
  std::filesystem::remove(path);
  std::vector<checkpoint::SafetensorsTensor> out;
  for (const auto& [key, tensor] : tensors) {
    const auto extents = tensor.shape().extents();
    out.push_back(
        {.name = key,
         .dtype = std::string(checkpoint::safetensors_dtype(tensor.dtype())),
         .shape = {extents.begin(), extents.end()},
         .give = [tensor = tensor](const checkpoint::ByteSink& sink) {
           sink({tensor.raw(), static_cast<std::size_t>(tensor.bytes())});
         }});
  }
  checkpoint::write_safetensors(path, std::move(out), metadata);
}

// A copy of a golden model's config.json and tensors that can be changed.
struct ModelFolder {
  explicit ModelFolder(const std::string& golden = "gpt2_tiny")
      : tensors(tensors_of(golden + "/model")) {
    std::filesystem::copy(data_path(golden + "/config.json"),
                          folder / "config.json");
  }
  // Replaces text in the configuration.
  ModelFolder& set(const std::string& from, const std::string& to) {
    std::string text = read_file(folder / "config.json");
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos)
      write_file(folder / "config.json", text.replace(at, from.size(), to));
    return *this;
  }
  void save(const std::string& name, const Tensors& which) const {
    save_tensors(folder / name, which);
  }
  std::unique_ptr<const convert::Weights> open() const {
    save("model.safetensors", tensors);
    return convert::open_weights(folder.path());
  }
  std::string refusal() const {
    return usage_error_of([&] { open(); });
  }

  TempFolder folder;
  Tensors tensors;
};

// A parameter as it is stored.
inline Tensor whole(const convert::Weights& weights, const std::string& name) {
  const auto& entry = convert::stored(weights, name);
  Tensor values = zeros(entry.shape, entry.dtype);
  weights.read(name, 0,
               {values.raw(), static_cast<std::size_t>(values.bytes())});
  return values;
}

// The same parameters with the same types and bytes; `b` rounded to `dtype`
// before, if one is given.
inline void expect_same_weights(const convert::Weights& a,
                                const convert::Weights& b,
                                std::optional<DType> dtype = {}) {
  ASSERT_EQ(a.parameters().size(), b.parameters().size());
  for (const auto& entry : b.parameters()) {
    SCOPED_TRACE(entry.name);
    Tensor wanted = whole(b, entry.name);
    if (dtype) wanted = as_dtype(as_dtype(wanted, DType::kF32), *dtype);
    expect_same_bits(whole(a, entry.name), wanted);
  }
}

}  // namespace quire::testing
