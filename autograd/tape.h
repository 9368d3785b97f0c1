// The tape of one segment's run over one lane. Operations append their
// backward; backward() runs them in reverse and drops each as it goes, so that
// memory falls as the backward proceeds.
//
//   leaf | parameter | operation ...   backward   gradient ...
//
// A tape is used by one thread. It carries everything that a layer needs and no
// global gives: stream, allocator, training or evaluation, random keys, the
// parameters' values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/autograd/variable.h"
#include "quire/core/allocator.h"
#include "quire/core/philox.h"
#include "quire/core/stream.h"

namespace quire::autograd {

// Where the values and gradients of a lane's parameters are; the engine (or a
// test) provides it. `id` is the parameter's index in its model.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  // The value in the compute type, of the parameter's shape. Throws UsageError
  // if it is not gathered.
  virtual Tensor value(int id) = 0;
  virtual bool trainable(int id) const = 0;

  // fp32, of the parameter's shape. accumulate: something was written before,
  // add to it; else overwrite all of it.
  struct Gradient {
    Tensor tensor;
    bool accumulate;
  };
  // Called once for every contribution that a backward makes. REQUIRES:
  // trainable(id).
  virtual Gradient gradient(int id) = 0;
};

class Tape {
 public:
  enum class Mode : std::uint8_t { kTraining, kEvaluation };
  struct Context {
    Stream* stream;
    Allocator* allocator;
    ParameterSource* parameters = nullptr;  // needed if any parameter is used
    Mode mode = Mode::kTraining;
    std::uint64_t seed = 0;
    std::uint32_t step = 0;
    std::uint32_t lane = 0;
  };
  // Told of every operation's result, in order: the kernel fingerprint, a
  // trace.
  using Observer =
      std::function<void(std::string_view layer, std::string_view operation,
                         const Tensor& result)>;

  explicit Tape(const Context& context);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Stream& stream() const { return *context_.stream; }
  Allocator& allocator() const { return *context_.allocator; }
  bool training() const { return context_.mode == Mode::kTraining; }

  // What follows belongs to this layer: its name keys the random numbers and
  // stands in messages. Operations are counted from 0 again, so that running a
  // layer a second time draws the same numbers.
  void enter(std::string_view layer);
  const std::string& layer() const { return layer_; }
  // The key of the next random operation of this layer.
  RandomKey next_key();
  void observe(Observer observer) { observer_ = std::move(observer); }

  enum class Grad : bool { kNo, kYes };
  // A value from outside: a batch's tensor, or what the layer before gave.
  Var leaf(Tensor value, Grad grad = Grad::kNo);
  // The parameter `id`; the same Var node for every call. Gradients go to the
  // source. In evaluation it needs no gradient.
  Var parameter(int id);
  // What the source holds for it now.
  Tensor parameter_value(int id) const;

  // For operations. A new tensor in the category of activations.
  Tensor allocate(DType dtype, const Shape& shape);
  // For operations. The result of `operation` on `inputs`; `backward(dy)` is
  // kept only if an input needs a gradient, and calls add_gradient or
  // gradient_slot for each input that does. It captures Vars: with their values
  // those it reads, without_value() those it only adds a gradient to.
  using Backward = std::function<void(const Tensor& dy)>;
  Var record(std::string_view operation, Tensor result,
             std::span<const Var> inputs, Backward backward);
  // For backwards. Adds dx (of var's shape, any float type) to var's gradient;
  // takes it over if it is the first.
  void add_gradient(const Var& var, Tensor dx);
  // For backwards that can write into place: where the fp32 gradient of `var`
  // goes, if it is a parameter. For any other variable a fresh fp32 tensor, to
  // be handed to add_gradient by finish_slot.
  ParameterSource::Gradient gradient_slot(const Var& var);
  void finish_slot(const Var& var, const ParameterSource::Gradient& slot);

  // Runs the backwards of everything that `outputs` depend on; gradients[i] is
  // d(loss)/d(outputs[i]), of its shape; an undefined one counts as zero. Once
  // per tape. Afterwards gradient(leaf) is what reached a leaf (undefined:
  // nothing).
  void backward(std::span<const Var> outputs,
                std::span<const Tensor> gradients);
  Tensor gradient(const Var& leaf) const;

 private:
  struct Node {
    Backward backward;  // empty for leaves and parameters
    Tensor gradient;
  };
  void require_mine(const Var& var, std::string_view call) const;
  ParameterSource& source(int id) const;
  Tensor converted(Tensor x, DType dtype);
  Tensor added(Tensor a, Tensor b);
  void add_to_parameter(int id, Tensor dx);
  void run_backwards();

  Context context_;
  std::string layer_;
  std::uint64_t operation_index_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::pair<int, std::int32_t>> parameter_nodes_;
  Observer observer_;
  bool backward_ran_ = false;
};

}  // namespace quire::autograd
