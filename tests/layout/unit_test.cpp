#include "quire/layout/unit.h"

#include <gtest/gtest.h>

#include "quire/core/error.h"

namespace quire::layout {
namespace {

const std::vector<std::string> kNames = {"embed", "block.0", "block.1", "head"};

std::vector<int> parameters_of(const Row& row) {
  std::vector<int> parameters;
  for (const Segment& segment : row.segments()) {
    parameters.push_back(segment.parameter);
  }
  return parameters;
}

TEST(Units, HoldTheParametersOfOneSegmentInTheirOrder) {
  const std::vector<ParameterUse> uses = {{"block.0.w", 300, true, {1}},
                                          {"embed.w", 7, true, {0}},
                                          {"block.0.b", 3, true, {1}}};
  const std::vector<Unit> units = make_units(uses, kNames, 2);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].name, "embed");
  EXPECT_EQ(units[1].name, "block.0");
  EXPECT_EQ(parameters_of(units[1].trainable), (std::vector<int>{0, 2}));
  EXPECT_EQ(units[1].full(), 1024);  // 3 tiles, 2 for each rank
}

TEST(Units, OfSharedParametersFollowTheFirstUsersOwn) {
  const std::vector<ParameterUse> uses = {{"embed.weight", 20, true, {0, 3}},
                                          {"embed.position", 20, true, {0}},
                                          {"block.w", 20, true, {1, 2}},
                                          {"head.bias", 20, true, {3}}};
  const std::vector<Unit> units = make_units(uses, kNames, 1);
  ASSERT_EQ(units.size(), 4u);
  EXPECT_EQ(units[0].name, "embed");
  EXPECT_EQ(units[1].name, "embed.weight");
  EXPECT_EQ(units[1].segments, (std::vector<int>{0, 3}));
  EXPECT_EQ(units[2].name, "block.w");
  EXPECT_EQ(units[3].name, "head");
}

TEST(Units, KeepFrozenParametersInARowOfTheirOwn) {
  const std::vector<ParameterUse> uses = {{"block.0.weight", 16, false, {1}},
                                          {"block.0.bias", 4, true, {1}},
                                          {"block.1.weight", 16, false, {2}}};
  const std::vector<Unit> units = make_units(uses, kNames, 2);
  EXPECT_EQ(parameters_of(units[0].frozen), (std::vector<int>{0}));
  EXPECT_EQ(parameters_of(units[0].trainable), (std::vector<int>{1}));
  EXPECT_EQ(units[0].full(), 1024);
  EXPECT_TRUE(units[1].trainable.empty());  // no gradients and no states
  EXPECT_EQ(units[1].trainable.full(), 0);
}

std::string refusal(std::vector<int> segments) {
  const std::vector<ParameterUse> uses = {{"w", 1, true, std::move(segments)}};
  try {
    make_units(uses, kNames, 1);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Units, NameTheParameterWhoseSegmentsAreWrong) {
  for (const std::vector<int>& segments :
       {std::vector<int>{}, {4}, {-1}, {2, 1}, {1, 1}}) {
    EXPECT_NE(refusal(segments).find("parameter w"), std::string::npos);
  }
}

}  // namespace
}  // namespace quire::layout
