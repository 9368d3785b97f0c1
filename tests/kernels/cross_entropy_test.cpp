#include "quire/kernels/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using testing::Cpu;
using testing::ids_of;
using testing::tensor_of;
using testing::zeros;

struct Result {
  double loss;
  Tensor lse;
  Tensor dlogits;
};

struct Case {
  Tensor logits;
  Tensor labels;
  float smoothing = 0;
  float scale = 1;
  int threads = 1;
};

template <class Forward, class Backward>
Result run(const Case& c, Forward forward, Backward backward) {
  Cpu cpu(c.threads);
  const Tensor lse = zeros(c.labels.shape());
  const double loss = forward({.logits = c.logits,
                               .labels = c.labels,
                               .lse = lse,
                               .smoothing = c.smoothing},
                              cpu.stream);
  const Tensor dlogits = zeros(c.logits.shape(), c.logits.dtype());
  backward({.logits = c.logits,
            .labels = c.labels,
            .lse = lse,
            .dlogits = dlogits,
            .scale = c.scale,
            .smoothing = c.smoothing},
           cpu.stream);
  return {loss, lse, dlogits};
}

Result fast(const Case& c) {
  return run(c, cross_entropy_forward, cross_entropy_backward);
}
Result plain(const Case& c) {
  return run(c, reference::cross_entropy_forward,
             reference::cross_entropy_backward);
}

void expect_golden(const std::string& name, float smoothing) {
  const testing::Golden golden("operators");
  const Case c{.logits = golden.tensor(name + ".x"),
               .labels = golden.tensor(name + ".labels"),
               .smoothing = smoothing,
               .scale = golden.tensor(name + ".weight_of_y").data<float>()[0]};
  const double loss = golden.tensor(name + ".y").data<float>()[0];
  for (const Result& result : {fast(c), plain(c)}) {
    EXPECT_NEAR(result.loss, loss, 1e-6 * loss);
    testing::expect_close(result.dlogits, golden.tensor(name + ".grad.x"),
                          1e-5);
  }
}

TEST(CrossEntropy, MatchesPyTorch) { expect_golden("cross_entropy_sum", 0); }

TEST(CrossEntropy, MatchesPyTorchWithLabelSmoothing) {
  expect_golden("cross_entropy_smoothed_sum", 0.1f);
}

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheirNumber) {
  const Result result = fast(
      {.logits = tensor_of({3, 3, 3, 3}, {1, 4}), .labels = ids_of({2}, {1})});
  EXPECT_NEAR(result.loss, std::log(4.0), 1e-7);
  testing::expect_close(result.dlogits,
                        tensor_of({0.25f, 0.25f, -0.75f, 0.25f}, {1, 4}), 1e-6);
}

TEST(CrossEntropy, SurvivesLogitsBeyondTheRangeOfExp) {
  const Result result = fast(
      {.logits = tensor_of({1e4f, -1e4f}, {1, 2}), .labels = ids_of({1}, {1})});
  EXPECT_EQ(result.loss, 2e4);
  testing::expect_same_bits(result.dlogits, tensor_of({1, -1}, {1, 2}));
}

TEST(CrossEntropy, GivesAMaskedLogitNoProbability) {
  const float masked = -std::numeric_limits<float>::infinity();
  const Result result = fast({.logits = tensor_of({1, masked, 1}, {1, 3}),
                              .labels = ids_of({0}, {1})});
  EXPECT_NEAR(result.loss, std::log(2.0), 1e-7);
  EXPECT_EQ(result.dlogits.data<float>()[1], 0.0f);
}

TEST(CrossEntropy, LetsNanThrough) {
  const float nan = std::nanf("");
  for (std::int64_t at : {0, 3, 69}) {
    const Tensor logits = testing::random_tensor({1, 70}, 4);
    logits.data<float>()[at] = nan;
    const Result result = fast({.logits = logits, .labels = ids_of({5}, {1})});
    EXPECT_TRUE(std::isnan(result.loss));
    EXPECT_TRUE(std::isnan(result.dlogits.data<float>()[1]));
  }
}

