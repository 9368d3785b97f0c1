#include "quire/train/detail/origin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "quire/core/error.h"
#include "quire/core/text.h"
#include "quire/train/keys/key.h"

namespace quire::train {
namespace {

// Under any of the parameter's names.
bool matches_any(const std::vector<std::string>& globs,
                 const nn::ParameterInfo& parameter) {
  return std::ranges::any_of(globs, [&](const std::string& glob) {
    const auto matches = [&](const std::string& name) {
      return matches_glob(glob, name);
    };
    return matches(parameter.name) ||
           std::ranges::any_of(parameter.aliases, matches);
  });
}

// A model's parameters by their names.
using Parameters = std::map<std::string, nn::ParameterInfo>;

Parameters parameters_of(const models::Options& options) {
  const nn::Model model = models::build(options);
  Parameters parameters;
  for (const nn::ParameterInfo& parameter : model.parameters())
    parameters.emplace(parameter.name, parameter);
  return parameters;
}

bool holds(const Parameters& parameters, const nn::ParameterInfo& wanted) {
  const auto found = parameters.find(wanted.name);
  return found != parameters.end() && found->second.shape == wanted.shape;
}

// What a key alone decides.
struct Effect {
  bool any = false;
  std::vector<std::string> unwanted;  // parameters that no pattern lets go
};

class Effects {
 public:
  Effects(const OriginConfig& origin, const models::Options& theirs)
      : origin_(&origin), theirs_(theirs), parameters_(parameters_of(theirs)) {}

  // Of the value that `config` has.
  Effect of(const Key& key, const RunConfig& config) const {
    RunConfig changed;
    changed.model = theirs_;
    key.set(key.get(config), changed);
    try {
      return compared(parameters_of(changed.model));
    } catch (const UsageError&) {
      return {};  // no model at all
    }
  }

 private:
  Effect compared(const Parameters& changed) const {
    Effect effect;
    const auto count = [&](const nn::ParameterInfo& parameter,
                           const std::vector<std::string>& let_go) {
      effect.any = true;
      if (!matches_any(let_go, parameter))
        effect.unwanted.push_back(parameter.name);
    };
    for (const auto& [name, parameter] : changed)
      if (!holds(parameters_, parameter)) count(parameter, origin_->fresh);
    for (const auto& [name, parameter] : parameters_)
      if (!changed.contains(name)) count(parameter, origin_->ignore);
    return effect;
  }

  const OriginConfig* origin_;
  models::Options theirs_;
  Parameters parameters_;
};

std::string problem_of(const Key& key, const RunConfig& mine, const Json& there,
                       const Effect& effect) {
  std::string problem = fmt::format(
      "{} is {}; {} has {}: expected the same, or nothing here", key.name,
      shown(key.get(mine)), mine.origin.from, shown(there));
  if (effect.any)
    problem += fmt::format(
        ", or patterns in model.fresh (new) or model.ignore (gone) for what it "
        "shapes: {}",
        fmt::join(effect.unwanted, ", "));
  return problem;
}

bool is_of_the_network(const Key& key) {
  return key.name.starts_with("model.") &&
         key.on_resume == OnResume::kRefused && key.name != "model.freeze" &&
         key.name != "model.dropout";
}

}  // namespace

std::unique_ptr<const convert::Weights> open_origin(
    const OriginConfig& origin) {
  try {
    return convert::open_weights(
        origin.from,
        {.partial = true, .rename = origin.rename, .ignore = origin.ignore});
  } catch (const UsageError& error) {
    std::error_code ignored;
    const bool gone = !std::filesystem::exists(origin.from, ignored);
    throw UsageError(fmt::format(
        "model.from is {}: {}{}", origin.from, error.what(),
        gone ? "; to resume a run without it, give resolved_config.json of its "
               "folder or checkpoint, which holds what was taken from there"
             : ""));
  }
}

std::optional<Disagreement> disagreement(const RunConfig& config,
                                         const models::Options& theirs) {
  RunConfig other;
  other.model = theirs;
  if (config.model.index() != theirs.index()) {
    const Key& type = *find_key("model.type");
    return Disagreement{type.name,
                        problem_of(type, config, type.get(other), {})};
  }
  const Effects effects(config.origin, theirs);
  for (const Key& key : key_table()) {
    if (!is_of_the_network(key) || !applies(key, config)) continue;
    const Json there = key.get(other);
    if (key.get(config) == there) continue;
    const Effect effect = effects.of(key, config);
    if (!effect.any || !effect.unwanted.empty())
      return Disagreement{key.name, problem_of(key, config, there, effect)};
  }
  return std::nullopt;
}

}  // namespace quire::train
