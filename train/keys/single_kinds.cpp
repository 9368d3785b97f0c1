#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "quire/core/bytes.h"
#include "quire/core/error.h"
#include "quire/core/text.h"
#include "quire/train/keys/kinds.h"

namespace quire::train {
namespace {

constexpr int kMostInt = std::numeric_limits<int>::max();

// A member of a group.
double rate_of(const Json& value, const std::string& name) {
  const auto rate = real_in(value, kFromZero);
  if (!rate) throw UsageError(mismatch(name, value, kFromZero.text));
  return *rate;
}

void read_member(const std::string& member, const Json& value,
                 const std::string& name, optim::GroupRule& rule) {
  static const std::vector<std::string> kMembers = {"match", "lr",
                                                    "weight_decay"};
  const std::string full = name + "." + member;
  if (member == "lr") {
    rule.lr = rate_of(value, full);
  } else if (member == "weight_decay") {
    rule.weight_decay = rate_of(value, full);
  } else if (member != "match") {
    throw UsageError(fmt::format("{} is no key of a group; the nearest is {}",
                                 full, nearest(member, kMembers)));
  } else if (!value.is_string() || value.get<std::string>().empty()) {
    throw UsageError(mismatch(full, value, "a pattern of names: \"*.bias\""));
  } else {
    rule.match = value.get<std::string>();
  }
}

optim::GroupRule rule_of(const Json& value, const std::string& name) {
  if (!value.is_object())
    throw UsageError(mismatch(
        name, value, "an object {\"match\": ..., \"weight_decay\": ...}"));
  optim::GroupRule rule;
  for (const auto& [member, inner] : value.items())
    read_member(member, inner, name, rule);
  if (rule.match.empty())
    throw UsageError(fmt::format(
        "{}.match is missing; expected a pattern of names: \"*.bias\"", name));
  if (!rule.lr && !rule.weight_decay)
    throw UsageError(fmt::format(
        "{} sets nothing; expected lr, weight_decay or both", name));
  return rule;
}

std::vector<optim::GroupRule> rules_of(const Json& value,
                                       const std::string& name) {
  std::vector<optim::GroupRule> rules;
  for (std::size_t i = 0; i < value.size(); ++i)
    rules.push_back(rule_of(value[i], fmt::format("{}[{}]", name, i)));
  return rules;
}

Json json_of(const optim::GroupRule& rule) {
  Json json = {{"match", rule.match}};
  if (rule.lr) json["lr"] = *rule.lr;
  if (rule.weight_decay) json["weight_decay"] = *rule.weight_decay;
  return json;
}

std::optional<std::int64_t> bytes_of(const Json& value) {
  try {
    if (value.is_string()) return parse_bytes(value.get<std::string>());
  } catch (const UsageError&) {
    return std::nullopt;
  }
  return whole_in(value, {.least = 1});
}

}  // namespace

Key seed_key() {
  Key key{.name = "seed",
          .expected = "a whole number from 0 to 2^64 - 1",
          .description = "of initial values, the order of samples and dropout"};
  key.set = [key](const Json& value, RunConfig& config) {
    const bool negative = value.is_number_integer() &&
                          !value.is_number_unsigned() &&
                          value.get<std::int64_t>() < 0;
    if (!value.is_number_integer() || negative)
      return mismatch(key.name, value, key.expected);
    config.seed = value.get<std::uint64_t>();
    return std::string();
  };
  key.get = [](const RunConfig& config) { return Json(config.seed); };
  return key;
}

Key wave_key() {
  Key key{.name = "batch.wave",
          .expected = "a whole number of at least 1, \"all\" or \"auto\"",
          .description =
              "lanes that a rank runs side by side, unit by unit; "
              "auto: the widest whose plan fits the budget"};
  key.set = [key](const Json& value, RunConfig& config) {
    const auto lanes = whole_in(value, {.least = 1, .most = kMostInt});
    if (!lanes && value != "all" && value != "auto")
      return mismatch(key.name, value, key.expected);
    config.batch.wave = lanes            ? static_cast<int>(*lanes)
                        : value == "all" ? BatchConfig::kAll
                                         : BatchConfig::kAuto;
    return std::string();
  };
  key.get = [](const RunConfig& config) {
    if (config.batch.wave == BatchConfig::kAll) return Json("all");
    if (config.batch.wave == BatchConfig::kAuto) return Json("auto");
    return Json(config.batch.wave);
  };
  return key;
}

Key betas_key() {
  Key key{.name = "optimizer.betas",
          .expected = "two numbers from 0 up to, but not, 1",
          .description =
              "decay of the running means of the gradient and of "
              "its square"};
  key.set = [key](const Json& value, RunConfig& config) {
    std::array<std::optional<double>, 2> betas;
    if (value.is_array() && value.size() == betas.size()) {
      std::transform(value.begin(), value.end(), betas.begin(),
                     [](const Json& beta) { return real_in(beta, kFraction); });
    }
    if (!betas[0] || !betas[1]) return mismatch(key.name, value, key.expected);
    config.optimizer.beta1 = *betas[0];
    config.optimizer.beta2 = *betas[1];
    return std::string();
  };
  key.get = [](const RunConfig& config) {
    return Json::array({config.optimizer.beta1, config.optimizer.beta2});
  };
  return key;
}

Key clip_norm_key() {
  Key key{.name = "optimizer.clip_norm",
          .expected = "a number above 0 that fp32 can hold, or \"none\"",
          .description =
              "the global norm of the gradient is clipped to it; "
              "logged is the norm before"};
  key.set = [key](const Json& value, RunConfig& config) {
    config.optimizer.clip_norm = real_in(value, kAboveZero);
    const bool none = value.is_null() || value == "none";
    if (config.optimizer.clip_norm || none) return std::string();
    return mismatch(key.name, value, key.expected);
  };
  key.get = [](const RunConfig& config) {
    const auto& norm = config.optimizer.clip_norm;
    return norm ? Json(*norm) : Json("none");
  };
  return key;
}

Key groups_key() {
  Key key{.name = "optimizer.groups",
          .expected =
              "an array of {\"match\": PATTERN, \"lr\": ..., "
              "\"weight_decay\": ...}",
          .description =
              "what parameters whose name matches take instead of "
              "the optimizer's own; the first match decides. "
              "Without a group only matrices decay"};
  key.set = [key](const Json& value, RunConfig& config) {
    if (!value.is_array()) return mismatch(key.name, value, key.expected);
    try {
      config.optimizer.groups = rules_of(value, key.name);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  key.get = [](const RunConfig& config) {
    Json json = Json::array();
    for (const auto& rule : config.optimizer.groups)
      json.push_back(json_of(rule));
    return json;
  };
  return key;
}

Key rename_key() {
  Key key{.name = "model.rename",
          .expected =
              "an object of names: {\"a name in the files\": \"a parameter\"}",
          .description =
              "tensors of model.from that are read as other parameters than "
              "their names say"};
  key.set = [key](const Json& value, RunConfig& config) {
    const auto is_name = [](const Json& element) {
      return element.is_string() && !element.get<std::string>().empty();
    };
    if (!value.is_object() || !std::ranges::all_of(value, is_name))
      return mismatch(key.name, value, key.expected);
    value.get_to(config.origin.rename);
    return std::string();
  };
  key.get = [](const RunConfig& config) {
    return config.origin.rename.empty() ? Json() : Json(config.origin.rename);
  };
  return key;
}

Key budget_key() {
  Key key{.name = "memory.budget",
          .expected = "a number of bytes, \"24MiB\" or \"none\"",
          .description =
              "memory of one rank; a run whose plan needs more is "
              "refused before its first step"};
  key.set = [key](const Json& value, RunConfig& config) {
    config.budget_bytes = bytes_of(value);
    const bool none = value.is_null() || value == "none";
    if (none || config.budget_bytes.value_or(0) > 0) return std::string();
    return mismatch(key.name, value, key.expected);
  };
  key.get = [](const RunConfig& config) {
    const auto& bytes = config.budget_bytes;
    return bytes ? Json(*bytes) : Json("none");
  };
  return key;
}

Key checkpoint_every_key() {
  Key key{.name = "checkpoint.every",
          .expected = "a whole number of at least 0",
          .description =
              "steps between checkpoints, the last step being saved "
              "too; 0: nothing is saved; left out: the last step "
              "alone"};
  key.set = [key](const Json& value, RunConfig& config) {
    const auto steps = whole_in(value, {.least = 0});
    if (!steps) return mismatch(key.name, value, key.expected);
    config.checkpoint_every = *steps;
    return std::string();
  };
  key.get = [](const RunConfig& config) {
    return config.checkpoint_every < 0 ? Json() : Json(config.checkpoint_every);
  };
  return key;
}

}  // namespace quire::train
