#include "quire/convert/huggingface/foreign_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
  ForeignWeights(ForeignModel model, const OpenOptions& options)
      : model_(std::move(model)) {
    Matching matching(model_, options);
    // Before a model of that many layers is built.
    matching.require_layers();
    const nn::Model built = models::build(model_.description.options);
    for (const auto& parameter : built.parameters())
      if (const auto match = matching.take(parameter.name, parameter.shape))
        add(parameter.name, *match);
    for (const auto& [name, match] : matching.rest()) add(name, match);
    for (const std::string& line : matching.passed_over())
      model_.warnings.push_back(line);
    matching.require_fit();
    made_way_ = matching.made_way();
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
  std::span<const std::string> made_way() const override { return made_way_; }

  void read(std::string_view parameter, std::int64_t first,
            std::span<std::byte> out) const override {
    const auto found = index_.find(parameter);
    if (found == index_.end()) stored(*this, parameter);  // names the nearest
    const StoredParameter& entry = parameters_[found->second];
    require_range(entry, first, static_cast<std::int64_t>(out.size()));
    if (!out.empty()) read_matched(matches_[found->second], first, out);
  }

 private:
  void add(const std::string& name, const Match& match) {
    std::vector<std::int64_t> shape = match.tensor->shape;
    if (match.transposed) std::ranges::reverse(shape);
    index_.emplace(name, matches_.size());
    matches_.push_back(match);
    parameters_.push_back({.name = name,
                           .shape = Shape(shape),
                           .dtype = match.tensor->type.value()});
  }

  void require_range(const StoredParameter& entry, std::int64_t first,
                     std::int64_t bytes) const {
    const std::int64_t width = size_of(entry.dtype);
    const std::int64_t numel = entry.shape.numel();
    if (first >= 0 && first <= numel && bytes / width <= numel - first &&
        bytes % width == 0)
      return;
    throw UsageError(fmt::format(
        "{}: {}: got {} bytes from element {} on to read; it has {} elements "
        "of {} bytes",
        model_.path, entry.name, bytes, first, numel, width));
  }

  ForeignModel model_;
  std::vector<std::string> made_way_;
  // In the model's order; by name in the index.
  std::vector<StoredParameter> parameters_;
  std::vector<Match> matches_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

std::unique_ptr<const Weights> match(ForeignModel model,
                                     const OpenOptions& options) {
  return std::make_unique<ForeignWeights>(std::move(model), options);
}

}  // namespace quire::convert
