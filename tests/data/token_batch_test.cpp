#include "quire/data/token_batch.h"

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

TEST(TokenBatch, TargetsAreTheTokensThatFollow) {
  TokenBatch filling(2, 3);
  filling.set(1, Ids{5, 6, 7, 8});
  filling.set(0, Ids{1, 2, 3, 4});
  const Batch batch = std::move(filling).finish();
  EXPECT_EQ(batch.input("tokens").shape(), (Shape{2, 3}));
  EXPECT_EQ(ids_of(batch.input("tokens")), (Ids{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(ids_of(batch.target("targets")), (Ids{2, 3, 4, 6, 7, 8}));
}

TEST(TokenBatch, IgnoresWhatAShortWindowLacks) {
  TokenBatch filling(3, 3);
  filling.set(0, Ids{1, 2});
  filling.set(1, Ids{3});
  const Batch batch = std::move(filling).finish();
  EXPECT_EQ(ids_of(batch.input("tokens")), (Ids{1, 2, 0, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ids_of(batch.target("targets")),
            (Ids{2, -100, -100, -100, -100, -100, -100, -100, -100}));
}

TEST(TokenBatch, RefusesWhatDoesNotFit) {
  TokenBatch batch(2, 3);
  expect_refused([&] { batch.set(0, Ids{1, 2, 3, 4, 5}); }, {"5 tokens"});
  expect_refused([&] { batch.set(0, Ids{}); }, {"0 tokens"});
  expect_refused([&] { batch.set(2, Ids{1}); }, {"sample 2"});
  expect_refused([&] { batch.set(-1, Ids{1}); }, {"sample -1"});
  expect_refused([] { TokenBatch(0, 3); }, {"0 samples"});
  expect_refused([] { TokenBatch(1, INT64_MAX); }, {"1 to 1073741824"});
}

TEST(MetaTokenBatch, HasTheShapesAndNoMemory) {
  const Batch batch = meta_token_batch(2, 3);
  for (const auto& tensor : {batch.input("tokens"), batch.target("targets")}) {
    EXPECT_TRUE(tensor.is_meta());
    EXPECT_EQ(tensor.raw(), nullptr);
    EXPECT_EQ(tensor.dtype(), DType::kI32);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    EXPECT_EQ(tensor.bytes(), 24);
  }
}

}  // namespace
}  // namespace quire::data
