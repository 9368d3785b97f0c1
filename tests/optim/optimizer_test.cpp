#include "quire/optim/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quire/layout/row.h"
#include "quire/optim/adam.h"
#include "quire/optim/param_groups.h"
#include "quire/optim/sgd.h"
#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::optim {
namespace {

using testing::Cpu;
using testing::expect_all;
using testing::expect_close;
using testing::expect_mentions;
using testing::expect_same_bits;
using testing::Golden;
using testing::tensor_of;
using testing::usage_error_of;
using testing::values_of;
using testing::zeros;

constexpr AdamOptions kAdam = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

Tensor filled(std::int64_t numel, float value) {
  return tensor_of(std::vector<float>(numel, value), {numel});
}

// A whole parameter, flat, as its optimizer sees it.
Optimizer::Range range_of(const Optimizer& optimizer, const Tensor& values) {
  Optimizer::Range range{
      .master = testing::copy_of(values).view(Shape{values.numel()}),
      .gradient = zeros({values.numel()}),
      .published = {},
      .states = {}};
  range.published = range.master;
  for (std::size_t i = 0; i < optimizer.states().size(); ++i) {
    range.states.push_back(zeros({values.numel()}));
  }
  return range;
}

Optimizer::Range part_of(const Optimizer::Range& whole,
                         const layout::Range& owned) {
  const auto part = [&](const Tensor& tensor) {
    return tensor.range(owned.first, owned.count);
  };
  Optimizer::Range range{.master = part(whole.master),
                         .gradient = part(whole.gradient),
                         .published = part(whole.published),
                         .states = {}};
  for (const Tensor& state : whole.states) range.states.push_back(part(state));
  return range;
}

// Every rank updates what it owns.
void update_in_shards(const Optimizer& optimizer, const Optimizer::Range& whole,
                      const Optimizer::Scalars& scalars, int ranks) {
  Cpu cpu;
  const layout::Member member{.parameter = 0, .numel = whole.master.numel()};
  const layout::Row row({&member, 1}, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const layout::Range& owned : row.ranges(rank)) {
      optimizer.update(part_of(whole, owned), scalars, cpu.stream);
    }
  }
}

// Both parameters of the golden run, after each of its 12 steps.
void expect_golden(const Optimizer& optimizer, const std::string& name,
                   Optimizer::Scalars scalars) {
  const Golden golden("optimizers");
  for (const std::string tensor : {"matrix", "vector"}) {
    const Tensor after = golden.tensor(name + "." + tensor);
    const Tensor gradients = golden.tensor("grads." + tensor);
    auto range = range_of(optimizer, golden.tensor("init." + tensor));
    const std::int64_t n = range.master.numel();
    for (std::int64_t step = 0; step < 12; ++step) {
      range.gradient = gradients.range(step * n, n);
      scalars.step = step + 1;
      update_in_shards(optimizer, range, scalars, 1);
      expect_close(range.master, after.range(step * n, n), 1e-6);
    }
  }
}

TEST(Optimizer, FollowsTheReferenceForTwelveSteps) {
  expect_golden(*sgd({}), "sgd", {.step = 0, .lr = 0.1, .weight_decay = 0.0});
  expect_golden(*sgd({.momentum = 0.9}), "sgd_momentum",
                {.step = 0, .lr = 0.1, .weight_decay = 0.01});
  expect_golden(*sgd({.momentum = 0.9, .nesterov = true}), "sgd_nesterov",
                {.step = 0, .lr = 0.1, .weight_decay = 0.0});
  expect_golden(*adam(kAdam), "adam",
                {.step = 0, .lr = 0.01, .weight_decay = 0.1});
  expect_golden(*adamw({.beta1 = 0.9, .beta2 = 0.95}), "adamw",
                {.step = 0, .lr = 0.01, .weight_decay = 0.1});
}

TEST(Optimizer, NamesItsStates) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(adamw({})->states(), (Names{"exp_avg", "exp_avg_sq"}));
  EXPECT_EQ(sgd({})->states(), Names{});
  EXPECT_EQ(sgd({.momentum = 0.9})->states(), Names{"momentum_buffer"});
  EXPECT_EQ(adamw({})->type(), "adamw");
  EXPECT_EQ(adam({})->type(), "adam");
  EXPECT_EQ(sgd({})->type(), "sgd");
}

// 1 - lr * g / |g| = 0.9; then m = 0.02, v = 0.000312 and the corrections of
// step 2 give 0.873366.
TEST(Optimizer, CountsStepsOnceForAllParametersAndGroups) {
  const auto optimizer = adamw(kAdam);
  for (const std::int64_t numel : {1, 5, 300}) {
    auto range = range_of(*optimizer, filled(numel, 1.0f));
    range.gradient = filled(numel, 0.5f);
    update_in_shards(*optimizer, range,
                     {.step = 1, .lr = 0.1, .weight_decay = 0.0}, 1);
    expect_close(range.master, filled(numel, 0.9f), 1e-6);
    range.gradient = filled(numel, -0.25f);
    update_in_shards(*optimizer, range,
                     {.step = 2, .lr = 0.1, .weight_decay = 0.0}, 1);
    expect_close(range.master, filled(numel, 0.873366f), 1e-6);
  }
}

