// Selections of cases in which every pair of levels of two factors occurs.
#pragma once

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace quire::test {

using Case = std::vector<int>;  // the level of every factor

// `levels[f]`: how many levels factor f has. Greedy: every case takes, factor
// by factor, the level that brings most pairs not seen yet.
class Pairwise {
 public:
  explicit Pairwise(std::vector<int> levels) : levels_(std::move(levels)) {
    for (int f = 0; f < factors(); ++f)
      for (int g = f + 1; g < factors(); ++g)
        for (int a = 0; a < levels_[f]; ++a)
          for (int b = 0; b < levels_[g]; ++b) open_.insert({f, a, g, b});
  }

  std::vector<Case> cases() {
    std::vector<Case> result;
    while (!open_.empty()) {
      result.push_back(next_case());
      for (const Pair& pair : pairs_of(result.back())) open_.erase(pair);
    }
    return result;
  }

 private:
  using Pair = std::tuple<int, int, int, int>;  // factor, level, factor, level

  int factors() const { return static_cast<int>(levels_.size()); }

  std::vector<Pair> pairs_of(const Case& c) const {
    std::vector<Pair> pairs;
    for (int f = 0; f < factors(); ++f)
      for (int g = f + 1; g < factors(); ++g)
        if (c[f] >= 0 && c[g] >= 0) pairs.push_back({f, c[f], g, c[g]});
    return pairs;
  }

  long gain(const Case& c) const {
    const auto pairs = pairs_of(c);
    return std::count_if(pairs.begin(), pairs.end(), [this](const Pair& pair) {
      return open_.contains(pair);
    });
  }

  // It starts from a pair that is still missing.
  Case next_case() const {
    const auto [f, a, g, b] = *open_.begin();
    Case c(levels_.size(), -1);
    c[f] = a;
    c[g] = b;
    for (int h = 0; h < factors(); ++h)
      if (c[h] < 0) c[h] = best_level(c, h);
    return c;
  }

  int best_level(Case c, int factor) const {
    int best = 0;
    long most = -1;
    for (int level = 0; level < levels_[factor]; ++level) {
      c[factor] = level;
      if (const long got = gain(c); got > most) {
        most = got;
        best = level;
      }
    }
    return best;
  }

  std::vector<int> levels_;
  std::set<Pair> open_;
};

}  // namespace quire::test