TEST(CrossEntropy, IsExactlyZeroIfAllRowsAreIgnored) {
  const Result result = fast({.logits = testing::random_tensor({2, 9}, 1),
                              .labels = ids_of({-100, -100}, {2})});
  EXPECT_EQ(result.loss, 0.0);
  testing::expect_all(result.dlogits, 0.0f);
  EXPECT_GT(result.lse.data<float>()[1], 0.0f);
}

TEST(CrossEntropy, RefusesALabelOutsideTheVocabulary) {
  for (std::int32_t label : {-1, 9, 1 << 30}) {
    const Case c{.logits = zeros({2, 9}), .labels = ids_of({3, label}, {2})};
    const std::string text = testing::usage_error_of([&] { fast(c); });
    testing::expect_mentions(text, {std::to_string(label), "row 1", "[0, 9)"});
  }
}

TEST(CrossEntropy, RefusesShapesThatDoNotFit) {
  const Case c{.logits = zeros({2, 9}), .labels = ids_of({3}, {1})};
  testing::expect_mentions(testing::usage_error_of([&] { fast(c); }),
                           {"fp32 [2, 9]", "i32 [1]"});
}

void expect_near_reference(const Case& c, double tolerance) {
  const Result expected = plain(c);
  const Result result = fast(c);
  EXPECT_NEAR(result.loss, expected.loss, 1e-6 * expected.loss);
  testing::expect_close(result.lse, expected.lse, 1e-6);
  testing::expect_close(result.dlogits, expected.dlogits, tolerance);
}

TEST(CrossEntropy, IsCloseToTheReferenceAtAnyWidth) {
  for (std::int64_t width : {1, 2, 15, 16, 17, 255, 256, 257, 1000, 50257}) {
    const Case c{.logits = testing::random_tensor({3, width}, 2),
                 .labels = testing::random_ids({3}, width, 3),
                 .smoothing = width % 2 == 0 ? 0.1f : 0.0f,
                 .scale = 0.25f};
    if (width > 1) expect_near_reference(c, 1e-5);
  }
}

TEST(CrossEntropy, IsCloseToTheReferenceInBf16) {
  expect_near_reference(
      {.logits = testing::random_tensor({5, 700}, 2, DType::kBF16),
       .labels = testing::random_ids({5}, 700, 3)},
      1.0 / 256);
}

TEST(CrossEntropy, HasTheSameBitsOnAnyNumberOfThreads) {
  Case c{.logits = testing::random_tensor({70, 1001}, 2),
         .labels = testing::random_ids({70}, 1001, 3),
         .smoothing = 0.1f};
  const Result one = fast(c);
  for (int threads : {2, 3}) {
    c.threads = threads;
    const Result result = fast(c);
    EXPECT_EQ(result.loss, one.loss);
    testing::expect_same_bits(result.lse, one.lse);
    testing::expect_same_bits(result.dlogits, one.dlogits);
  }
}

TEST(CrossEntropy, MayWriteTheGradientOverTheLogits) {
  const Case c{.logits = testing::random_tensor({3, 101}, 2),
               .labels = ids_of({100, -100, 0}, {3})};
  const Result apart = fast(c);
  Cpu cpu;
  cross_entropy_backward({.logits = c.logits,
                          .labels = c.labels,
                          .lse = apart.lse,
                          .dlogits = c.logits},
                         cpu.stream);
  testing::expect_same_bits(c.logits, apart.dlogits);
}

TEST(CrossEntropy, TakesItsScratchOnMetaAndReturnsZero) {
  Cpu cpu, meta(1, Device::kMeta);
  fast({.logits = zeros({0, 9}), .labels = zeros({0}, DType::kI32)});
  cross_entropy_forward({.logits = zeros({300, 9}),
                         .labels = zeros({300}, DType::kI32),
                         .lse = zeros({300})},
                        cpu.stream);
  const double loss =
      cross_entropy_forward({.logits = meta.empty(DType::kF32, {300, 9}),
                             .labels = meta.empty(DType::kI32, {300}),
                             .lse = meta.empty(DType::kF32, {300})},
                            meta.stream);
  EXPECT_EQ(loss, 0.0);
  EXPECT_EQ(meta.scratch_peak(), cpu.scratch_peak());
}

}  // namespace
}  // namespace quire::kernels
