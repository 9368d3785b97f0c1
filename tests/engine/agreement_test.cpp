#include <gtest/gtest.h>

#include "quire/engine/engine.h"
#include "quire/nn/layers.h"
#include "quire/optim/adam.h"
#include "quire/optim/sgd.h"
#include "tests/support/token_loss.h"
#include "tests/support/world.h"

namespace quire::engine {
namespace {

using Optimizers = std::vector<std::unique_ptr<optim::Optimizer>>;

// What a run says whose rank r has the optimizer r.
std::string refusal_of(const Optimizers& optimizers) {
  nn::Model model;
  model.add<nn::Linear>("l", {.in = 3, .out = 2});
  const test::SumLoss loss;
  const auto ranks = static_cast<int>(optimizers.size());
  const auto result =
      testing::World{ranks, false, true}.run([&](auto& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        Allocator allocator({});
        ThreadPool pool(1);
        const Engine engine({.model = &model,
                             .loss = &loss,
                             .optimizer = optimizers[rank].get(),
                             .options = {},
                             .communicator = &communicator,
                             .allocator = &allocator,
                             .pool = &pool});
        return 0;
      });
  return result.failure ? result.failure->message : "";
}

void expect_refused(const Optimizers& optimizers, const std::string& zero,
                    const std::string& one) {
  const std::string message = refusal_of(optimizers);
  EXPECT_NE(message.find("rank 0 has \"optimizer " + zero), std::string::npos)
      << message;
  EXPECT_NE(message.find("rank 1 has \"optimizer " + one), std::string::npos)
      << message;
}

Optimizers pair(std::unique_ptr<optim::Optimizer> zero,
                std::unique_ptr<optim::Optimizer> one) {
  Optimizers optimizers;
  optimizers.push_back(std::move(zero));
  optimizers.push_back(std::move(one));
  return optimizers;
}

TEST(Agreement, TakesRanksWithTheSameOptimizer) {
  EXPECT_EQ(refusal_of(pair(optim::adamw({}), optim::adamw({}))), "");
}

TEST(Agreement, RefusesAnOptimizerOfAnotherTypeOrSetting) {
  expect_refused(pair(optim::adamw({}), optim::adam({})),
                 "adamw betas 0.9 0.999 eps 1e-08",
                 "adam betas 0.9 0.999 eps 1e-08");
  expect_refused(pair(optim::adamw({}), optim::adamw({.beta2 = 0.95})),
                 "adamw betas 0.9 0.999 eps 1e-08",
                 "adamw betas 0.9 0.95 eps 1e-08");
  expect_refused(pair(optim::adam({.eps = 1e-6}), optim::adam({})),
                 "adam betas 0.9 0.999 eps 1e-06",
                 "adam betas 0.9 0.999 eps 1e-08");
  expect_refused(pair(optim::sgd({.momentum = 0.9}),
                      optim::sgd({.momentum = 0.9, .nesterov = true})),
                 "sgd momentum 0.9 nesterov false",
                 "sgd momentum 0.9 nesterov true");
}

}  // namespace
}  // namespace quire::engine
