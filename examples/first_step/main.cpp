// The smallest training: one parameter, w = 1, two ranks, one step of SGD.
//
// An example is a number x, the output is w x, and the loss of a step is the
// mean output over its examples: so the gradient of an example is its x, and w
// ends at 1 - 0.1 * mean(x), on both ranks.
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "quire/quire.h"

using namespace quire;

class Slope final : public nn::Layer {
 public:
  struct Options {};
  explicit Slope(Options) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var& x = in.only();
    return autograd::linear(x, w_(x.tape()));
  }

 private:
  nn::Parameter w_{*this, "w", {.shape = {1, 1}, .init = nn::constant(1)}};
};

// A lane has a fixed number of slots; "valid" is 1 for those that hold an
// example. Lanes with more examples weigh more.
class SumOfValid final : public nn::Loss {
 public:
  std::int64_t weight(const Batch& lane) const override {
    const Tensor& valid = lane.target("valid");
    const float* first = valid.data<float>();
    return std::lround(std::accumulate(first, first + valid.numel(), 0.0));
  }
  Result forward(const nn::Values& out, const Batch& lane) const override {
    const nn::Var& y = out.only();
    return {.sum = autograd::sum(y * y.tape().leaf(lane.target("valid")))};
  }
};

// What an empty slot holds (99) counts for nothing.
Batch lane_of(std::int64_t slots, std::vector<float> examples) {
  std::vector<float> valid(examples.size(), 1.0f);
  examples.resize(static_cast<std::size_t>(slots), 99.0f);
  valid.resize(static_cast<std::size_t>(slots), 0.0f);
  return {.inputs = {{"x", tensor_of(examples, {slots, 1})}},
          .targets = {{"valid", tensor_of(valid, {slots, 1})}}};
}

// One step over two lanes; zero if both ranks end with `expected`.
int step_ends_at(float expected, const std::vector<Batch>& lanes) {
  nn::Model model;
  model.add<Slope>("slope", {});
  const SumOfValid loss;
  const auto sgd = optim::sgd({});
  const auto rank_main = [&](comm::Communicator& communicator) {
    Allocator memory({});
    ThreadPool threads(1);
    engine::Engine engine({.model = &model,
                           .loss = &loss,
                           .optimizer = sgd.get(),
                           .options = {.lanes = 2, .groups = {.lr = 0.1}},
                           .communicator = &communicator,
                           .allocator = &memory,
                           .pool = &threads});
    std::vector<Batch> mine;
    for (int lane : engine.lanes())
      mine.push_back(lanes[static_cast<std::size_t>(lane)]);
    engine.step(0, mine);

    engine.open();
    const float w = *engine.value(model.find("slope.w")).data<float>();
    engine.close();
    std::printf("rank %d: w = %.1f\n", communicator.rank(), w);
    return std::abs(w - expected) < 1e-6f ? 0 : 1;
  };
  const comm::RunResult result = comm::run_threads(2, {}, rank_main);
  if (result.failure)
    std::fprintf(stderr, "%s\n", result.failure->to_string().c_str());
  return result.exit_code;
}

int main() {
  std::printf("one example each, of gradients 2 and 6: mean 4\n");
  const int first = step_ends_at(0.6f, {lane_of(1, {2}), lane_of(1, {6})});
  std::printf("three slots: one of gradient 2, three of gradient 6: mean 5\n");
  const int second =
      step_ends_at(0.5f, {lane_of(3, {2}), lane_of(3, {6, 6, 6})});
  return first + second == 0 ? 0 : 1;
}
