#include "quire/kernels/optimizer_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using testing::Cpu;
using testing::tensor_of;
using testing::zeros;

// A parameter with the states of either optimizer.
struct State {
  explicit State(const Tensor& start, DType published_type = DType::kF32)
      : master(testing::copy_of(start)),
        m(zeros(start.shape())),
        v(zeros(start.shape())),
        published(published_type == DType::kF32
                      ? master
                      : zeros(start.shape(), published_type)) {}

  AdamUpdate adam(const Tensor& grad, AdamUpdate settings, int step) const {
    settings.grad = grad;
    settings.master = master;
    settings.m = m;
    settings.v = v;
    settings.published = published;
    settings.correction1 = 1 - std::pow(settings.beta1, step);
    settings.correction2 = 1 - std::pow(settings.beta2, step);
    return settings;
  }
  SgdUpdate sgd(const Tensor& grad, SgdUpdate settings) const {
    settings.grad = grad;
    settings.master = master;
    if (settings.momentum != 0) settings.velocity = m;
    settings.published = published;
    return settings;
  }

  Tensor master, m, v, published;
};

AdamUpdate adam_settings(double lr, double beta2, double decay) {
  AdamUpdate settings{};
  settings.lr = lr;
  settings.beta1 = 0.9;
  settings.beta2 = beta2;
  settings.eps = 1e-8;
  settings.decay = decay;
  settings.decoupled = true;
  return settings;
}

SgdUpdate sgd_settings(double lr, double momentum, double decay) {
  SgdUpdate settings{};
  settings.lr = lr;
  settings.momentum = momentum;
  settings.decay = decay;
  return settings;
}

// Steps a golden parameter with `step(state, grad, number from 1)` and compares
// it after each of the twelve steps.
template <class Step>
void expect_golden(const std::string& name, Step step) {
  const testing::Golden golden("optimizers");
  for (const std::string tensor : {"matrix", "vector"}) {
    const State state(golden.tensor("init." + tensor));
    const Tensor grads = golden.tensor("grads." + tensor);
    const Tensor expected = golden.tensor(name + "." + tensor);
    const Shape& shape = state.master.shape();
    for (int i = 0; i < 12; ++i) {
      step(state, grads.range(i * shape.numel(), shape), i + 1);
      testing::expect_close(state.master,
                            expected.range(i * shape.numel(), shape), 1e-6);
    }
  }
}

void expect_golden_adam(const std::string& name, const AdamUpdate& settings) {
  for (auto kernel : {adam_update, reference::adam_update}) {
    Cpu cpu;
    expect_golden(name, [&](const State& state, const Tensor& grad, int step) {
      kernel(state.adam(grad, settings, step), cpu.stream);
    });
  }
}

void expect_golden_sgd(const std::string& name, const SgdUpdate& settings) {
  for (auto kernel : {sgd_update, reference::sgd_update}) {
    Cpu cpu;
    expect_golden(name, [&](const State& state, const Tensor& grad, int) {
      kernel(state.sgd(grad, settings), cpu.stream);
    });
  }
}

TEST(AdamUpdate, MatchesPyTorchsAdam) {
  AdamUpdate settings = adam_settings(0.01, 0.999, 0.1);
  settings.decoupled = false;
  expect_golden_adam("adam", settings);
}

TEST(AdamUpdate, MatchesPyTorchsAdamW) {
  expect_golden_adam("adamw", adam_settings(0.01, 0.95, 0.1));
}

TEST(SgdUpdate, MatchesPyTorchPlainWithMomentumAndNesterov) {
  expect_golden_sgd("sgd", sgd_settings(0.1, 0, 0));
  expect_golden_sgd("sgd_momentum", sgd_settings(0.1, 0.9, 0.01));
  SgdUpdate nesterov = sgd_settings(0.1, 0.9, 0);
  nesterov.nesterov = true;
  expect_golden_sgd("sgd_nesterov", nesterov);
}

