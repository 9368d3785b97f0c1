#include "quire/autograd/operations.h"

#include <gtest/gtest.h>

#include "quire/autograd/gradient_check.h"
#include "tests/support/tensors.h"

namespace quire::autograd {
namespace {

using namespace quire::testing;
using Inputs = std::span<const Var>;

std::string check(std::vector<Tensor> inputs,
                  std::function<Var(Tape&, Inputs)> function) {
  return check_gradients(
      {.function = std::move(function), .inputs = std::move(inputs)});
}

// Runs `function` on a tape in `mode` and gives its value.
Tensor evaluate(std::vector<Tensor> inputs,
                const std::function<Var(Inputs)>& function,
                Tape::Mode mode = Tape::Mode::kTraining) {
  Cpu cpu;
  Tape tape({.stream = &cpu.stream, .allocator = &cpu.allocator, .mode = mode});
  tape.enter("here");
  std::vector<Var> leaves;
  for (const Tensor& input : inputs) leaves.push_back(tape.leaf(input));
  return function(leaves).value();
}

TEST(Linear, IsTheProductWithTheTransposedWeight) {
  const Tensor y = evaluate(
      {tensor_of({1, 2}, {1, 1, 2}), tensor_of({3, 4, 5, 6, 7, 8}, {3, 2}),
       tensor_of({0.5f, 0, -1}, {3})},
      [](Inputs in) { return linear(in[0], in[1], in[2]); });
  expect_same_bits(y, tensor_of({11.5f, 17, 22}, {1, 1, 3}));
}

TEST(Linear, HasItsGradient) {
  EXPECT_EQ(
      "", check({random_tensor({2, 3, 5}, 1), random_tensor({4, 5}, 2),
                 random_tensor({4}, 3)},
                [](Tape&, Inputs in) { return linear(in[0], in[1], in[2]); }));
}

TEST(Linear, NeedsNoBias) {
  EXPECT_EQ("", check({random_tensor({3, 5}, 1), random_tensor({4, 5}, 2)},
                      [](Tape&, Inputs in) { return linear(in[0], in[1]); }));
}

TEST(Embedding, HasItsGradientAlsoForRepeatedIds) {
  EXPECT_EQ("",
            check({ids_of({4, 0, 4, 1}, {2, 2}), random_tensor({6, 3}, 1)},
                  [](Tape&, Inputs in) { return embedding(in[0], in[1]); }));
}

TEST(LayerNorm, HasItsGradient) {
  EXPECT_EQ("", check({random_tensor({2, 3, 7}, 1), random_tensor({7}, 2),
                       random_tensor({7}, 3)},
                      [](Tape&, Inputs in) {
                        return layer_norm(in[0], in[1], in[2]);
                      }));
}

TEST(RmsNorm, HasItsGradient) {
  EXPECT_EQ("", check({random_tensor({2, 3, 7}, 1), random_tensor({7}, 2)},
                      [](Tape&, Inputs in) { return rms_norm(in[0], in[1]); }));
}

TEST(Swiglu, HasItsGradients) {
  EXPECT_EQ("", check({random_tensor({2, 3}, 1), random_tensor({2, 3}, 2)},
                      [](Tape&, Inputs in) { return swiglu(in[0], in[1]); }));
}

TEST(Rotary, HasItsGradient) {
  const std::vector<float> frequencies = {1.0f, 0.3f};
  EXPECT_EQ("", check({random_tensor({2, 5, 8}, 1)}, [&](Tape&, Inputs in) {
              return rotary(in[0] * in[0], frequencies);
            }));
}

TEST(Activations, HaveTheirGradients) {
  const Tensor x = random_tensor({3, 5}, 1);
  EXPECT_EQ("", check({x}, [](Tape&, Inputs in) { return gelu(in[0]); }));
  EXPECT_EQ("", check({x}, [](Tape&, Inputs in) { return gelu_erf(in[0]); }));
  const Tensor away_from_zero = tensor_of({-2, -0.5f, 0.5f, 3}, {4});
  EXPECT_EQ("", check({away_from_zero},
                      [](Tape&, Inputs in) { return relu(in[0]); }));
}

TEST(Arithmetic, HasItsGradients) {
  const Tensor a = random_tensor({2, 3}, 1), b = random_tensor({2, 3}, 2);
  EXPECT_EQ("", check({a, b}, [](Tape&, Inputs in) { return in[0] + in[1]; }));
  EXPECT_EQ("", check({a, b}, [](Tape&, Inputs in) { return in[0] * in[1]; }));
  EXPECT_EQ("",
            check({a}, [](Tape&, Inputs in) { return scale(in[0], -2.5f); }));
}

TEST(Arithmetic, AddsBothGradientsOfAVariableUsedTwice) {
  const Tensor a = random_tensor({2, 3}, 1);
  EXPECT_EQ("", check({a}, [](Tape&, Inputs in) { return in[0] + in[0]; }));
  EXPECT_EQ("", check({a}, [](Tape&, Inputs in) {
              return in[0] * in[0] * in[0] + in[0];
            }));
}

TEST(AddRows, RepeatsATableOverTheBatch) {
  const Tensor y = evaluate(
      {tensor_of({1, 2, 3, 4}, {2, 2, 1}), tensor_of({10, 20}, {2, 1})},
      [](Inputs in) { return add_rows(in[0], in[1]); });
  expect_same_bits(y, tensor_of({11, 22, 13, 24}, {2, 2, 1}));
}

TEST(AddRows, HasItsGradients) {
  const auto function = [](Tape&, Inputs in) { return add_rows(in[0], in[1]); };
  const Tensor x = random_tensor({2, 3, 4}, 1);
  EXPECT_EQ("", check({x, random_tensor({4}, 2)}, function));
  EXPECT_EQ("", check({x, random_tensor({3, 4}, 2)}, function));
}

TEST(Reshape, HasItsGradient) {
  EXPECT_EQ("", check({random_tensor({2, 6}, 1)}, [](Tape&, Inputs in) {
              return reshape(gelu(in[0]), {3, 4}) * reshape(in[0], {3, 4});
            }));
}

TEST(Rows, AreAPartOfTheFirstDimension) {
  const Tensor y = evaluate({tensor_of({1, 2, 3, 4, 5, 6}, {3, 2})},
                            [](Inputs in) { return rows(in[0], 1, 2); });
  expect_same_bits(y, tensor_of({3, 4, 5, 6}, {2, 2}));
}

TEST(Rows, HaveAGradientThatIsZeroElsewhere) {
  EXPECT_EQ("", check({random_tensor({5, 3}, 1)}, [](Tape&, Inputs in) {
              return rows(gelu(in[0]), 1, 2) + rows(in[0], 3, 2);
            }));
}

TEST(Sum, AddsAllElements) {
  const Tensor y = evaluate({tensor_of({1, 2, 3, -10}, {2, 2})},
                            [](Inputs in) { return sum(in[0]); });
  expect_same_bits(y, tensor_of({-4}, {1}));
  EXPECT_EQ("", check({random_tensor({2, 3}, 1)},
                      [](Tape&, Inputs in) { return sum(gelu(in[0])); }));
}

TEST(Dropout, HasTheGradientOfItsMask) {
  EXPECT_EQ("", check({random_tensor({4, 8}, 1)}, [](Tape&, Inputs in) {
              return dropout(gelu(dropout(in[0], 0.5f)), 0.25f);
            }));
}

TEST(Dropout, IsTheIdentityInEvaluationAndForZero) {
  const Tensor x = random_tensor({4, 8}, 1);
  expect_same_bits(evaluate(
                       {x}, [](Inputs in) { return dropout(in[0], 0.5f); },
                       Tape::Mode::kEvaluation),
                   x);
  expect_same_bits(
      evaluate({x}, [](Inputs in) { return dropout(in[0], 0.0f); }), x);
}

TEST(Attention, HasItsGradients) {
  const Tensor qkv = random_tensor({2, 5, 3 * 4}, 1);
  for (const bool causal : {true, false}) {
    EXPECT_EQ("", check({qkv}, [causal](Tape&, Inputs in) {
                return attention(in[0], {.heads = 2, .causal = causal});
              }));
  }
}

TEST(Attention, SharesKeysAndValuesBetweenHeads) {
  EXPECT_EQ("", check({random_tensor({1, 5, 8 * 3}, 1)}, [](Tape&, Inputs in) {
              return attention(in[0], {.heads = 4, .kv_heads = 2});
            }));
}

TEST(Attention, HasTheGradientOfItsDropout) {
  EXPECT_EQ("", check({random_tensor({1, 6, 12}, 1)}, [](Tape&, Inputs in) {
              return attention(in[0], {.heads = 2, .dropout = 0.3f});
            }));
}

TEST(Attention, HasTheGradientsOfSeparateTensors) {
  const Tensor q = random_tensor({2, 5, 4 * 3}, 1);
  const Tensor k = random_tensor({2, 5, 2 * 3}, 2);
  const Tensor v = random_tensor({2, 5, 2 * 3}, 3);
  EXPECT_EQ("", check({q, k, v}, [](Tape&, Inputs in) {
              return attention(in[0], in[1], in[2],
                               {.heads = 4, .kv_heads = 2});
            }));
}

TEST(Attention, HasTheGradientsOfAWindow) {
  EXPECT_EQ("", check({random_tensor({1, 7, 12}, 1)}, [](Tape&, Inputs in) {
              return attention(in[0], {.heads = 2, .window = 3});
            }));
}

// [B, T, columns] of x from `first` on.
Tensor columns_of(const Tensor& x, std::int64_t first, std::int64_t columns) {
  const Tensor y = zeros({x.dim(0), x.dim(1), columns});
  for (std::int64_t i = 0; i < y.numel(); ++i)
    y.data<float>()[i] =
        x.data<float>()[i / columns * x.dim(2) + first + i % columns];
  return y;
}

TEST(Attention, GivesPackedAndSeparateTensorsTheSameBits) {
  const AttentionOptions options{.heads = 4, .kv_heads = 2};
  const Tensor qkv = random_tensor({2, 5, 8 * 3}, 1);
  const Tensor packed =
      evaluate({qkv}, [&](Inputs in) { return attention(in[0], options); });
  const Tensor apart = evaluate(
      {columns_of(qkv, 0, 12), columns_of(qkv, 12, 6), columns_of(qkv, 18, 6)},
      [&](Inputs in) { return attention(in[0], in[1], in[2], options); });
  expect_same_bits(apart, packed);
}

TEST(CrossEntropy, HasItsGradientWithIgnoredLabelsAndSmoothing) {
  const Tensor labels = ids_of({3, -100, 0, 6}, {2, 2});
  for (const float smoothing : {0.0f, 0.1f}) {
    EXPECT_EQ("", check({random_tensor({2, 2, 7}, 1)}, [&](Tape&, Inputs in) {
                return cross_entropy_sum(in[0], labels,
                                         {.smoothing = smoothing});
              }));
  }
}

TEST(CrossEntropy, IsTheLogarithmOfTheClassesForEqualLogits) {
  const Tensor y = evaluate({zeros({3, 4})}, [](Inputs in) {
    return cross_entropy_sum(in[0], ids_of({0, -100, 3}, {3}));
  });
  expect_close(y, tensor_of({2 * 1.3862944f}, {1}), 1e-6);
}

TEST(Operations, NameLayerOperationAndShapesOfWhatDoesNotFit) {
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2, 3}), zeros({4, 5})},
                             [](Inputs in) { return linear(in[0], in[1]); });
                  }),
                  {"\"here\"", "linear", "x fp32 [2, 3]", "w fp32 [4, 5]"});
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2, 3}), zeros({3, 2})},
                             [](Inputs in) { return in[0] + in[1]; });
                  }),
                  {"\"here\"", "add", "[2, 3]", "[3, 2]", "equal shapes"});
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2, 3, 10})}, [](Inputs in) {
                      return attention(in[0], {.heads = 3});
                    });
                  }),
                  {"\"here\"", "attention", "[2, 3, 10]", "9 D"});
  expect_mentions(
      usage_error_of([] {
        evaluate({zeros({2, 3, 12}), zeros({2, 3, 12})}, [](Inputs in) {
          return attention(in[0], in[1], in[1], {.heads = 4, .kv_heads = 2});
        });
      }),
      {"\"here\"", "attention", "k fp32 [2, 3, 12]", "2 D"});
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2, 3, 10})}, [](Inputs in) {
                      return rotary(in[0], std::vector<float>(2));
                    });
                  }),
                  {"\"here\"", "rotary", "[2, 3, 10]", "not 2"});
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2, 3}), zeros({2})},
                             [](Inputs in) { return rms_norm(in[0], in[1]); });
                  }),
                  {"\"here\"", "rms_norm", "gamma fp32 [2]"});
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2, 3}), zeros({3, 2})},
                             [](Inputs in) { return swiglu(in[0], in[1]); });
                  }),
                  {"\"here\"", "swiglu", "up fp32 [3, 2]"});
}

