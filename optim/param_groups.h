// Which parameters get which learning rate and decay.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quire::optim {

// Parameters whose name matches `match` (a glob) take these instead of the
// defaults. The first match wins.
struct GroupRule {
  std::string match;
  std::optional<double> lr = {};
  std::optional<double> weight_decay = {};
};

struct GroupOptions {
  double lr;                  // before the schedule
  double weight_decay = 0.0;  // of parameters that decay by default (matrices)
  std::vector<GroupRule> rules = {};
};

struct GroupedParameter {
  const std::string& name;
  // By default: its rank >= 2 unless its layer says otherwise.
  bool decays;
};
struct Group {
  double lr;  // before the schedule
  double weight_decay;
};
// A rule with weight_decay decides whatever the parameter's default.
Group group_of(const GroupedParameter& parameter, const GroupOptions& options);

// Throws UsageError naming rules that decide for no parameter, because they
// match none or earlier rules take all they match: a rule that does nothing is
// a mistake. Also unless all rates and decays are finite and not negative.
void check_rules(const GroupOptions& options,
                 std::span<const std::string> parameters);

}  // namespace quire::optim
