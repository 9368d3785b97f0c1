#include "quire/nn/module.h"

#include <gtest/gtest.h>

#include "quire/nn/layers.h"
#include "tests/support/tensors.h"

namespace quire::nn {
namespace {

using namespace quire::testing;

class Named final : public Module {
 public:
  struct Options {
    std::string first;
    std::string second;
  };
  explicit Named(Options o)
      : first_(*this, o.first, {.shape = {2}}),
        second_(*this, o.second, {.width = 3}) {}

 private:
  Parameter first_;
  Child<LayerNorm> second_;
};

TEST(Module, NamesItsParametersByPathInTheOrderOfDeclaration) {
  Named module({.first = "a", .second = "norm"});
  std::vector<std::string> paths;
  module.for_each_parameter([&](const std::string& path, Parameter& parameter) {
    paths.push_back(path + " " + parameter.options().shape.to_string());
  });
  EXPECT_EQ(paths, (std::vector<std::string>{"a [2]", "norm.weight [3]",
                                             "norm.bias [3]"}));
}

TEST(Module, RefusesANameTwice) {
  const auto error =
      usage_error_of([] { Named({.first = "same", .second = "same"}); });
  expect_mentions(error, {"\"same\""});
}

TEST(Module, RefusesEmptyAndDottedNames) {
  usage_error_of([] { Named({.first = "", .second = "b"}); });
  const auto error =
      usage_error_of([] { Named({.first = "a", .second = "b.c"}); });
  expect_mentions(error, {"\"b.c\"", "dots"});
}

TEST(Parameter, CannotBeReadOutsideAModel) {
  Cpu cpu;
  Tape tape({.stream = &cpu.stream, .allocator = &cpu.allocator});
  const LayerNorm norm({.width = 3});
  const Var x = tape.leaf(zeros({1, 3}));
  expect_mentions(usage_error_of([&] { norm(x); }),
                  {"\"weight\"", "part of a model"});
}

}  // namespace
}  // namespace quire::nn
