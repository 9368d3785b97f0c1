// Plans to be proved: drawn at random, made for every rank, and changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quire/engine/proof.h"
#include "quire/nn/layers.h"

namespace quire::test {

// Draws from small ranges, the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  int between(int low, int high) {
    return low + static_cast<int>(engine_() %
                                  static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937 engine_;
};

// Features of the drawn models' input.
inline constexpr std::int64_t kDrawnWidth = 9;

// Appends a linear layer of odd sizes, or an earlier one again, or dropout;
// returns how many features the model ends with.
inline std::int64_t append_drawn_layer(nn::Model& model, Draw& draw,
                                       std::int64_t in) {
  const auto count = static_cast<int>(model.positions().size());
  std::string name = "l";
  name += std::to_string(count);
  const nn::Model::Placement joins = {.joins_previous =
                                          count > 0 && draw.chance(20)};
  if (count > 0 && in == kDrawnWidth && draw.chance(20)) {
    model.repeat("l0", name);
    return in;
  }
  if (count > 0 && draw.chance(15)) {
    model.add<nn::Dropout>(name, {.probability = 0.25f}, joins);
    return in;
  }
  const std::int64_t out =
      count == 0 || draw.chance(50) ? kDrawnWidth : draw.between(1, 40);
  model.add<nn::Linear>(name, {.in = in, .out = out}, joins);
  if (count > 0 && in == kDrawnWidth && out == in && draw.chance(30))
    model.tie(name + ".weight", "l0.weight");
  return out;
}

inline nn::Model drawn_model(Draw& draw) {
  nn::Model model;
  std::int64_t width = kDrawnWidth;
  const int layers = draw.between(1, 6);
  for (int i = 0; i < layers; ++i)
    width = append_drawn_layer(model, draw, width);
  if (draw.chance(30)) model.freeze("*.bias");
  if (draw.chance(15)) model.freeze("l0.*");
  const auto trainable = [](const auto& parameter) {
    return parameter.trainable;
  };
  if (std::ranges::any_of(model.parameters(), trainable)) return model;
  return drawn_model(draw);
}

// Of `lanes` lanes: what changes time and memory, and the types.
inline engine::Options drawn_options(Draw& draw, int lanes) {
  engine::Options options;
  options.lanes = lanes;
  options.stage = static_cast<engine::Stage>(draw.between(0, 3));
  options.wave = draw.between(1, 5);
  options.prefetch = draw.between(0, 3);
  options.precision.wire = draw.chance(50) ? DType::kF32 : DType::kBF16;
  options.precision.compute = draw.chance(70) ? DType::kF32 : DType::kBF16;
  options.precision.recompute =
      draw.chance(70) ? engine::Recompute::kNone : engine::Recompute::kLayer;
  return options;
}

inline engine::PlanShape drawn_shape(Draw& draw) {
  const int lanes = draw.between(1, 11);
  return {.ranks = draw.between(1, 6),
          .lanes = lanes,
          .options = drawn_options(draw, lanes)};
}

// All ranks' plans of one step or evaluation.
struct Plans {
  engine::Structure structure;
  std::vector<engine::Plan> of_rank;

  std::vector<std::string> findings() const {
    return engine::prove(structure, std::span<const engine::Plan>(of_rank));
  }
  engine::Plan& rank(int r) { return of_rank[static_cast<std::size_t>(r)]; }
  int ranks() const { return static_cast<int>(of_rank.size()); }
  std::string to_string() const { return of_rank.front().to_string(structure); }
};

inline Plans plans_of(const nn::Model& model, const engine::PlanShape& shape,
                      bool training) {
  Plans result{engine::Structure(model, shape.ranks), {}};
  for (int r = 0; r < shape.ranks; ++r) {
    engine::PlanShape mine = shape;
    mine.rank = r;
    result.of_rank.push_back(
        training ? engine::training_plan(result.structure, mine)
                 : engine::evaluation_plan(result.structure, mine));
  }
  return result;
}

// Takes an op out of a plan; what waited for it waits for nothing instead.
inline engine::Op take_out(engine::Plan& plan, int index) {
  engine::Op taken = plan.ops[static_cast<std::size_t>(index)];
  plan.ops.erase(plan.ops.begin() + index);
  for (engine::Op& op : plan.ops) {
    std::erase(op.waits, index);
    for (int& wait : op.waits) wait -= wait > index ? 1 : 0;
  }
  return taken;
}

// Puts it in front of the op that is `index`; its own waits for ops behind
// that go.
inline void put_in(engine::Plan& plan, int index, engine::Op op) {
  for (engine::Op& other : plan.ops) {
    for (int& wait : other.waits) wait += wait >= index ? 1 : 0;
  }
  std::erase_if(op.waits, [&](int wait) { return wait >= index; });
  plan.ops.insert(plan.ops.begin() + index, std::move(op));
}

// Op `from` becomes op `to`.
inline void move_op(engine::Plan& plan, int from, int to) {
  engine::Op op = take_out(plan, from);
  put_in(plan, to, std::move(op));
}

}  // namespace quire::test
