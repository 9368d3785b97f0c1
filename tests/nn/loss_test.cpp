#include "quire/nn/loss.h"

#include <gtest/gtest.h>

#include "tests/support/tensors.h"

namespace quire::nn {
namespace {

using namespace quire::testing;

Batch with_targets(Tensor targets) {
  return {.inputs = {}, .targets = {{"targets", std::move(targets)}}};
}

class CrossEntropyTest : public ::testing::Test {
 protected:
  Tensor loss(const Tensor& logits, Tensor targets) {
    const auto result = CrossEntropy().forward(
        Values(tape_.leaf(logits)), with_targets(std::move(targets)));
    return result.sum.value();
  }

  Cpu cpu_;
  autograd::Tape tape_{{.stream = &cpu_.stream, .allocator = &cpu_.allocator}};
};

TEST_F(CrossEntropyTest, WeighsTheTargetsThatAreNotIgnored) {
  const Tensor targets = ids_of({1, -100, 0, 5, -100, -100}, {2, 3});
  EXPECT_EQ(CrossEntropy().weight(with_targets(targets)), 3);
  EXPECT_EQ(CrossEntropy({.ignore = 5}).weight(with_targets(targets)), 5);
}

TEST_F(CrossEntropyTest, WeighsNothingWhereAllIsIgnored) {
  EXPECT_EQ(CrossEntropy().weight(with_targets(ids_of({-100}, {1}))), 0);
}

TEST_F(CrossEntropyTest, IsTheSumOverWhatItWeighs) {
  const Tensor targets = ids_of({1, -100, 0, 3}, {2, 2});
  expect_close(loss(zeros({2, 2, 4}), targets),
               tensor_of({3 * 1.3862944f}, {1}), 1e-6);
}

TEST_F(CrossEntropyTest, RefusesTargetsOfAnotherTypeOrShape) {
  expect_mentions(
      usage_error_of([&] { CrossEntropy().weight(with_targets(zeros({2}))); }),
      {"targets", "fp32 [2]", "i32"});
  expect_mentions(usage_error_of([&] {
                    loss(zeros({2, 4}), ids_of({1, 2, 3}, {3}));
                  }),
                  {"[2, 4]", "[3]"});
}

TEST_F(CrossEntropyTest, NamesWhatTheBatchHasInsteadOfTargets) {
  const Batch batch{.inputs = {}, .targets = {{"labels", zeros({2})}}};
  expect_mentions(usage_error_of([&] { CrossEntropy().weight(batch); }),
                  {"targets", "labels"});
}

}  // namespace
}  // namespace quire::nn
