// Runs segments over single lanes and holds what lives between runs: the values
// that flow forward, the tapes that wait for their backward, the gradients that
// flow back.
//
//   for each wave:  begin  forward(0..)  turn  backward(..0)
// with every lane of the wave at each segment.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "quire/autograd/tape.h"
#include "quire/core/batch.h"
#include "quire/engine/execution/segment_setup.h"

namespace quire::engine {

// Used by the rank's thread.
class SegmentRunner {
 public:
  // `parameters` is borrowed.
  SegmentRunner(const SegmentSetup& setup,
                autograd::ParameterSource& parameters)
      : setup_(setup), parameters_(&parameters) {}

  enum class Mode : std::uint8_t { kTraining, kEvaluation };
  // A lane enters its wave: its batch's inputs are what the first segment gets.
  // The batch outlives the wave.
  struct Lane {
    int lane;
    const Batch* batch;
    std::uint32_t step;
    Mode mode;
  };
  void begin(const Lane& lane);

  void forward(int segment, int lane);
  struct LossSums {
    double sum;  // 0 on the meta device
    std::vector<nn::Loss::Metric> metrics;
  };
  // The last segment and the loss; in training also its backward, with
  // d(total)/d(sum) = seed. Ends an evaluated lane.
  LossSums turn(int lane, float seed);
  // Evaluation: what the last segment gives, instead of turn(). Ends the lane.
  Tensor output(int lane);
  // Forward again if recomputed, then the backward. Ends the lane after the
  // first trainable segment.
  void backward(int segment, int lane);

 private:
  // One segment's run that waits for its backward.
  struct Pending {
    std::vector<NamedTensor> inputs;  // recompute: all that is kept
    std::unique_ptr<autograd::Tape> tape;
    nn::Values in;
    nn::Values out;
  };
  struct State {
    Lane lane{};
    std::vector<NamedTensor> flow;  // what the next segment gets
    // Of what the segment that ran backward last got.
    std::vector<NamedTensor> gradients;
    std::vector<Pending> pending;  // by segment
  };
  enum class Recording : bool { kNo, kYes };

  State& state(int lane);
  void finish(int lane);
  bool recomputes() const {
    return setup_.options->precision.recompute == Recompute::kLayer;
  }
  Pending run(int segment, const State& state,
              const std::vector<NamedTensor>& inputs, Recording recording);
  nn::Values leaves(int segment, autograd::Tape& tape,
                    const std::vector<NamedTensor>& inputs,
                    Recording recording);
  Tensor to_compute_type(const Tensor& input);
  LossSums read(const nn::Loss::Result& loss) const;
  Tensor seed_tensor(autograd::Tape& tape, float seed);
  std::vector<NamedTensor> backward_of(
      Pending& pending, const std::vector<NamedTensor>& gradients);
  void end_backward(int segment, int lane);

  SegmentSetup setup_;
  autograd::ParameterSource* parameters_;
  std::vector<State> states_;  // lanes of the wave in progress
};

}  // namespace quire::engine
