#include "quire/nn/values.h"

#include <gtest/gtest.h>

#include "quire/autograd/tape.h"
#include "tests/support/tensors.h"

namespace quire::nn {
namespace {

using namespace quire::testing;

class ValuesTest : public ::testing::Test {
 protected:
  ValuesTest() { tape_.enter("h.3"); }
  Var leaf(float value) { return tape_.leaf(tensor_of({value}, {1})); }

  Cpu cpu_;
  autograd::Tape tape_{{.stream = &cpu_.stream, .allocator = &cpu_.allocator}};
};

TEST_F(ValuesTest, GiveTheirOnlyVariable) {
  const Values values = leaf(4);
  expect_all(values.only().value(), 4);
  expect_all(values["x"].value(), 4);
}

TEST_F(ValuesTest, NameLayerAndContentWhereOneIsExpected) {
  const Values values = {{"tokens", leaf(1)}, {"mask", leaf(2)}};
  expect_mentions(usage_error_of([&] { values.only(); }),
                  {"\"h.3\"", "2 values", "tokens, mask"});
  usage_error_of([] { Values().only(); });
}

TEST_F(ValuesTest, NameWhatIsThereWhereANameIsMissing) {
  const Values values = {{"tokens", leaf(1)}, {"mask", leaf(2)}};
  expect_mentions(usage_error_of([&] { values["token"]; }),
                  {"\"h.3\"", "\"token\"", "tokens, mask"});
}

TEST_F(ValuesTest, TravelOnWithOneMoreOrOneReplaced) {
  const Values values = {{"x", leaf(1)}, {"skip", leaf(2)}};
  const Values more = values.with("mask", leaf(3));
  EXPECT_EQ(more.size(), 3u);
  expect_all(more["mask"].value(), 3);
  const Values replaced = values.with("skip", leaf(5));
  EXPECT_EQ(replaced.size(), 2u);
  expect_all(replaced["skip"].value(), 5);
  expect_all(values["skip"].value(), 2);
}

}  // namespace
}  // namespace quire::nn
