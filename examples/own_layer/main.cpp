// A layer of our own: its gradients are right, and trained in shards on two
// ranks it ends with the bits that it ends with on one.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "residual.h"

using namespace quire;

namespace {

constexpr std::int64_t kVocab = 31;
constexpr int kLanes = 4;

nn::Model network() {
  nn::Model net;
  net.add<nn::Embedding>("embed", {.count = kVocab, .width = 12});
  for (int i = 0; i < 3; ++i)
    net.add<Residual>("block." + std::to_string(i), {.width = 12});
  net.add<nn::Linear>("head", {.in = 12, .out = kVocab, .bias = false});
  net.tie("head.weight", "embed.weight");
  return net;
}

// In (-1, 1).
Tensor some_values(const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (float& value : values) value = between(random);
  return tensor_of(values, shape);
}

// Nothing if the layer's backward is what differences of its forward say.
std::string wrong_gradients() {
  nn::Model one;
  one.add<Residual>("block", {.width = 5});
  std::vector<Tensor> parameters;
  for (const nn::ParameterInfo& parameter : one.parameters())
    parameters.push_back(some_values(parameter.shape, 2));
  const nn::Layer& layer = *one.positions()[0].layer;
  return autograd::check_gradients({
      .function =
          [&](autograd::Tape&, std::span<const autograd::Var> in) {
            return layer.forward(in[0]).only();
          },
      .inputs = {some_values({3, 5}, 1)},
      .parameters = parameters,
  });
}

// Something to learn: after token t comes 3 t + 1.
Batch lane_of(std::int64_t step, int lane) {
  std::vector<std::int32_t> tokens, targets;
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t token = (step * 7 + lane * 8 + i) % kVocab;
    tokens.push_back(static_cast<std::int32_t>(token));
    targets.push_back(static_cast<std::int32_t>((3 * token + 1) % kVocab));
  }
  return {.inputs = {{"tokens", tensor_of(tokens, {1, 8})}},
          .targets = {{"targets", tensor_of(targets, {1, 8})}}};
}

struct Trained {
  std::vector<double> losses;
  std::vector<float> values;  // of all parameters

  friend bool operator==(const Trained&, const Trained&) = default;
};

// Of every rank: stage 3, each keeps its share of the parameters.
void train_rank(const nn::Model& net, comm::Communicator& communicator,
                Trained& trained) {
  const nn::CrossEntropy loss;
  const auto adamw = optim::adamw({});
  Allocator memory({});
  ThreadPool threads(1);
  engine::Engine engine({.model = &net,
                         .loss = &loss,
                         .optimizer = adamw.get(),
                         .options = {.lanes = kLanes, .groups = {.lr = 0.01}},
                         .communicator = &communicator,
                         .allocator = &memory,
                         .pool = &threads});
  for (std::int64_t step = 0; step < 20; ++step) {
    std::vector<Batch> batches;
    for (int lane : engine.lanes()) batches.push_back(lane_of(step, lane));
    trained.losses.push_back(engine.step(step, batches).loss);
  }
  engine.open();
  for (int id = 0; id < static_cast<int>(net.parameters().size()); ++id) {
    const Tensor value = engine.value(id);
    const float* first = value.data<float>();
    trained.values.insert(trained.values.end(), first, first + value.numel());
  }
  engine.close();
}

// What the last rank of a world has in the end.
Trained train(int ranks) {
  const nn::Model net = network();
  std::vector<Trained> trained(static_cast<std::size_t>(ranks));
  const comm::RunResult result =
      comm::run_threads(ranks, {}, [&](comm::Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        train_rank(net, communicator, trained[rank]);
        return 0;
      });
  if (result.failure) throw SystemError(result.failure->to_string());
  return trained.back();
}

}  // namespace

int main() {
  const std::string wrong = wrong_gradients();
  std::printf("gradients: %s\n", wrong.empty() ? "agree" : wrong.c_str());

  const Trained one = train(1);
  const Trained two = train(2);
  std::printf("loss: %.4f at first, %.4f in the end\n", one.losses.front(),
              one.losses.back());
  const bool same = one == two;
  std::printf("one rank and two: %s\n",
              same ? "the same bits" : "different bits");
  const bool learned = one.losses.back() < 0.5 * one.losses.front();
  return wrong.empty() && same && learned ? 0 : 1;
}
