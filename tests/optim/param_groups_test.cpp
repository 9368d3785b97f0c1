#include "quire/optim/param_groups.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/tensors.h"

namespace quire::optim {
namespace {

using testing::expect_mentions;
using testing::usage_error_of;

const std::vector<std::string> kNames = {"embed.weight", "block.0.weight",
                                         "block.0.bias"};
const GroupedParameter kTable = {.name = kNames[0], .decays = true};
const GroupedParameter kWeight = {.name = kNames[1], .decays = true};
const GroupedParameter kBias = {.name = kNames[2], .decays = false};

GroupOptions options_of(std::vector<GroupRule> rules) {
  return {.lr = 0.1, .weight_decay = 0.2, .rules = std::move(rules)};
}

std::string refusal(const GroupOptions& options) {
  return usage_error_of([&] { check_rules(options, kNames); });
}

TEST(Groups, DecayMatricesOnlyByDefault) {
  const GroupOptions options = options_of({});
  EXPECT_EQ(group_of(kWeight, options).weight_decay, 0.2);
  EXPECT_EQ(group_of(kBias, options).weight_decay, 0.0);
  EXPECT_EQ(group_of(kBias, options).lr, 0.1);
}

TEST(Groups, FollowTheFirstRuleThatMatches) {
  const GroupOptions options = options_of(
      {{.match = "*.bias", .lr = 0.5}, {.match = "block.*", .lr = 0.7}});
  EXPECT_EQ(group_of(kBias, options).lr, 0.5);
  EXPECT_EQ(group_of(kWeight, options).lr, 0.7);
  EXPECT_EQ(group_of(kTable, options).lr, 0.1);
}

TEST(Groups, LetARuleDecideTheDecayWhateverTheDefault) {
  const GroupOptions options =
      options_of({{.match = "*.bias", .weight_decay = 0.3},
                  {.match = "embed.*", .weight_decay = 0.0},
                  {.match = "*", .lr = 0.7}});
  EXPECT_EQ(group_of(kBias, options).weight_decay, 0.3);
  EXPECT_EQ(group_of(kTable, options).weight_decay, 0.0);
  EXPECT_EQ(group_of(kWeight, options).weight_decay, 0.2);
}

TEST(Groups, AcceptRulesThatEachDecideForSomething) {
  check_rules(options_of({}), kNames);
  check_rules(options_of({{.match = "*.bias", .lr = 1.0}, {.match = "*"}}),
              kNames);
}

TEST(Groups, RefuseRulesThatDoNothing) {
  expect_mentions(refusal(options_of({{.match = "*.weight"},
                                      {.match = "block.0.gain"},
                                      {.match = "embed.*"}})),
                  {"groups[1]", "block.0.gain", "nearest: block.0.bias",
                   "groups[2]", "embed.*", "earlier rules"});
}

TEST(Groups, RefuseRatesByKey) {
  GroupOptions options = options_of({{.match = "*", .lr = -0.5}});
  expect_mentions(refusal(options), {"groups[0].lr", "-0.5", "at least 0"});
  options.rules[0] = {.match = "*",
                      .weight_decay = std::numeric_limits<double>::infinity()};
  expect_mentions(refusal(options), {"groups[0].weight_decay", "inf"});
  expect_mentions(refusal({.lr = -1.0}), {"lr is -1"});
  expect_mentions(refusal({.lr = 1.0, .weight_decay = -1.0}), {"weight_decay"});
}

}  // namespace
}  // namespace quire::optim
