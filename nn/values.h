// What flows between layers: a few named variables.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/autograd/variable.h"

namespace quire::nn {

using autograd::Var;

class Values {
 public:
  using Entry = std::pair<std::string, Var>;
  Values() = default;
  // Not explicit: a layer returns its one result.
  Values(Var x) { entries_.emplace_back("x", std::move(x)); }
  Values(std::initializer_list<Entry> entries) : entries_(entries) {}
  explicit Values(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // The one variable. UsageError naming the layer and what is there unless
  // there is exactly one.
  const Var& only() const;
  // UsageError naming the layer, the name and what is there.
  const Var& operator[](std::string_view name) const;
  // These, with `name` added or replaced: how a skip or a mask travels on.
  Values with(std::string name, Var value) const;

  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace quire::nn