// What an update reads is in the range and the scalars alone, so a step after
// a resume, by another optimizer of the same options, has the same bits.
TEST(Optimizer, HoldsNoStateOfItsOwn) {
  const auto first = adamw(kAdam), second = adamw(kAdam);
  auto range = range_of(*first, filled(3, 1.0f));
  range.gradient = filled(3, 0.5f);
  update_in_shards(*first, range, {.step = 1, .lr = 0.1, .weight_decay = 0.0},
                   1);
  range.gradient = filled(3, -0.25f);
  update_in_shards(*second, range, {.step = 2, .lr = 0.1, .weight_decay = 0.0},
                   1);
  expect_close(range.master, filled(3, 0.873366f), 1e-6);
}

TEST(Optimizer, DecaysTheSameWayAtEveryLength) {
  const Optimizer::Scalars scalars{.step = 1, .lr = 0.1, .weight_decay = 0.1};
  for (const std::int64_t numel : {1, 3, 7, 8, 15, 16, 17, 100003}) {
    auto range = range_of(*adamw(kAdam), filled(numel, 1.0f));
    range.gradient = filled(numel, 0.5f);
    update_in_shards(*adamw(kAdam), range, scalars, 1);
    expect_close(range.master, filled(numel, 0.89f), 1e-6);
    expect_all(range.master, values_of(range.master)[0]);
  }
}

TEST(Optimizer, AddsAdamsDecayToTheGradient) {
  auto range = range_of(*adam(kAdam), filled(1, 1.0f));
  range.gradient = filled(1, 0.5f);
  update_in_shards(*adam(kAdam), range,
                   {.step = 1, .lr = 0.1, .weight_decay = 0.1}, 1);
  expect_close(range.master, filled(1, 0.9f), 1e-6);
}

TEST(Optimizer, DecaysMatricesAndLeavesBiasesInEveryShard) {
  const GroupOptions options{.lr = 0.1, .weight_decay = 0.1};
  const auto optimizer = adamw(kAdam);
  for (const bool decays : {true, false}) {
    const std::string name = "layer.parameter";
    const Group group = group_of({name, decays}, options);
    auto range = range_of(*optimizer, filled(1000, 1.0f));
    update_in_shards(
        *optimizer, range,
        {.step = 1, .lr = group.lr, .weight_decay = group.weight_decay}, 3);
    expect_all(range.master, decays ? 0.99f : 1.0f);
  }
}

TEST(Optimizer, HasTheSameBitsOnAnyNumberOfRanks) {
  const auto optimizer = adamw(kAdam);
  const auto master_of = [&](int ranks) {
    auto range = range_of(*optimizer, testing::random_tensor({1000}, 1));
    for (std::int64_t step = 1; step <= 3; ++step) {
      range.gradient = testing::random_tensor({1000}, 1 + step);
      update_in_shards(*optimizer, range,
                       {.step = step, .lr = 0.1, .weight_decay = 0.1}, ranks);
    }
    return range.master;
  };
  for (int ranks = 2; ranks <= 5; ++ranks) {
    expect_same_bits(master_of(ranks), master_of(1));
  }
}

TEST(Optimizer, PublishesTheMasterInTheComputeType) {
  const auto optimizer = sgd({});
  auto range = range_of(*optimizer, filled(7, 1.0f));
  range.published = zeros({7}, DType::kBF16);
  range.gradient = filled(7, 1.0f);
  update_in_shards(*optimizer, range,
                   {.step = 1, .lr = 0.001, .weight_decay = 0.0}, 1);
  expect_close(range.master, filled(7, 0.999f), 1e-6);
  expect_all(range.published, 1.0f);  // bf16 has 1 and 0.99609375, not 0.999
}

TEST(Optimizer, ScalesTheGradientWithoutChangingIt) {
  const auto optimizer = sgd({});
  auto range = range_of(*optimizer, filled(3, 1.0f));
  range.gradient = filled(3, 2.0f);
  update_in_shards(
      *optimizer, range,
      {.step = 1, .lr = 0.5, .weight_decay = 0.0, .gradient_scale = 0.25}, 1);
  expect_all(range.master, 0.75f);
  expect_all(range.gradient, 2.0f);
}

TEST(Optimizer, RefusesOptionsByKey) {
  expect_mentions(usage_error_of([] { adamw({.beta1 = 1.0}); }),
                  {"betas[0]", "is 1;", "from 0"});
  expect_mentions(usage_error_of([] { adam({.beta2 = -0.5}); }),
                  {"betas[1]", "-0.5"});
  expect_mentions(usage_error_of([] { adam({.beta1 = NAN}); }), {"betas[0]"});
  expect_mentions(usage_error_of([] { adamw({.eps = 0.0}); }), {"eps is 0"});
  expect_mentions(usage_error_of([] { adamw({.eps = 1e-50}); }), {"1e-50"});
  expect_mentions(usage_error_of([] { sgd({.momentum = 1.5}); }),
                  {"momentum is 1.5"});
  expect_mentions(usage_error_of([] { sgd({.nesterov = true}); }),
                  {"nesterov", "momentum above 0"});
}

TEST(Optimizer, RefusesStepZeroAndMissingStates) {
  Cpu cpu;
  const auto optimizer = adamw({});
  auto range = range_of(*optimizer, filled(2, 1.0f));
  const auto refusal = [&](std::int64_t step) {
    return usage_error_of([&] {
      optimizer->update(range, {.step = step, .lr = 0.1, .weight_decay = 0.0},
                        cpu.stream);
    });
  };
  expect_mentions(refusal(0), {"adamw", "step 0"});
  range.states.pop_back();
  expect_mentions(refusal(1), {"1 states", "exp_avg, exp_avg_sq"});
}

}  // namespace
}  // namespace quire::optim
