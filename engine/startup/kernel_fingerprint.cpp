#include "quire/engine/startup/kernel_fingerprint.h"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "quire/core/tile.h"
#include "quire/engine/startup/fixed_values.h"
#include "quire/engine/startup/rank_difference.h"
#include "quire/kernels/elementwise.h"
#include "quire/kernels/exact_sum.h"
#include "quire/kernels/tree_add.h"

namespace quire::engine {
namespace {

class Fingerprint {
 public:
  Fingerprint(const SegmentSetup& setup, const optim::Optimizer& optimizer)
      : setup_(setup),
        optimizer_(optimizer),
        values_(*setup.allocator, *setup.stream) {}

  std::string lines(const Batch& lane) {
    run_segments(lane);
    run_update();
    run_reduce();
    run_initialiser();
    return std::move(lines_);
  }

 private:
  void add(std::string_view layer, std::string_view operation,
           const Tensor& result) {
    std::uint64_t hash = 0;
    if (!result.is_meta()) {
      hash = hash64({result.raw(), static_cast<std::size_t>(result.bytes())});
    }
    lines_ += fmt::format("{}, {}: {}\n", layer, operation, to_hex(hash));
  }

  void run_segments(const Batch& lane) {
    const SegmentTrial trial(setup_, lane);
    std::set<std::string> seen;
    Flow flow = trial.inputs(lane);
    for (int s = 0; s <= setup_.structure->last(); ++s) {
      SegmentTrial::Trace trace = trial.traced(s, flow);
      if (seen.insert(std::move(trace.work)).second) {
        trial.run(
            s, flow,
            [this](std::string_view layer, std::string_view operation,
                   const Tensor& result) { add(layer, operation, result); });
      }
      flow = std::move(trace.out);
    }
  }

  Tensor fixed_range(const std::string& name) const {
    constexpr std::int64_t kElements = 4 * kTile + 3;
    return values_.make(
        {DType::kF32, {kElements}},
        {.name = name, .bound = 1.0f, .category = Category::kWorkspace});
  }

  // Two steps, so that states count too.
  void run_update() {
    optim::Optimizer::Range range{.master = fixed_range("master"),
                                  .gradient = fixed_range("gradient"),
                                  .published = {},
                                  .states = {}};
    const Tensor& master = range.master;
    const DType compute = setup_.options->precision.compute;
    const bool apart = compute != DType::kF32;
    range.published = apart ? setup_.allocator->zeros(compute, master.shape(),
                                                      Category::kWorkspace)
                            : master;
    for (std::size_t i = 0; i < optimizer_.states().size(); ++i) {
      range.states.push_back(setup_.allocator->zeros(
          DType::kF32, master.shape(), Category::kWorkspace));
    }
    for (std::int64_t step : {1, 2}) {
      optimizer_.update(range,
                        {.step = step,
                         .lr = 1e-2,
                         .weight_decay = 0.1,
                         .gradient_scale = 0.7},
                        *setup_.stream);
    }
    add(optimizer_.type(), "update", master);
    add(optimizer_.type(), "published values", range.published);
    for (const Tensor& state : range.states)
      add(optimizer_.type(), "state", state);
  }

  void run_reduce() {
    using kernels::TreeStep;
    const Tensor left = fixed_range("left");
    const Tensor right = fixed_range("right");
    for (const Tensor& leaf : {left, right}) {
      kernels::cast(
          {.x = leaf, .y = leaf, .through = setup_.options->precision.wire},
          *setup_.stream);
    }
    constexpr TreeStep kSteps[] = {TreeStep::kPush, TreeStep::kPush,
                                   TreeStep::kAdd};
    const Tensor inputs[] = {left, right};
    kernels::tree_add(
        {.inputs = inputs, .steps = kSteps, .outputs = std::span(&left, 1)},
        *setup_.stream);
    add("gradients", "tree sum", left);
    kernels::ExactSum squares;
    kernels::sum_of_squares({.x = left, .sum = &squares}, *setup_.stream);
    const double value = squares.value();
    lines_ += fmt::format("gradients, norm: {}\n",
                          to_hex(std::bit_cast<std::uint64_t>(value)));
  }

  void run_initialiser() {
    const Tensor values = fixed_range("initialiser");
    kernels::fill_random({.y = values,
                          .kind = kernels::FillRandom::Kind::kNormal,
                          .a = 0.0f,
                          .b = 1.0f,
                          .key = random_key(0, "initialiser", 0)},
                         *setup_.stream);
    add("parameters", "normal initialiser", values);
  }

  const SegmentSetup& setup_;
  const optim::Optimizer& optimizer_;
  FixedValues values_;
  std::string lines_;
};

}  // namespace

std::string hash_kernels(const SegmentSetup& setup,
                         const optim::Optimizer& optimizer, const Batch& lane) {
  return Fingerprint(setup, optimizer).lines(lane);
}

std::uint64_t agreed_kernels(const std::string& lines,
                             comm::Communicator& communicator, Stream& stream) {
  const std::uint64_t hash = hash64(lines);
  if (stream.scratch().device() == Device::kMeta) return hash;
  const auto difference = first_difference(
      communicator, lines,
      {.stream = &stream, .purpose = comm::Purpose::kControl, .unit = "start"});
  if (!difference) return hash;
  throw UsageError(fmt::format(
      "ranks 0 and {} compute other bits from the same input: rank 0 has "
      "\"{}\", rank {} has \"{}\"; start all ranks from one build on "
      "processors "
      "with the same instructions",
      difference->rank, difference->zero, difference->rank, difference->other));
}

}  // namespace quire::engine
