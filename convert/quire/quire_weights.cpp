#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/convert/detail/side_files.h"
#include "quire/convert/detail/sources.h"
#include "quire/convert/quire/model_section.h"
#include "quire/convert/quire/notes.h"
#include "quire/core/error.h"
#include "quire/core/tensor.h"
#include "quire/core/text.h"

namespace quire::convert {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Json;
using checkpoint::ManifestParameter;
using checkpoint::ManifestState;

Json config_of(const Checkpoint& saved) {
  return Json::parse(
      saved.manifest().config,
      checkpoint::joined(saved.folder(), checkpoint::kManifestName) +
          ": config");
}

std::int64_t layers_of(const models::Options& options) {
  return std::visit([](const auto& chosen) { return chosen.layers; }, options);
}

// The folder's own, else those of the model that the run started from.
std::vector<std::string> side_files_of(const std::string& folder,
                                       const Json& config) {
  auto files = side_files(folder);
  const auto from = config.at("model").find("from");
  if (files.empty() && from && from->kind() == Json::Kind::kString)
    files = side_files(from->string());
  return files;
}

class QuireWeights final : public Weights {
 public:
  QuireWeights(const std::string& path, const OpenOptions& options)
      : saved_(Checkpoint::open(path)), warnings_(saved_.skipped()) {
    describe();
    require_names(options);
    match(options);
  }

  Format format() const override { return Format::kQuire; }
  const std::string& path() const override { return saved_.folder(); }
  const Description& description() const override { return description_; }
  std::span<const StoredParameter> parameters() const override {
    return parameters_;
  }
  std::span<const std::string> warnings() const override { return warnings_; }
  std::span<const std::string> made_way() const override { return made_way_; }

  void read(std::string_view parameter, std::int64_t first,
            std::span<std::byte> out) const override {
    const StoredParameter& held = stored(*this, parameter);
    const std::int64_t element = size_of(held.dtype);
    const auto bytes = static_cast<std::int64_t>(out.size());
    if (bytes % element != 0)
      throw UsageError(fmt::format("{}: got room for {} bytes of {}", parameter,
                                   bytes, name_of(held.dtype)));
    const auto address = reinterpret_cast<std::uintptr_t>(out.data());
    const bool aligned = address % static_cast<std::uintptr_t>(element) == 0;
    std::vector<std::byte> buffer(aligned ? 0 : out.size());
    std::byte* at = aligned ? out.data() : buffer.data();
    load(held, first, tensor_over(at, held.dtype, {bytes / element}, nullptr));
    if (!aligned) std::ranges::copy(buffer, out.begin());
  }

 private:
  void describe() {
    const Json config = config_of(saved_);
    if (!config.find("model"))
      throw UsageError(fmt::format(
          "{} holds no model in its configuration, so its network is not "
          "known; expected a checkpoint that `quire train` or `quire convert` "
          "made",
          saved_.folder()));
    description_.options = read_model_section(config);
    description_.side_files = side_files_of(saved_.folder(), config);
    read_notes(saved_.manifest().notes, saved_.folder(), description_);
  }

  void require_names(const OpenOptions& options) const {
    for (const auto& [name, parameter] : options.rename)
      if (saved_.manifest().find(name) == nullptr)
        throw UsageError(fmt::format("{}: holds no parameter \"{}\" to rename",
                                     saved_.folder(), name));
  }

  void match(const OpenOptions& options) {
    const auto held = std::ssize(saved_.manifest().parameters);
    // Before a model of that many layers is built.
    if (layers_of(description_.options) > held)
      throw UsageError(fmt::format(
          "{}: its configuration says model.layers {}; it holds {} parameters "
          "in all",
          saved_.folder(), layers_of(description_.options), held));
    std::vector<checkpoint::ExpectedParameter> expected;
    const nn::Model model = models::build(description_.options);
    for (const auto& parameter : model.parameters())
      expected.push_back(
          {.name = parameter.name, .shape = parameter.shape, .states = {}});
    if (options.partial || !options.rename.empty()) {
      match_renamed(expected, options);
      return;
    }
    saved_.expect(expected, Checkpoint::States::kNamed);
    for (const auto& parameter : expected) add(parameter.name, parameter.name);
  }

  // Names in the checkpoint, by those as which they are read.
  std::map<std::string, std::string> sources_of(const OpenOptions& options) {
    std::map<std::string, std::string> sources;
    for (const auto& held : saved_.manifest().parameters) {
      const auto renamed = options.rename.find(held.name);
      const bool as_it_is = renamed == options.rename.end();
      const std::string& name = as_it_is ? held.name : renamed->second;
      if (as_it_is && makes_way(name, options))
        made_way_.push_back(name);
      else if (!sources.emplace(name, held.name).second)
        throw UsageError(fmt::format(
            "{}: {} and {} would both be {}; leave one out (ignore)",
            saved_.folder(), sources.at(name), held.name, name));
    }
    return sources;
  }

  static bool makes_way(const std::string& name, const OpenOptions& options) {
    return matches_any_glob(options.ignore, name) &&
           std::ranges::any_of(options.rename, [&](const auto& renamed) {
             return renamed.second == name;
           });
  }

  // Those of the model first, in its order.
  void match_renamed(std::vector<checkpoint::ExpectedParameter> expected,
                     const OpenOptions& options) {
    auto sources = sources_of(options);
    std::vector<std::string> problems;
    for (const auto& parameter : expected) {
      const auto found = sources.find(parameter.name);
      if (found == sources.end()) {
        problems.push_back("missing: " + parameter.name);
        continue;
      }
      add(parameter.name, found->second);
      if (parameters_.back().shape != parameter.shape)
        problems.push_back(fmt::format(
            "different: {}: {}, expected {}", parameter.name,
            parameters_.back().shape.to_string(), parameter.shape.to_string()));
      sources.erase(found);
    }
    for (const auto& [name, source] : sources) {
      problems.push_back("unexpected: " + name);
      add(name, source);
    }
    if (!options.partial) require_none(problems);
  }

  void require_none(const std::vector<std::string>& problems) const {
    if (problems.empty()) return;
    throw UsageError(fmt::format("{} does not fit its configuration:{}",
                                 saved_.folder(), listed(problems)));
  }

  void add(const std::string& name, const std::string& source) {
    const ManifestParameter& held = *saved_.manifest().find(source);
    sources_[name] = source;
    const ManifestState* value = held.value();
    if (value == nullptr || !is_real(value->dtype))
      throw UsageError(fmt::format(
          "{}: {} has {}; expected a master or a value of fp32, bf16 or fp16",
          saved_.folder(), name,
          value == nullptr ? "neither a master nor a value"
                           : name_of(value->dtype)));
    parameters_.push_back(
        {.name = name, .shape = held.shape, .dtype = value->dtype});
  }

  // A checkpoint is one thread's.
  void load(const StoredParameter& held, std::int64_t first,
            const Tensor& dest) const {
    const std::lock_guard lock(mutex_);
    const std::string& source = sources_.at(held.name);
    const auto* parameter = saved_.manifest().find(source);
    saved_.load(parameter->value()->kind, source, first, dest);
  }

  Checkpoint saved_;
  Description description_;
  std::vector<StoredParameter> parameters_;
  std::map<std::string, std::string> sources_;  // names in the checkpoint
  std::vector<std::string> warnings_, made_way_;
  mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<const Weights> open_quire(const std::string& folder,
                                          const OpenOptions& options) {
  return std::make_unique<QuireWeights>(folder, options);
}

}  // namespace quire::convert
