// Makers of keys, one for every kind of value.
#pragma once

#include <limits>
#include <optional>

#include "quire/train/keys/key.h"

namespace quire::train {

template <class T>
using Field = std::function<T&(RunConfig&)>;

struct Described {
  std::string name;
  std::string description;
};

// Bounds of several keys. A batch can hold so many tokens.
inline constexpr std::int64_t kMostTokens = 1 << 30;

struct WholeRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
std::string text_of(const WholeRange& range);
std::optional<std::int64_t> whole_in(const Json& value,
                                     const WholeRange& range);

struct RealRange {
  std::string text;
  bool (*holds)(double);
};
extern const RealRange kAboveZero, kFromZero, kFraction, kUnit;
std::optional<double> real_in(const Json& value, const RealRange& range);

Key whole(Described what, WholeRange range, Field<std::int64_t> field);
Key whole(Described what, WholeRange range, Field<int> field);
Key real(Described what, const RealRange& range, Field<double> field);
Key real(Described what, const RealRange& range, Field<float> field);
Key flag(Described what, Field<bool> field);
Key text(Described what, Field<std::string> field);
// An array of patterns of names.
Key patterns(Described what, Field<std::vector<std::string>> field);

// "a, b or c"
std::string listed(std::span<const std::string> names);

// One of a few names; get and set by their position in `names`.
Key choice(Described what, std::vector<std::string> names,
           std::function<void(RunConfig&, std::size_t)> set,
           std::function<std::size_t(const RunConfig&)> get);

// All keys of the section.
std::vector<Key> model_keys();

// Kinds that serve one key.
Key seed_key();
Key wave_key();
Key betas_key();
Key clip_norm_key();
Key groups_key();
Key rename_key();
Key budget_key();
Key checkpoint_every_key();

}  // namespace quire::train
