#include "quire/core/batch.h"

#include <gtest/gtest.h>

#include "quire/core/allocator.h"

namespace quire {
namespace {

TEST(Batch, FindsTensorsByName) {
  Allocator allocator({});
  Batch batch;
  batch.inputs.push_back(
      {"tokens", allocator.zeros(DType::kI32, {2, 3}, Category::kActivations)});
  batch.targets.push_back(
      {"labels", allocator.zeros(DType::kI32, {2}, Category::kActivations)});
  EXPECT_EQ(batch.input("tokens").shape(), (Shape{2, 3}));
  EXPECT_EQ(batch.target("labels").shape(), Shape{2});
}

TEST(Batch, AMissingNameIsRefusedWithWhatIsThere) {
  Batch batch;
  batch.inputs = {{"tokens", {}}, {"mask", {}}};
  try {
    batch.input("image");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "the batch has no input \"image\"; it has: tokens, mask");
  }
  EXPECT_THROW(batch.target("tokens"), UsageError);
}

}  // namespace
}  // namespace quire
