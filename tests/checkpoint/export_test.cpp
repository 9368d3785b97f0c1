#include "quire/checkpoint/export.h"

#include <gtest/gtest.h>

#include <cstring>

#include "quire/checkpoint/open_files.h"
#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"
#include "tests/support/many_files.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;

const Progress kAt{.step = 20, .updates = 19, .position = 240, .seed = 7};

// What a save of the model would write, by one process in `shards` files.
ExportRequest export_of(const Model& model, int shards) {
  ExportRequest request;
  for (const auto& parameter : model.parameters()) {
    request.parameters.push_back(
        {parameter.name, parameter.shape, parameter.trainable, {}});
    for (const auto& kind : model.kinds)
      request.parameters.back().states.push_back({kind.name, DType::kF32});
  }
  request.read = [&model](const ExportedParameter& parameter,
                          const ExportedState& state, std::int64_t first,
                          std::span<std::byte> out) {
    for (const auto& part : model.parts(0, 1))
      if (part.parameter == parameter.name && part.kind == state.kind)
        std::memcpy(out.data(), part.data.raw() + first * 4, out.size());
  };
  request.shards = shards;
  request.progress = kAt;
  return request;
}

TEST(Export, IsACheckpointThatRanksWouldHaveSaved) {
  const TempFolder run;
  const auto saved = save_world(run / "saved", kSmall, kAt, 2);
  for (const int shards : {1, 2, 3, 7, 20}) {
    const TempFolder folder;
    EXPECT_EQ(export_checkpoint(folder.path(), export_of(kSmall, shards)),
              saved);
    EXPECT_TRUE(verify(folder.path()).empty())
        << verify(folder.path())[0].message;
    const auto checkpoint = Checkpoint::open(folder.path());
    EXPECT_EQ(checkpoint.manifest().ranks, shards);
    expect_loads(checkpoint, kSmall);
  }
}

TEST(Export, HoldsAFewOfItsFilesOpenHoweverManyThereAre) {
  constexpr int kMany = static_cast<int>(OpenFiles::kMost) + 6;
  const Model wide{{{kMany * 256}}, {{"master", 0.0f}}};
  const TempFolder folder;
  const quire::testing::FewDescriptors few(kMany - 3);
  export_checkpoint(folder.path(), export_of(wide, kMany));
  EXPECT_TRUE(verify(folder.path()).empty());
}

TEST(Export, FillsItsFilesAlike) {
  const TempFolder folder;
  const Model even{{{4096, 4096}}};
  export_checkpoint(folder.path(), export_of(even, 4));
  const auto files = read_manifest(folder.path()).files;
  for (const auto& file : files)
    EXPECT_NEAR(static_cast<double>(file.bytes), 3 * 2048 * 4.0, 2000);
}

TEST(Export, RefusesNoShardsAndAConfigurationThatIsNoObject) {
  const TempFolder folder;
  ExportRequest request = export_of(kSmall, 0);
  expect_mentions(
      usage_error_of([&] { export_checkpoint(folder.path(), request); }),
      {"0 shards"});
  request.shards = 1;
  request.config = "[]";
  usage_error_of([&] { export_checkpoint(folder.path(), request); });
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace quire::checkpoint