TEST(Operations, RefuseAWindowThatIsNotCausal) {
  for (const AttentionOptions& options :
       {AttentionOptions{.heads = 1, .causal = false, .window = 2},
        AttentionOptions{.heads = 1, .window = -1}})
    expect_mentions(usage_error_of([&] {
                      evaluate({zeros({1, 2, 3})}, [&](Inputs in) {
                        return attention(in[0], options);
                      });
                    }),
                    {"\"here\"", "attention", "window"});
}

TEST(Operations, RefuseMixedTypes) {
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2}), zeros({2}, DType::kBF16)},
                             [](Inputs in) { return in[0] * in[1]; });
                  }),
                  {"multiply", "fp32 [2]", "bf16 [2]"});
}

TEST(Operations, RefuseUndefinedVariables) {
  expect_mentions(usage_error_of([] {
                    evaluate({zeros({2})},
                             [](Inputs in) { return in[0] + Var(); });
                  }),
                  {"add", "b undefined"});
}

TEST(Operations, RefuseWhatWouldBeNoProbability) {
  for (const float p : {-0.1f, 1.0f, std::numeric_limits<float>::quiet_NaN()})
    usage_error_of([p] {
      evaluate({zeros({2})}, [p](Inputs in) { return dropout(in[0], p); });
    });
}

}  // namespace
}  // namespace quire::autograd
