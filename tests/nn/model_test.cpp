#include "quire/nn/model.h"

#include <gtest/gtest.h>

#include "quire/nn/layers.h"
#include "tests/support/tensors.h"

namespace quire::nn {
namespace {

using namespace quire::testing;

// embed [7, 4]; up 4 -> 6; down 6 -> 4; head 4 -> 7 without bias.
Model small() {
  Model model;
  model.add<Embedding>("embed", {.count = 7, .width = 4});
  model.add<Linear>("up", {.in = 4, .out = 6});
  model.add<Linear>("down", {.in = 6, .out = 4}, {.joins_previous = true});
  model.add<Linear>("head", {.in = 4, .out = 7, .bias = false});
  return model;
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const auto& info : model.parameters()) names.push_back(info.name);
  return names;
}

const ParameterInfo& info_of(const Model& model, std::string_view name) {
  return model.parameter(model.find(name));
}

TEST(Model, ListsParametersInTheOrderOfLayersAndDeclaration) {
  EXPECT_EQ(names_of(small()), (std::vector<std::string>{
                                   "embed.weight", "up.weight", "up.bias",
                                   "down.weight", "down.bias", "head.weight"}));
}

TEST(Model, DecaysMatricesOnlyUnlessToldOtherwise) {
  const Model model = small();
  EXPECT_TRUE(info_of(model, "up.weight").decay);
  EXPECT_FALSE(info_of(model, "up.bias").decay);
}

TEST(Model, RemembersWhichLayersJoinTheOneBefore) {
  const Model model = small();
  EXPECT_FALSE(model.positions()[1].joins_previous);
  EXPECT_TRUE(model.positions()[2].joins_previous);
}

TEST(Model, CountsElements) {
  EXPECT_EQ(small().numel(), 28 + 24 + 6 + 24 + 4 + 28);
}

TEST(Model, CountsElementsBeyond32Bits) {
  Model model;
  model.add<Linear>("wide", {.in = 32769, .out = 65536, .bias = false});
  EXPECT_EQ(model.numel(), 2147549184);
}

TEST(Model, RefusesALayerNameThatIsTakenOrEmpty) {
  Model model = small();
  const auto error = usage_error_of(
      [&] { model.add<LayerNorm>("up", LayerNorm::Options{.width = 4}); });
  expect_mentions(error, {"\"up\""});
  usage_error_of([&] { model.add<LayerNorm>("", {.width = 4}); });
  EXPECT_EQ(model.positions().size(), 4u);
}

// Its parameter is called child.weight.
class Nested final : public Layer {
 public:
  struct Options {};
  explicit Nested(Options) : child_(*this, "child", {.width = 2}) {}
  Values forward(const Values& in) const override { return in; }

 private:
  Child<LayerNorm> child_;
};

TEST(Model, RefusesLayersWhoseParametersWouldShareAName) {
  Model model;
  model.add<Nested>("a", {});
  const auto error =
      usage_error_of([&] { model.add<LayerNorm>("a.child", {.width = 2}); });
  expect_mentions(error, {"a.child.weight"});
  EXPECT_EQ(model.positions().size(), 1u);
  EXPECT_EQ(model.parameters().size(), 2u);
}

TEST(Model, SharesTheParametersOfARepeatedLayer) {
  Model model = small();
  model.repeat("up", "up.again");
  EXPECT_EQ(model.positions()[4].layer, model.positions()[1].layer);
  EXPECT_EQ(info_of(model, "up.weight").positions, (std::vector<int>{1, 4}));
  EXPECT_EQ(model.numel(), small().numel());
}

TEST(Model, NamesTheNearestLayerWhereNoneCanBeRepeated) {
  Model model = small();
  expect_mentions(usage_error_of([&] { model.repeat("don", "x"); }),
                  {"\"don\"", "\"down\""});
  usage_error_of([&] { model.repeat("up", "head"); });
}

TEST(Tie, MakesTwoNamesOneParameter) {
  Model model = small();
  model.tie("head.weight", "embed.weight");
  EXPECT_EQ(model.find("head.weight"), model.find("embed.weight"));
  const auto& shared = info_of(model, "head.weight");
  EXPECT_EQ(shared.name, "embed.weight");
  EXPECT_EQ(shared.aliases, std::vector<std::string>{"head.weight"});
  EXPECT_EQ(shared.positions, (std::vector<int>{0, 3}));
  EXPECT_EQ(model.numel(), small().numel() - 28);
}

TEST(Tie, KeepsTheTargetWhereverItStands) {
  Model model = small();
  model.tie("embed.weight", "head.weight");
  EXPECT_EQ(names_of(model).back(), "head.weight");
  EXPECT_EQ(info_of(model, "embed.weight").positions, (std::vector<int>{0, 3}));
  EXPECT_EQ(model.find("up.weight"), 0);  // ids are given anew
}

TEST(Tie, TakesAlongWhatWasTiedToTheAlias) {
  Model model = small();
  model.add<Linear>("other", {.in = 4, .out = 7, .bias = false});
  model.tie("other.weight", "head.weight");
  model.tie("head.weight", "embed.weight");
  EXPECT_EQ(model.find("other.weight"), model.find("embed.weight"));
  EXPECT_EQ(info_of(model, "embed.weight").positions,
            (std::vector<int>{0, 3, 4}));
}

TEST(Tie, RefusesOtherShapesNamingBoth) {
  Model model = small();
  expect_mentions(
      usage_error_of([&] { model.tie("up.weight", "embed.weight"); }),
      {"\"up.weight\"", "[6, 4]", "\"embed.weight\"", "[7, 4]"});
}

TEST(Tie, RefusesWhatIsTiedAlready) {
  Model model = small();
  model.tie("head.weight", "embed.weight");
  usage_error_of([&] { model.tie("head.weight", "embed.weight"); });
  usage_error_of([&] { model.tie("embed.weight", "head.weight"); });
  usage_error_of([&] { model.tie("up.weight", "up.weight"); });
}

TEST(Find, NamesTheNearestParameter) {
  const Model model = small();
  expect_mentions(usage_error_of([&] { model.find("up.wieght"); }),
                  {"\"up.wieght\"", "\"up.weight\""});
}

TEST(Freeze, TakesWhatAGlobMatches) {
  Model model = small();
  model.freeze("*.bias");
  EXPECT_FALSE(info_of(model, "up.bias").trainable);
  EXPECT_TRUE(info_of(model, "up.weight").trainable);
  EXPECT_EQ(model.trainable_numel(), model.numel() - 6 - 4);
}

TEST(Freeze, ReachesASharedParameterThroughItsAlias) {
  Model model = small();
  model.tie("head.weight", "embed.weight");
  model.freeze("head.*");
  EXPECT_FALSE(info_of(model, "embed.weight").trainable);
}

TEST(Freeze, OutlivesATie) {
  Model model = small();
  model.freeze("head.weight");
  model.tie("head.weight", "embed.weight");
  EXPECT_FALSE(info_of(model, "embed.weight").trainable);
}

TEST(Freeze, TakesNothingThatIsAddedLater) {
  Model model = small();
  model.freeze("*");
  model.add<LayerNorm>("norm", {.width = 4});
  EXPECT_TRUE(info_of(model, "norm.weight").trainable);
}

TEST(Freeze, RefusesAGlobThatMatchesNothing) {
  Model model = small();
  expect_mentions(usage_error_of([&] { model.freeze("ups.weight"); }),
                  {"\"ups.weight\"", "\"up.weight\""});
}

}  // namespace
}  // namespace quire::nn
