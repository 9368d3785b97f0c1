#include "quire/convert/huggingface/matching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "quire/convert/detail/values.h"
#include "quire/convert/huggingface/names.h"
#include "quire/core/error.h"
#include "quire/core/text.h"

namespace quire::convert {
namespace {

constexpr std::string_view kMissing = "missing: ";

bool is_real(const std::optional<DType>& type) {
  return type && quire::is_real(*type);
}

std::int64_t numel_of(const ForeignTensor& tensor) {
  std::int64_t numel = 1;
  for (const std::int64_t extent : tensor.shape) numel *= extent;
  return numel;
}

// Elements [first, first + count), widened. By bits: a table may hold what is
// no number.
std::vector<std::byte> widened(const ForeignTensor& tensor, std::int64_t first,
                               std::int64_t count) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(count * size_of(*tensor.type)));
  std::vector<std::byte> out(
      static_cast<std::size_t>(count * size_of(DType::kF32)));
  tensor.read(first, bytes);
  cast({*tensor.type, bytes}, DType::kF32, out);
  return out;
}

// The head is the token table; a copy of it may be there, another may not.
void check_head(const ForeignTensor& head, const ForeignTensor& table) {
  constexpr std::int64_t kAtOnce = 1 << 16;
  const std::int64_t numel = numel_of(head);
  bool same =
      head.shape == table.shape && is_real(head.type) && is_real(table.type);
  for (std::int64_t at = 0; same && at < numel; at += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, numel - at);
    same = widened(head, at, count) == widened(table, at, count);
  }
  if (!same)
    throw UsageError(
        fmt::format("{}: {} is not {}; expected a head tied to "
                    "the token table, as the configuration says",
                    head.file, head.name, table.name));
}

void require_names(const ForeignModel& model, const OpenOptions& options) {
  for (const auto& [name, parameter] : options.rename) {
    if (std::ranges::count(model.tensors, name, &ForeignTensor::name) > 0)
      continue;
    std::vector<std::string> names;
    for (const ForeignTensor& tensor : model.tensors)
      names.push_back(tensor.name);
    throw UsageError(
        fmt::format("{}: holds no tensor \"{}\" to rename; the nearest is "
                    "\"{}\"",
                    model.path, name, nearest(name, names)));
  }
}

}  // namespace

Matching::Matching(const ForeignModel& model, const OpenOptions& options)
    : model_(model), partial_(options.partial), given_(model.tensors.size()) {
  require_names(model, options);
  for (const ForeignTensor& tensor : model.tensors) add(tensor, options);
  take_head();
}

void Matching::add(const ForeignTensor& tensor, const OpenOptions& options) {
  const models::Options& network = model_.description.options;
  const std::string_view prefix = prefix_of(network);
  const bool prefixed = tensor.name.starts_with(prefix);
  auto plain = tensor.name.substr(prefixed ? prefix.size() : 0);
  const auto renamed = options.rename.find(tensor.name);
  if (renamed != options.rename.end())
    plain = plain_name(renamed->second);
  else if (is_buffer(network, plain) || makes_way(tensor, plain, options))
    return;
  if (tensors_.emplace(plain, &tensor).second) return;
  throw UsageError(
      fmt::format("{}: holds \"{}\" twice: with and without the prefix {}, or "
                  "under another name that is taken for it (rename), while "
                  "its own is not left out (ignore)",
                  tensor.file, plain, prefix));
}

// For one that is renamed to the parameter that it would be.
bool Matching::makes_way(const ForeignTensor& tensor, const std::string& plain,
                         const OpenOptions& options) {
  for (const auto& [_, parameter] : options.rename) {
    if (plain_name(parameter) != plain) continue;
    for (const std::string& name : {tensor.name, parameter}) {
      if (!matches_any_glob(options.ignore, name)) continue;
      made_way_.push_back(name);
      return true;
    }
  }
  return false;
}

void Matching::take_head() {
  const std::string_view table = tied_table(model_.description.options);
  const auto head = tensors_.find(std::string(kHead));
  const auto found = tensors_.find(std::string(table));
  if (table.empty() || head == tensors_.end()) return;
  if (found == tensors_.end())
    tensors_.emplace(table, head->second);
  else
    check_head(*head->second, *found->second);
  tensors_.erase(std::string(kHead));
}

void Matching::require_layers() const {
  const std::int64_t layers =
      std::visit([](const auto& options) { return options.layers; },
                 model_.description.options);
  if (layers > static_cast<std::int64_t>(given_))
    throw UsageError(fmt::format(
        "{}: got {} layers; the weights in {} have {} tensors in all",
        model_.config, layers, model_.path, given_));
}

std::optional<Match> Matching::take(const std::string& parameter,
                                    const Shape& shape) {
  const std::string plain = plain_name(parameter);
  const auto found = tensors_.find(plain);
  if (found == tensors_.end()) {
    if (!partial_) problems_.push_back(std::string(kMissing) + plain);
    return std::nullopt;
  }
  const ForeignTensor& tensor = *found->second;
  tensors_.erase(found);
  ++taken_;
  const bool transposed = is_transposed(model_.description.options, parameter);
  std::vector<std::int64_t> wanted(shape.extents().begin(),
                                   shape.extents().end());
  if (transposed) std::ranges::reverse(wanted);
  if (!partial_ && tensor.shape != wanted)
    problems_.push_back(fmt::format("different: {}: [{}], expected [{}]",
                                    tensor.name, fmt::join(tensor.shape, ", "),
                                    fmt::join(wanted, ", ")));
  else if (!is_real(tensor.type))
    problems_.push_back(
        fmt::format("different: {}: {}, expected F32, BF16 or F16", tensor.name,
                    tensor.dtype));
  else
    return Match{.tensor = &tensor,
                 .transposed = transposed && tensor.shape.size() == 2};
  return std::nullopt;
}

std::map<std::string, Match> Matching::rest() {
  std::map<std::string, Match> rest;
  if (!partial_) return rest;
  for (const auto& [plain, tensor] : tensors_) {
    if (is_real(tensor->type))
      rest.emplace(tensor->name, Match{.tensor = tensor, .transposed = false});
    else
      passed_over_.push_back(fmt::format(
          "{}: {} is of type {}, which no parameter is; it is passed over",
          tensor->file, tensor->name, tensor->dtype));
  }
  tensors_.clear();
  return rest;
}

// What stands before every name if it is all that keeps the tensors from
// being parameters: a wrapper's, in which the model was saved. Else "".
std::string Matching::foreign_start() const {
  if (taken_ > 0 || tensors_.size() < 2 || problems_.empty()) return "";
  std::string start = tensors_.begin()->second->name;
  for (const auto& [plain, tensor] : tensors_)
    start.erase(std::ranges::mismatch(start, tensor->name).in1, start.end());
  start.erase(start.rfind('.') + 1);
  const std::string prefix(prefix_of(model_.description.options));
  const std::string missing = problems_.front().substr(kMissing.size());
  return tensors_.contains(start + missing) ||
                 tensors_.contains(start + prefix + missing)
             ? start
             : "";
}

void Matching::require_fit() const {
  std::vector<std::string> problems = problems_;
  for (const auto& [name, tensor] : tensors_)
    problems.push_back("unexpected: " + tensor->name);
  if (problems.empty()) return;
  std::ranges::sort(problems);
  if (const std::string start = foreign_start(); !start.empty())
    problems.push_back(fmt::format(
        "every name begins with \"{}\": save the tensors without it", start));
  throw UsageError(fmt::format("the weights in {} do not fit {}:{}",
                               model_.path, model_.config, listed(problems)));
}

}  // namespace quire::convert
