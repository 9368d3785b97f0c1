#include "quire/convert/detail/weight_files.h"

#include <gtest/gtest.h>

#include "tests/convert/model_folder.h"
#include "tests/support/many_files.h"

namespace quire::convert {
namespace {

using namespace quire::testing;

TEST(WeightFiles, HoldAFewOpenHoweverManyThereAre) {
  const TempFolder folder;
  std::string map;
  for (int i = 0; i < 70; ++i) {
    const std::string name = std::to_string(i);
    write_one_byte(folder / name, name, static_cast<char>(i));
    map.append(map.empty() ? "\"" : ", \"").append(name);
    map.append("\": \"").append(name).append("\"");
  }
  write_file(folder / "model.safetensors.index.json",
             R"({"weight_map": {)" + map + "}}");
  const std::int64_t before = open_descriptors();
  const WeightFiles files(folder.path());
  for (int i = 0; i < 70; ++i) {
    const auto& weight = files.weights().at(std::to_string(i));
    std::byte value;
    weight.file->read(*weight.entry, 0, 1, {&value, 1});
    EXPECT_EQ(std::to_integer<int>(value), i);
  }
  EXPECT_EQ(open_descriptors() - before, 64);
}

}  // namespace
}  // namespace quire::convert