// One master from 1 under gradients of 0.5 and then -0.25.
float after(int steps, const AdamUpdate& settings) {
  Cpu cpu;
  const State state(tensor_of({1.0f}, {1}));
  const float grads[] = {0.5f, -0.25f};
  for (int i = 0; i < steps; ++i) {
    adam_update(state.adam(tensor_of({grads[i]}, {1}), settings, i + 1),
                cpu.stream);
  }
  return state.master.data<float>()[0];
}

TEST(AdamUpdate, TakesTheStepsWorkedOutByHand) {
  EXPECT_NEAR(after(1, adam_settings(0.1, 0.999, 0)), 0.9, 1e-6);
  EXPECT_NEAR(after(2, adam_settings(0.1, 0.999, 0)), 0.873366, 1e-6);
}

TEST(AdamUpdate, DecaysTheMasterAndNotTheMoments) {
  AdamUpdate settings = adam_settings(0.1, 0.999, 0.1);
  EXPECT_NEAR(after(1, settings), 0.89, 1e-6);
  settings.decoupled = false;
  EXPECT_NEAR(after(1, settings), 0.90, 1e-6);
}

TEST(AdamUpdate, ScalesTheGradientFirst) {
  Cpu cpu;
  const State scaled(tensor_of({1, 2}, {2})), plain(tensor_of({1, 2}, {2}));
  AdamUpdate settings = adam_settings(0.1, 0.999, 0.1);
  adam_update(plain.adam(tensor_of({0.5f, -1.0f}, {2}), settings, 1),
              cpu.stream);
  settings.grad_scale = 0.25;
  adam_update(scaled.adam(tensor_of({2.0f, -4.0f}, {2}), settings, 1),
              cpu.stream);
  testing::expect_same_bits(scaled.master, plain.master);
  testing::expect_same_bits(scaled.v, plain.v);
}

TEST(AdamUpdate, LeavesAZeroGradientsMasterToTheDecay) {
  Cpu cpu;
  const State state(tensor_of({1.0f}, {1}));
  adam_update(state.adam(zeros({1}), adam_settings(0.1, 0.999, 0.1), 1),
              cpu.stream);
  EXPECT_NEAR(state.master.data<float>()[0], 0.99, 1e-7);
  const State undecayed(tensor_of({1.0f}, {1}));
  adam_update(undecayed.adam(zeros({1}), adam_settings(0.1, 0.999, 0), 1),
              cpu.stream);
  testing::expect_all(undecayed.master, 1.0f);
}

// Steps [begin, begin + count) of a parameter twice.
void step_range(const State& whole, const Tensor& grad, std::int64_t begin,
                std::int64_t count) {
  Cpu cpu(2);
  State part = whole;
  for (Tensor* t : {&part.master, &part.m, &part.v, &part.published}) {
    *t = t->range(begin, count);
  }
  const Tensor g = grad.range(begin, count);
  for (int step : {1, 2}) {
    adam_update(part.adam(g, adam_settings(0.1, 0.99, 0.1), step), cpu.stream);
  }
}

TEST(AdamUpdate, HasTheSameBitsOnAnyCutOfTheRange) {
  constexpr std::int64_t kLength = 83;
  const Tensor start = testing::random_tensor({kLength}, 1);
  const Tensor grad = testing::random_tensor({kLength}, 2);
  const State whole(start, DType::kBF16);
  step_range(whole, grad, 0, kLength);
  for (std::int64_t cut = 0; cut <= kLength; ++cut) {
    const State parts(start, DType::kBF16);
    step_range(parts, grad, 0, cut);
    step_range(parts, grad, cut, kLength - cut);
    testing::expect_same_bits(parts.master, whole.master);
    testing::expect_same_bits(parts.m, whole.m);
    testing::expect_same_bits(parts.v, whole.v);
    testing::expect_same_bits(parts.published, whole.published);
  }
}

