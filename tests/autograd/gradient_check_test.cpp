#include "quire/autograd/gradient_check.h"

#include <gtest/gtest.h>

#include "quire/autograd/operations.h"
#include "quire/kernels/elementwise.h"
#include "tests/support/tensors.h"

namespace quire::autograd {
namespace {

using namespace quire::testing;
using Inputs = std::span<const Var>;

// 2 x, whose backward believes that it is `believed` x.
Var twice(const Var& x, float believed) {
  Tape& tape = x.tape();
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::scale({.x = x.value(), .y = y, .factor = 2.0f}, tape.stream());
  return tape.record(
      "twice", y, std::span(&x, 1), [x, believed](const Tensor& dy) {
        Tape& tape = x.tape();
        Tensor dx = tape.allocate(x.dtype(), x.shape());
        kernels::scale({.x = dy, .y = dx, .factor = believed}, tape.stream());
        tape.add_gradient(x, dx);
      });
}

std::string check_twice(float believed) {
  return check_gradients(
      {.function = [=](Tape&, Inputs in) { return twice(in[0], believed); },
       .inputs = {random_tensor({2, 3}, 1)}});
}

TEST(GradientCheck, AcceptsARightBackward) { EXPECT_EQ(check_twice(2.0f), ""); }

TEST(GradientCheck, RejectsAWrongFactorAndNamesInputAndElement) {
  expect_mentions(check_twice(2.1f), {"input 0 [2, 3]", "element"});
}

TEST(GradientCheck, RejectsNaN) {
  EXPECT_NE(check_twice(std::numeric_limits<float>::quiet_NaN()), "");
}

TEST(GradientCheck, RejectsABackwardThatForgetsAnInput) {
  const auto report = check_gradients(
      {.function =
           [](Tape& tape, Inputs in) {
             const Var alone = tape.leaf(in[1].value());
             return in[0] * alone;
           },
       .inputs = {random_tensor({3}, 1), random_tensor({3}, 2)}});
  expect_mentions(report, {"input 1", "backward gave 0"});
  EXPECT_EQ(report.find("input 0"), std::string::npos);
}

TEST(GradientCheck, ChecksParameters) {
  EXPECT_EQ("", check_gradients({.function =
                                     [](Tape& tape, Inputs in) {
                                       return linear(in[0], tape.parameter(1),
                                                     tape.parameter(0));
                                     },
                                 .inputs = {random_tensor({2, 3}, 1)},
                                 .parameters = {random_tensor({4}, 2),
                                                random_tensor({4, 3}, 3)}}));
}

TEST(GradientCheck, LeavesItsInputsAsTheyWere) {
  const Tensor x = random_tensor({4}, 1);
  const Tensor before = copy_of(x);
  check_gradients({.function = [](Tape&, Inputs in) { return gelu(in[0]); },
                   .inputs = {x}});
  expect_same_bits(x, before);
}

TEST(GradientCheck, RefusesAResultThatIsNotFp32) {
  expect_mentions(
      usage_error_of([] {
        check_gradients({.function = [](Tape&, Inputs in) { return in[0]; },
                         .inputs = {zeros({2}, DType::kBF16)}});
      }),
      {"bf16", "fp32"});
}

}  // namespace
}  // namespace quire::autograd
