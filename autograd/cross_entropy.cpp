#include "quire/kernels/cross_entropy.h"

#include <fmt/format.h>

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"
#include "quire/kernels/elementwise.h"

namespace quire::autograd {
namespace {

constexpr std::string_view kName = "cross_entropy_sum";

bool leads(const Shape& labels, const Shape& logits) {
  if (logits.rank() != labels.rank() + 1) return false;
  for (int i = 0; i < labels.rank(); ++i)
    if (labels[i] != logits[i]) return false;
  return true;
}

Tape& checked(const Var& logits, const Tensor& labels,
              const CrossEntropyOptions& options) {
  Tape& tape = compute_tape_of(kName, {{"logits", logits}});
  if (!labels.defined() || labels.dtype() != DType::kI32 ||
      !leads(labels.shape(), logits.shape()))
    refuse(kName, {{"logits", logits}},
           fmt::format(
               "[..., V] and labels i32 of its leading dimensions, not {}",
               labels.defined() ? fmt::format("{} {}", name_of(labels.dtype()),
                                              labels.shape().to_string())
                                : "undefined ones"));
  require_fraction(kName, {{"logits", logits}}, "smoothing", options.smoothing);
  return tape;
}

struct Saved {
  Var logits;
  Tensor labels, lse;  // [M]
  CrossEntropyOptions options;
};

void backward(const Saved& saved, const Tensor& dy) {
  Tape& tape = saved.logits.tape();
  const Tensor& logits = saved.logits.value();
  // The largest tensor of a model: written over where nobody else reads it.
  const bool mine = logits.unique() && !saved.logits.is_parameter();
  Tensor dlogits =
      mine ? logits : tape.allocate(logits.dtype(), logits.shape());
  kernels::cross_entropy_backward({.logits = as_matrix(logits),
                                   .labels = saved.labels,
                                   .lse = saved.lse,
                                   .dlogits = as_matrix(dlogits),
                                   .scale = scalar_of(dy),
                                   .ignore = saved.options.ignore,
                                   .smoothing = saved.options.smoothing},
                                  tape.stream());
  tape.add_gradient(saved.logits, std::move(dlogits));
}

}  // namespace

Var cross_entropy_sum(const Var& logits, const Tensor& labels,
                      const CrossEntropyOptions& options) {
  Tape& tape = checked(logits, labels, options);
  const Shape rows{labels.numel()};
  Saved saved{.logits = logits,
              .labels = labels.view(rows),
              .lse = tape.allocate(DType::kF32, rows),
              .options = options};
  Tensor y = tape.allocate(DType::kF32, {1});
  const double sum =
      kernels::cross_entropy_forward({.logits = as_matrix(logits.value()),
                                      .labels = saved.labels,
                                      .lse = saved.lse,
                                      .ignore = options.ignore,
                                      .smoothing = options.smoothing},
                                     tape.stream());
  kernels::fill({.y = y, .value = static_cast<float>(sum)}, tape.stream());
  return tape.record(
      kName, std::move(y), std::span(&logits, 1),
      [saved = std::move(saved)](const Tensor& dy) { backward(saved, dy); });
}

}  // namespace quire::autograd