void expect_equal(const State& got, const State& expected) {
  testing::expect_same_bits(got.master, expected.master);
  testing::expect_same_bits(got.m, expected.m);
  testing::expect_same_bits(got.v, expected.v);
  testing::expect_same_bits(got.published, expected.published);
}

constexpr std::int64_t kLengths[] = {0, 1, 3, 7, 8, 15, 16, 17, 1000003};

TEST(AdamUpdate, EqualsTheReferenceAtAnyLengthAndThreads) {
  const AdamUpdate settings = adam_settings(0.1, 0.99, 0.1);
  for (std::int64_t n : kLengths) {
    const Tensor start = testing::random_tensor({n}, 1);
    const Tensor grad = testing::random_tensor({n}, 2);
    const State expected(start, DType::kBF16);
    Cpu one;
    reference::adam_update(expected.adam(grad, settings, 3), one.stream);
    for (int threads : {1, 2, 3}) {
      const State got(start, DType::kBF16);
      Cpu cpu(threads);
      adam_update(got.adam(grad, settings, 3), cpu.stream);
      expect_equal(got, expected);
    }
  }
}

TEST(SgdUpdate, EqualsTheReferenceAtAnyLength) {
  SgdUpdate settings = sgd_settings(0.1, 0.9, 0.01);
  for (std::int64_t n : kLengths) {
    settings.nesterov = n % 2 == 0;
    settings.momentum = n % 3 == 0 && n % 2 == 1 ? 0.0 : 0.9;
    const Tensor start = testing::random_tensor({n}, 1);
    const Tensor grad = testing::random_tensor({n}, 2);
    const State expected(start, DType::kF16), got(start, DType::kF16);
    Cpu cpu(2);
    reference::sgd_update(expected.sgd(grad, settings), cpu.stream);
    sgd_update(got.sgd(grad, settings), cpu.stream);
    expect_equal(got, expected);
  }
}

TEST(SgdUpdate, AddsUpSmallStepsOfAPublishedBf16Value) {
  Cpu cpu;
  const State state(tensor_of({1.0f}, {1}), DType::kBF16);
  for (int i = 0; i < 1000; ++i) {
    sgd_update(state.sgd(tensor_of({1.0f}, {1}), sgd_settings(1e-3, 0, 0)),
               cpu.stream);
  }
  EXPECT_NEAR(testing::values_of(state.published)[0], 0.0, 1e-3);
}

TEST(SgdUpdate, RefusesAVelocityWithoutMomentumAndTheReverse) {
  Cpu cpu;
  const State state(zeros({3}));
  SgdUpdate args = state.sgd(zeros({3}), sgd_settings(0.1, 0, 0));
  args.velocity = zeros({3});
  const auto run = [&] { sgd_update(args, cpu.stream); };
  testing::expect_mentions(testing::usage_error_of(run), {"sgd_update"});
  args.momentum = 0.9;
  args.velocity = Tensor();
  testing::expect_mentions(testing::usage_error_of(run),
                           {"velocity undefined", "momentum"});
}

TEST(AdamUpdate, RefusesShapesThatDiffer) {
  Cpu cpu;
  const State state(zeros({3}));
  const auto run = [&] {
    adam_update(state.adam(zeros({4}), adam_settings(0.1, 0.99, 0), 1),
                cpu.stream);
  };
  testing::expect_mentions(testing::usage_error_of(run),
                           {"adam_update", "grad fp32 [4]", "m fp32 [3]"});
}

TEST(AdamUpdate, ComputesNothingOnMeta) {
  Cpu meta(1, Device::kMeta);
  const Tensor x = meta.empty(DType::kF32, {1000});
  AdamUpdate args = adam_settings(0.1, 0.99, 0);
  args.grad = args.master = args.m = args.v = args.published = x;
  args.correction1 = args.correction2 = 1;
  adam_update(args, meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

}  // namespace
}  // namespace quire::kernels
