#include "quire/convert/huggingface/foreign_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "quire/convert/huggingface/matching.h"
#include "quire/convert/huggingface/transposed.h"
#include "quire/core/error.h"
#include "quire/nn/model.h"

namespace quire::convert {
namespace {

void read_matched(const Match& match, std::int64_t first,
                  std::span<std::byte> out) {
  const ForeignTensor& tensor = *match.tensor;
  if (!match.transposed) {
    tensor.read(first, out);
    return;
  }
  read_transposed({.in = tensor.shape[0],
                   .out = tensor.shape[1],
                   .width = size_of(*tensor.type),
                   .read = tensor.read},
                  first, out);
}

class ForeignWeights : public Weights {
 public:
  explicit ForeignWeights(ForeignModel model) : model_(std::move(model)) {
    Matching matching(model_);
    // Before a model of that many layers is built.
    matching.require_layers();
    const nn::Model built = models::build(model_.description.options);
    for (const auto& parameter : built.parameters())
      if (const auto match = matching.take(parameter.name, parameter.shape)) {
        matches_.emplace(parameter.name, *match);
        parameters_.push_back({.name = parameter.name,
                               .shape = parameter.shape,
                               .dtype = match->tensor->type.value()});
      }
    matching.require_fit();
  }

  Format format() const override { return model_.format; }
  const std::string& path() const override { return model_.path; }
  const Description& description() const override { return model_.description; }
  std::span<const StoredParameter> parameters() const override {
    return parameters_;
  }
  std::span<const std::string> warnings() const override {
    return model_.warnings;
  }

  void read(std::string_view parameter, std::int64_t first,
            std::span<std::byte> out) const override {
    const StoredParameter& entry = stored(*this, parameter);
    const auto width = static_cast<std::size_t>(size_of(entry.dtype));
    const auto count = static_cast<std::int64_t>(out.size() / width);
    const std::int64_t numel = entry.shape.numel();
    if (first < 0 || first > numel || count > numel - first ||
        out.size() % width != 0)
      throw UsageError(fmt::format(
          "{}: {}: got elements [{}, {} + {}) and {} bytes to read; it has {}",
          model_.path, parameter, first, first, count, out.size(), numel));
    if (count > 0) read_matched(matches_.at(entry.name), first, out);
  }

 private:
  ForeignModel model_;
  std::vector<StoredParameter> parameters_;
  std::unordered_map<std::string, Match> matches_;
};

}  // namespace

std::unique_ptr<const Weights> match(ForeignModel model) {
  return std::make_unique<ForeignWeights>(std::move(model));
}

}  // namespace quire::convert
