#include "quire/train/load_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>

#include "quire/core/error.h"
#include "quire/core/text.h"

namespace quire::train {
namespace {

using convert::StoredParameter;

// Under the parameter's own name first.
std::vector<std::string> names_of(const nn::ParameterInfo& parameter) {
  std::vector<std::string> names = {parameter.name};
  names.insert(names.end(), parameter.aliases.begin(), parameter.aliases.end());
  return names;
}

// Which tensor fills each parameter, and what does not fit.
class Matching {
 public:
  Matching(const nn::Model& model, const convert::Weights& weights,
           const LoadRules& rules)
      : rules_(&rules), path_(weights.path()) {
    for (const StoredParameter& stored : weights.parameters())
      stored_.emplace(stored.name, &stored);
    for (const nn::ParameterInfo& parameter : model.parameters())
      take(parameter);
    report_.ignored.assign(weights.made_way().begin(),
                           weights.made_way().end());
    for (const StoredParameter& stored : weights.parameters())
      judge_rest(stored);
    require_matches();
  }

  // nullptr: a fresh one.
  const StoredParameter* source(int parameter) const {
    return sources_[static_cast<std::size_t>(parameter)];
  }
  const LoadReport& report() const { return report_; }

  void require_fit() const {
    if (problems_.empty()) return;
    throw UsageError(fmt::format(
        "{} does not fit the model:{}\nwhat is missing or different may be "
        "left as it is (fresh); what is unexpected may be left out (ignore) or "
        "be a parameter under another name (rename)",
        path_, listed(problems_)));
  }

 private:
  void take(const nn::ParameterInfo& parameter) {
    const auto names = names_of(parameter);
    const StoredParameter* found = nullptr;
    for (const std::string& name : names) {
      const auto at = stored_.find(name);
      if (at == stored_.end() || found != nullptr) continue;
      found = at->second;
      stored_.erase(at);
    }
    const bool fresh = std::ranges::any_of(names, [&](const auto& name) {
      return matches_any_glob(rules_->fresh, name);
    });
    sources_.push_back(fresh ? nullptr : found);
    if (fresh)
      report_.fresh.push_back(parameter.name);
    else
      judge(parameter, found);
    known_.insert(known_.end(), names.begin(), names.end());
  }

  void judge(const nn::ParameterInfo& parameter, const StoredParameter* found) {
    ++report_.loaded;
    if (found == nullptr) {
      problems_.push_back("missing: " + parameter.name);
    } else if (found->shape != parameter.shape) {
      problems_.push_back(fmt::format("different: {}: {}, expected {}",
                                      parameter.name, found->shape.to_string(),
                                      parameter.shape.to_string()));
    }
  }

  void judge_rest(const StoredParameter& stored) {
    if (!stored_.contains(stored.name)) return;
    if (matches_any_glob(rules_->ignore, stored.name))
      report_.ignored.push_back(stored.name);
    else
      problems_.push_back("unexpected: " + stored.name);
  }

  // A mistyped pattern must not be one that matches nothing yet.
  void require_matches() {
    for (const std::string& glob : rules_->fresh)
      require_match("fresh", glob, known_);
    for (const std::string& glob : rules_->ignore)
      require_match("ignore", glob, report_.ignored);
  }

  void require_match(std::string_view rule, const std::string& glob,
                     const std::vector<std::string>& names) {
    const bool any = std::ranges::any_of(
        names, [&](const auto& name) { return matches_glob(glob, name); });
    if (!any)
      problems_.push_back(
          fmt::format("{}: the pattern \"{}\" matches nothing", rule, glob));
  }

  const LoadRules* rules_;
  std::string path_;
  std::unordered_map<std::string, const StoredParameter*> stored_;
  std::vector<const StoredParameter*> sources_;
  std::vector<std::string> known_;
  std::vector<std::string> problems_;
  LoadReport report_;
};

// Values of a frozen parameter are of the compute type.
void read_rounded(const convert::Weights& weights, const std::string& name,
                  const engine::StateRange& range) {
  constexpr std::int64_t kAtOnce = std::int64_t{1} << 18;
  std::vector<float> wide;
  BFloat16* out = range.data.data<BFloat16>();
  for (std::int64_t at = 0; at < range.data.numel(); at += kAtOnce) {
    wide.resize(
        static_cast<std::size_t>(std::min(kAtOnce, range.data.numel() - at)));
    convert::read_floats(weights, name, range.first + at, wide);
    std::ranges::transform(wide, out + at, [](float x) { return BFloat16(x); });
  }
}

void read(const convert::Weights& weights, const std::string& name,
          const engine::StateRange& range) {
  if (range.data.dtype() == DType::kBF16) {
    read_rounded(weights, name, range);
    return;
  }
  convert::read_floats(weights, name, range.first,
                       std::span(range.data.data<float>(),
                                 static_cast<std::size_t>(range.data.numel())));
}

}  // namespace

LoadReport load_values(engine::Engine& engine, const nn::Model& model,
                       const convert::Weights& weights,
                       const LoadRules& rules) {
  const Matching matching(model, weights, rules);
  matching.require_fit();
  for (const engine::StateRange& range : engine.held_state()) {
    const bool is_value = range.kind == "master" || range.kind == "value";
    const StoredParameter* source = matching.source(range.parameter);
    if (is_value && source != nullptr) read(weights, source->name, range);
  }
  engine.restored(0);
  return matching.report();
}

}  // namespace quire::train
