#include "quire/convert/huggingface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/gpt2_config.h"
#include "quire/convert/detail/weight_files.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using Weight = WeightFiles::Weight;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kPrefix = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kTable = "wte.weight";

// "embed.wte.weight" and "head.ln_f.weight" lie outside of any layer there.
std::string foreign_name(std::string_view name) {
  for (const std::string_view layer : {"embed.", "head."})
    if (name.starts_with(layer)) return std::string(name.substr(layer.size()));
  return std::string(name);
}

// Conv1D keeps its matrix [in, out].
bool is_transposed(std::string_view name) {
  return name.starts_with("h.") && name.ends_with(".weight") &&
         name.find(".c_") != std::string_view::npos;
}

// Masks that older versions wrote as if they were weights.
bool is_mask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

std::string written(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Where a parameter lies.
struct Source {
  Weight weight;
  bool transposed;
  std::int64_t in = 0, out = 0;  // of a transposed one: it is [out, in] here
};

// By name without prefix. The same name with and without is refused.
std::unordered_map<std::string, Weight> by_plain_name(
    const WeightFiles& files) {
  std::unordered_map<std::string, Weight> result;
  for (const auto& [name, weight] : files.weights()) {
    const bool prefixed = name.starts_with(kPrefix);
    const auto plain = name.substr(prefixed ? kPrefix.size() : 0);
    if (!result.emplace(plain, weight).second)
      throw UsageError(
          fmt::format("{}: holds \"{}\" with and without the prefix {}",
                      weight.file->path(), plain, kPrefix));
  }
  return result;
}

// The head is the token table; a copy of it may be there, another may not.
void check_head(const Weight& head, const Weight& table) {
  constexpr std::int64_t kAtOnce = 1 << 16;
  const std::int64_t numel = head.entry->numel;
  bool same = head.entry->shape == table.entry->shape;
  std::vector<float> a(kAtOnce), b(kAtOnce);
  for (std::int64_t at = 0; same && at < numel; at += kAtOnce) {
    const auto count = static_cast<std::size_t>(std::min(kAtOnce, numel - at));
    read_floats(head, at, std::span(a).first(count));
    read_floats(table, at, std::span(b).first(count));
    same = std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(count),
                      b.begin());
  }
  if (!same)
    throw UsageError(
        fmt::format("{}: {} is not {}; expected a head tied to the token table",
                    head.file->path(), kHead, kTable));
}

// Which weight each parameter comes from, and what does not fit.
class Matching {
 public:
  explicit Matching(const WeightFiles& files) : weights_(by_plain_name(files)) {
    std::erase_if(weights_,
                  [](const auto& item) { return is_mask(item.first); });
  }

  std::size_t size() const { return weights_.size(); }

  void take_head() {
    const auto head = weights_.find(std::string(kHead));
    const auto table = weights_.find(std::string(kTable));
    if (head == weights_.end() || table == weights_.end()) return;
    check_head(head->second, table->second);
    weights_.erase(head);
  }

  std::optional<Source> take(const std::string& name, const Shape& shape) {
    const auto found = weights_.find(foreign_name(name));
    if (found == weights_.end()) {
      problems_.push_back("missing: " + foreign_name(name));
      return std::nullopt;
    }
    const Weight weight = found->second;
    weights_.erase(found);
    const bool transposed = is_transposed(name);
    std::vector<std::int64_t> wanted(shape.extents().begin(),
                                     shape.extents().end());
    if (transposed) std::ranges::reverse(wanted);
    if (weight.entry->shape != wanted)
      problems_.push_back(
          fmt::format("different: {}: {}, expected {}", weight.entry->name,
                      written(weight.entry->shape), written(wanted)));
    return Source{.weight = weight,
                  .transposed = transposed,
                  .in = transposed ? shape[1] : 0,
                  .out = transposed ? shape[0] : 0};
  }

  void require_fit(const std::string& folder) {
    for (const auto& [name, weight] : weights_)
      problems_.push_back("unexpected: " + weight.entry->name);
    if (problems_.empty()) return;
    std::ranges::sort(problems_);
    throw UsageError(fmt::format("the weights in {} do not fit its {}:\n  {}",
                                 folder, kConfig,
                                 fmt::join(problems_, "\n  ")));
  }

 private:
  std::unordered_map<std::string, Weight> weights_;
  std::vector<std::string> problems_;
};

// Elements of an [out, in] matrix from its transpose: one read for every row
// there, of the columns that the range touches.
void read_transposed(const Source& source, std::int64_t first,
                     std::span<float> out) {
  const std::int64_t end = first + static_cast<std::int64_t>(out.size());
  const std::int64_t begin_row = first / source.in;
  const std::int64_t rows = (end - 1) / source.in - begin_row + 1;
  std::vector<float> column(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < source.in; ++i) {
    read_floats(source.weight, i * source.out + begin_row, column);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = (begin_row + row) * source.in + i;
      if (at >= first && at < end)
        out[static_cast<std::size_t>(at - first)] =
            column[static_cast<std::size_t>(row)];
    }
  }
}

}  // namespace

struct HuggingFaceModel::State {
  std::vector<std::string> warnings;
  models::Gpt2Options options;
  WeightFiles files;
  std::unordered_map<std::string, Source> sources;

  explicit State(const std::string& folder)
      : options(
            read_gpt2_config(checkpoint::joined(folder, kConfig), warnings)),
        files(folder) {
    warnings.insert(warnings.end(), files.warnings().begin(),
                    files.warnings().end());
    match(folder);
  }

  void match(const std::string& folder) {
    Matching matching(files);
    // Before a model of that many layers is built.
    if (options.layers > static_cast<std::int64_t>(matching.size()))
      throw UsageError(
          fmt::format("{}: got n_layer {}; the weights have {} tensors in all",
                      checkpoint::joined(folder, kConfig), options.layers,
                      matching.size()));
    matching.take_head();
    const nn::Model model = models::gpt2(options);
    for (const auto& parameter : model.parameters())
      if (const auto source = matching.take(parameter.name, parameter.shape))
        sources.emplace(parameter.name, *source);
    matching.require_fit(folder);
  }
};

bool is_hugging_face(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint::joined(folder, kConfig), ignored);
}

HuggingFaceModel::HuggingFaceModel(const std::string& folder)
    : state_(std::make_unique<State>(folder)) {}
HuggingFaceModel::~HuggingFaceModel() = default;
HuggingFaceModel::HuggingFaceModel(HuggingFaceModel&&) noexcept = default;
HuggingFaceModel& HuggingFaceModel::operator=(HuggingFaceModel&&) noexcept =
    default;

const models::Gpt2Options& HuggingFaceModel::options() const {
  return state_->options;
}
const std::vector<std::string>& HuggingFaceModel::warnings() const {
  return state_->warnings;
}

void HuggingFaceModel::read(std::string_view parameter, std::int64_t first,
                            std::span<float> out) const {
  const auto found = state_->sources.find(std::string(parameter));
  if (found == state_->sources.end())
    throw UsageError(
        fmt::format("gpt2 has no parameter \"{}\" to read", parameter));
  const Source& source = found->second;
  const std::int64_t numel = source.weight.entry->numel;
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || first > numel || count > numel - first)
    throw UsageError(fmt::format("{}: got elements [{}, {} + {}) of {}",
                                 parameter, first, first, count, numel));
  if (count == 0) return;
  if (source.transposed)
    read_transposed(source, first, out);
  else
    read_floats(source.weight, first, out);
}

}  // namespace quire::convert
