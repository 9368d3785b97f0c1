#include "quire/nn/values.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/autograd/tape.h"

namespace quire::nn {
namespace {

// "layer "h.0": " as far as a variable tells it.
std::string prefix(const std::vector<Values::Entry>& entries) {
  for (const auto& [name, var] : entries)
    if (var.defined()) return fmt::format("layer \"{}\": ", var.tape().layer());
  return "";
}

std::string names(const std::vector<Values::Entry>& entries) {
  std::string list;
  for (const auto& [name, var] : entries)
    list += (list.empty() ? "" : ", ") + name;
  return entries.empty() ? "none" : list;
}

}  // namespace

const Var& Values::only() const {
  if (entries_.size() == 1) return entries_.front().second;
  throw UsageError(fmt::format(
      "{}got {} values ({}); expected exactly one, or read them by name",
      prefix(entries_), entries_.size(), names(entries_)));
}

const Var& Values::operator[](std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  if (found != entries_.end()) return found->second;
  throw UsageError(fmt::format("{}got no value \"{}\"; there are: {}",
                               prefix(entries_), name, names(entries_)));
}

Values Values::with(std::string name, Var value) const {
  Values result = *this;
  const auto found = std::ranges::find(result.entries_, name, &Entry::first);
  if (found != result.entries_.end())
    found->second = std::move(value);
  else
    result.entries_.emplace_back(std::move(name), std::move(value));
  return result;
}

}  // namespace quire::nn
