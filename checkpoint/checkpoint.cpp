#include "quire/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/shard/part_reader.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/core/error.h"
#include "quire/core/text.h"

namespace quire::checkpoint {
namespace {

[[noreturn]] void refuse_run(const std::string& path,
                             const std::vector<std::string>& skipped) {
  throw UsageError(path + " holds no whole checkpoint (step-NNNNNNNN)" +
                   listed(skipped));
}

void add(std::string& list, std::string_view title,
         const std::vector<std::string>& items) {
  if (items.empty()) return;
  list += fmt::format("\n  {}:{}", title, listed(items, "\n    "));
}

// What of a checkpoint does not fit what is expected.
class Comparison {
 public:
  Comparison(const Manifest& manifest, Checkpoint::States states)
      : manifest_(manifest), states_(states) {}

  void compare(const ExpectedParameter& wanted) {
    const ManifestParameter* held = manifest_.find(wanted.name);
    if (held == nullptr) {
      missing_.push_back(wanted.name);
      return;
    }
    if (held->shape != wanted.shape)
      different_.push_back(fmt::format("{}: {}, expected {}", wanted.name,
                                       held->shape.to_string(),
                                       wanted.shape.to_string()));
    for (const auto& state : wanted.states) compare(*held, state);
    if (states_ == Checkpoint::States::kWhole) find_surplus(*held, wanted);
  }

  void add_unexpected(const std::string& name) { unexpected_.push_back(name); }

  std::string text() const {
    std::string list;
    add(list, "missing", missing_);
    add(list, "unexpected", unexpected_);
    add(list, "different", different_);
    return list;
  }

 private:
  void compare(const ManifestParameter& held, const ExpectedState& wanted) {
    const ManifestState* state = held.find(wanted.kind);
    const std::string name = tensor_name(wanted.kind, held.name);
    if (state == nullptr)
      missing_.push_back(name);
    else if (state->dtype != wanted.dtype)
      different_.push_back(fmt::format("{}: {}, expected {}", name,
                                       name_of(state->dtype),
                                       name_of(wanted.dtype)));
  }

  void find_surplus(const ManifestParameter& held,
                    const ExpectedParameter& wanted) {
    for (const auto& state : held.states) {
      const bool known = std::any_of(
          wanted.states.begin(), wanted.states.end(),
          [&](const auto& other) { return other.kind == state.kind; });
      if (!known) unexpected_.push_back(tensor_name(state.kind, held.name));
    }
  }

  const Manifest& manifest_;
  Checkpoint::States states_;
  std::vector<std::string> missing_, unexpected_, different_;
};

}  // namespace

struct Checkpoint::State {
  std::string folder;
  Manifest manifest;
  std::vector<std::string> skipped;
  OpenShards shards;
  // Of the part that was read last: who reads a tensor in pieces reads its
  // tiles' hashes once.
  const ManifestPart* last = nullptr;
  std::vector<std::uint64_t> tiles;

  std::span<const std::uint64_t> tiles_of(const StoredPart& stored) {
    if (last != stored.part) {
      last = nullptr;
      tiles = checked_tiles(stored);
      last = stored.part;
    }
    return tiles;
  }
};

Checkpoint::Checkpoint(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

Checkpoint Checkpoint::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->folder = path;
  while (state->folder.size() > 1 && state->folder.ends_with('/'))
    state->folder.pop_back();
  if (!is_step(state->folder)) {
    auto steps = list_steps(state->folder);
    for (; !steps.empty() && !steps.back().problem.empty(); steps.pop_back())
      state->skipped.push_back(fmt::format("{} is not whole: {}",
                                           step_name(steps.back().step),
                                           steps.back().problem));
    if (steps.empty()) refuse_run(path, state->skipped);
    state->folder = steps.back().path;
  }
  state->manifest = read_manifest(state->folder);
  for (const auto& file : state->manifest.files)
    open_shard(state->folder, file);
  return Checkpoint(std::move(state));
}

const std::string& Checkpoint::folder() const { return state_->folder; }
const Manifest& Checkpoint::manifest() const { return state_->manifest; }
const std::vector<std::string>& Checkpoint::skipped() const {
  return state_->skipped;
}

void Checkpoint::expect(std::span<const ExpectedParameter> parameters,
                        States states) const {
  Comparison comparison(manifest(), states);
  for (const auto& parameter : parameters) comparison.compare(parameter);
  std::unordered_set<std::string_view> known;
  for (const auto& parameter : parameters) known.insert(parameter.name);
  for (const auto& held : manifest().parameters)
    if (!known.contains(held.name)) comparison.add_unexpected(held.name);
  const std::string text = comparison.text();
  if (!text.empty())
    throw UsageError(
        fmt::format("checkpoint {} does not fit the model:{}", folder(), text));
}

std::string Checkpoint::file_of(std::string_view kind,
                                std::string_view parameter,
                                std::int64_t element) const {
  const auto* held = manifest().find(parameter);
  const auto* tensor = held == nullptr ? nullptr : held->find(kind);
  if (tensor == nullptr) return "";
  for (const auto& part : tensor->parts) {
    if (part.first <= element && element < part.first + part.count)
      return manifest().files[static_cast<std::size_t>(part.file)].name;
  }
  return "";
}

void Checkpoint::load(std::string_view kind, std::string_view parameter,
                      std::int64_t first, const Tensor& dest) const {
  const std::string name = tensor_name(kind, parameter);
  const auto* held = manifest().find(parameter);
  const auto* tensor = held == nullptr ? nullptr : held->find(kind);
  if (tensor == nullptr)
    throw UsageError(fmt::format("checkpoint {} holds no {}", folder(), name));
  const std::int64_t numel = held->shape.numel();
  const std::int64_t end = first + dest.numel();
  if (dest.dtype() != tensor->dtype || first < 0 || first > numel ||
      dest.numel() > numel - first)
    throw UsageError(fmt::format(
        "checkpoint {}: {} is {} with {} elements; got {} for [{}, {} + {})",
        folder(), name, name_of(tensor->dtype), numel, name_of(dest.dtype()),
        first, first, dest.numel()));
  for (const auto& part : tensor->parts) {
    const std::int64_t from = std::max(first, part.first);
    const std::int64_t to = std::min(end, part.first + part.count);
    if (from >= to) continue;
    const auto stored =
        find_part(state_->shards.get(folder(), manifest(), part.file),
                  {kind, parameter}, *tensor, part);
    PartReader(stored, state_->tiles_of(stored))
        .read(from - part.first, to - from,
              dest.raw() + (from - first) * size_of(dest.dtype()));
  }
}

void Checkpoint::will_load(std::string_view kind, std::string_view parameter,
                           std::int64_t first, std::int64_t count) const {
  const auto* held = manifest().find(parameter);
  const auto* tensor = held == nullptr ? nullptr : held->find(kind);
  if (tensor == nullptr) return;
  for (const auto& part : tensor->parts) {
    if (part.first + part.count <= first || part.first >= first + count)
      continue;
    const auto& file = state_->shards.get(folder(), manifest(), part.file);
    const auto* tiles = file.find(tiles_name(kind, parameter));
    if (tiles != nullptr) file.will_read(*tiles);
  }
}

}  // namespace quire::checkpoint
