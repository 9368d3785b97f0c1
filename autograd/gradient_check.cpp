#include "quire/autograd/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quire/core/thread_pool.h"

namespace quire::autograd {
namespace {

// The values that are differentiated, parameters of the tape, and the
// gradients that reach them.
class Values final : public ParameterSource {
 public:
  Values(const GradientCheck& check, Allocator& allocator)
      : allocator_(allocator) {
    for (const Tensor& x : check.inputs) inputs.push_back(copied(x));
    for (const Tensor& x : check.parameters) parameters.push_back(copied(x));
    gradients_.resize(parameters.size());
  }

  Tensor value(int id) override { return parameters.at(index(id)); }
  bool trainable(int) const override { return true; }
  Gradient gradient(int id) override {
    Tensor& tensor = gradients_.at(index(id));
    const bool accumulate = tensor.defined();
    if (!accumulate)
      tensor = allocator_.allocate(DType::kF32, value(id).shape(),
                                   Category::kGradients);
    return {tensor, accumulate};
  }
  const std::vector<Tensor>& gradients() const { return gradients_; }

  std::vector<Tensor> inputs, parameters;

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  Tensor copied(const Tensor& x) {
    Tensor y = allocator_.allocate(x.dtype(), x.shape(), Category::kParameters);
    if (x.numel() > 0)
      std::memcpy(y.raw(), x.raw(), static_cast<std::size_t>(x.bytes()));
    return y;
  }

  Allocator& allocator_;
  std::vector<Tensor> gradients_;
};

class Checker {
 public:
  explicit Checker(const GradientCheck& check)
      : check_(check),
        pool_(1),
        allocator_({.device = Device::kCpu,
                    .budget_bytes = {},
                    .owner = "gradient check"}),
        stream_(Stream::Kind::kInline, "gradient check", pool_, allocator_),
        values_(check, allocator_) {}

  std::string run() {
    differentiate();
    std::string report;
    for (std::size_t i = 0; i < values_.inputs.size(); ++i)
      if (check_.inputs[i].dtype() == DType::kF32)
        report += compare(fmt::format("input {}", i), values_.inputs[i],
                          input_gradients_[i]);
    for (std::size_t i = 0; i < values_.parameters.size(); ++i)
      report += compare(fmt::format("parameter {}", i), values_.parameters[i],
                        values_.gradients()[i]);
    return report;
  }

 private:
  struct Run {
    Tape tape;
    std::vector<Var> inputs;
    Var y;
  };
  struct Loss {
    double value = 0.0;
    double magnitude = 0.0;  // of its terms: what they are rounded relative to
  };

  void call(Run& run) {
    run.tape.enter("gradient check");
    for (const Tensor& x : values_.inputs)
      run.inputs.push_back(run.tape.leaf(
          x, x.dtype() == DType::kF32 ? Tape::Grad::kYes : Tape::Grad::kNo));
    run.y = check_.function(run.tape, run.inputs);
    if (!run.y.defined() || run.y.dtype() != DType::kF32)
      throw UsageError(
          "check_gradients: the function gave " +
          std::string(run.y.defined() ? name_of(run.y.dtype()) : "nothing") +
          "; expected an fp32 variable");
  }
  Tape::Context context() {
    return {.stream = &stream_,
            .allocator = &allocator_,
            .parameters = &values_,
            .seed = check_.seed};
  }

  void differentiate();
  Loss loss();
  std::string compare(const std::string& name, const Tensor& x,
                      const Tensor& gradient);
  // d(loss)/d(x[i]) and how far rounding may have moved it.
  std::pair<double, double> difference(float& x);

  // In (-1, 1), never near 0: the weight of y's element i in the loss.
  float weight(std::int64_t i) const {
    const RandomKey key{.key = random_key(check_.seed, "gradient check", 0)};
    const float u = uniform(key.block(static_cast<std::uint64_t>(i))[0]);
    return u < 0.5f ? u - 1.0f : u;
  }

  const GradientCheck& check_;
  ThreadPool pool_;
  Allocator allocator_;
  Stream stream_;
  Values values_;
  std::vector<Tensor> input_gradients_;
};

void Checker::differentiate() {
  Run run{.tape = Tape(context()), .inputs = {}, .y = {}};
  call(run);
  Tensor dy =
      allocator_.allocate(DType::kF32, run.y.shape(), Category::kActivations);
  for (std::int64_t i = 0; i < dy.numel(); ++i) dy.data<float>()[i] = weight(i);
  run.tape.backward(std::span(&run.y, 1), std::span(&dy, 1));
  for (const Var& input : run.inputs)
    input_gradients_.push_back(run.tape.gradient(input));
}

Checker::Loss Checker::loss() {
  Run run{.tape = Tape(context()), .inputs = {}, .y = {}};
  call(run);
  Loss loss;
  for (std::int64_t i = 0; i < run.y.value().numel(); ++i) {
    const double term =
        static_cast<double>(weight(i)) * run.y.value().data<float>()[i];
    loss.value += term;
    loss.magnitude += std::abs(term);
  }
  return loss;
}

std::pair<double, double> Checker::difference(float& x) {
  const float at = x;
  const auto h = static_cast<float>(
      check_.step * std::max(1.0, std::abs(static_cast<double>(at))));
  const float high = at + h, low = at - h;
  x = high;
  const Loss above = loss();
  x = low;
  const Loss below = loss();
  x = at;
  const double width = static_cast<double>(high) - low;
  return {(above.value - below.value) / width,
          0x1p-21 * (above.magnitude + below.magnitude) / width};
}

std::string Checker::compare(const std::string& name, const Tensor& x,
                             const Tensor& gradient) {
  struct Element {
    std::int64_t index;
    double got, expected, rounding;
    double error() const { return std::abs(got - expected) - rounding; }
  } worst{-1, 0.0, 0.0, 0.0};
  double largest = 0.0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const auto [expected, rounding] = difference(x.data<float>()[i]);
    const double got = gradient.defined() ? gradient.data<float>()[i] : 0.0;
    largest = std::max(largest, std::abs(expected));
    const Element element{i, got, expected, rounding};
    // Written so that a NaN is the worst.
    if (worst.index < 0 || !(element.error() <= worst.error())) worst = element;
    if (std::isnan(worst.error())) break;
  }
  if (worst.index < 0 || worst.error() <= check_.tolerance * largest) return "";
  return fmt::format(
      "{} {}: element {}: backward gave {}, the difference says {}; the "
      "largest gradient is {}\n",
      name, x.shape().to_string(), worst.index, worst.got, worst.expected,
      largest);
}

}  // namespace

std::string check_gradients(const GradientCheck& check) {
  return Checker(check).run();
}

}  // namespace quire::autograd
