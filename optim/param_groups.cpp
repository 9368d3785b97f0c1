#include "quire/optim/param_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/core/text.h"
#include "quire/optim/detail/checks.h"

namespace quire::optim {
namespace {

using Rules = std::vector<GroupRule>;

Rules::const_iterator rule_of(const std::string& parameter,
                              const Rules& rules) {
  return std::ranges::find_if(rules, [&](const GroupRule& rule) {
    return matches_glob(rule.match, parameter);
  });
}

void require_rates(const GroupOptions& options) {
  require_rate("lr", options.lr);
  require_rate("weight_decay", options.weight_decay);
  for (std::size_t i = 0; i < options.rules.size(); ++i) {
    const GroupRule& rule = options.rules[i];
    require_rate(fmt::format("groups[{}].lr", i), rule.lr.value_or(0.0));
    require_rate(fmt::format("groups[{}].weight_decay", i),
                 rule.weight_decay.value_or(0.0));
  }
}

std::string idle(const GroupOptions& options, std::size_t i,
                 std::span<const std::string> parameters) {
  const std::string& match = options.rules[i].match;
  const bool shadowed =
      std::ranges::any_of(parameters, [&](const std::string& parameter) {
        return matches_glob(match, parameter);
      });
  return fmt::format("groups[{}] \"{}\" {}", i, match,
                     shadowed ? "matches only what earlier rules take"
                              : fmt::format("matches none (nearest: {})",
                                            nearest(match, parameters)));
}

}  // namespace

Group group_of(const GroupedParameter& parameter, const GroupOptions& options) {
  Group group{.lr = options.lr,
              .weight_decay = parameter.decays ? options.weight_decay : 0.0};
  const auto rule = rule_of(parameter.name, options.rules);
  if (rule != options.rules.end()) {
    group.lr = rule->lr.value_or(group.lr);
    group.weight_decay = rule->weight_decay.value_or(group.weight_decay);
  }
  return group;
}

void check_rules(const GroupOptions& options,
                 std::span<const std::string> parameters) {
  require_rates(options);
  std::vector<bool> decides(options.rules.size());
  for (const std::string& parameter : parameters) {
    const auto rule = rule_of(parameter, options.rules);
    if (rule != options.rules.end()) {
      decides[rule - options.rules.begin()] = true;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < decides.size(); ++i) {
    if (!decides[i]) text += idle(options, i, parameters) + "; ";
  }
  if (!text.empty()) {
    throw UsageError(fmt::format(
        "rules that decide for none of {} parameters: {}expected every rule to "
        "be the first that matches some parameter",
        parameters.size(), text));
  }
}

}  // namespace quire::optim
