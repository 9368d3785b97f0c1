// The matrix of one configuration: a GPT-2 of odd sizes with dropout, a tied
// head and clipping, over everything that must not change its bits.
#pragma once

#include <string>
#include <vector>

#include "tests/support/pairwise.h"
#include "tests/support/training.h"

namespace quire::test {

inline constexpr int kMatrixLanes = 6;

enum class Types { kFp32, kBf16Wire, kBf16 };  // these do change them

inline Training reference_training(Types types = Types::kFp32) {
  Training training{.options = small_options(kMatrixLanes)};
  engine::Precision& precision = training.options.precision;
  if (types != Types::kFp32) precision.wire = DType::kBF16;
  if (types == Types::kBf16) precision.compute = DType::kBF16;
  return training;
}

// The levels of: ranks 1-5, stages 0-3, threads 1-2, threads or processes,
// waves of 1 or of all lanes, recompute, mapped or slots, prefetch 0-2.
inline std::vector<int> matrix_levels() { return {5, 4, 2, 2, 2, 2, 2, 3}; }

inline Training training_of(const Case& c, Types types) {
  Training training = reference_training(types);
  training.ranks = c[0] + 1;
  training.options.stage = static_cast<engine::Stage>(c[1]);
  training.threads = c[2] + 1;
  training.processes = c[3] == 1;
  training.options.wave = c[4] == 0 ? 1 : kMatrixLanes;
  training.options.precision.recompute =
      c[5] == 0 ? engine::Recompute::kNone : engine::Recompute::kLayer;
  training.mapped = c[6] == 0;
  training.options.prefetch = c[7];
  return training;
}

inline std::string name_of(const Training& t) {
  const engine::Options& o = t.options;
  std::string name = std::to_string(t.ranks);
  name += t.processes ? "processes" : "ranks";
  name += "_stage" + std::to_string(static_cast<int>(o.stage));
  name += "_threads" + std::to_string(t.threads);
  name += o.wave == 1 ? "_narrow" : "_wide";
  name += o.precision.recompute == engine::Recompute::kLayer ? "_recompute"
                                                             : "_keep";
  name += t.mapped ? "_mapped" : "_slots";
  name += "_prefetch" + std::to_string(o.prefetch);
  if (o.precision.compute == DType::kBF16) return name + "_bf16";
  return name + (o.precision.wire == DType::kBF16 ? "_bf16wire" : "_fp32");
}

// A pairwise selection, types included.
inline std::vector<Training> selected_trainings() {
  std::vector<int> levels = matrix_levels();
  levels.push_back(3);
  std::vector<Training> result;
  for (const Case& c : Pairwise(levels).cases())
    result.push_back(training_of(c, static_cast<Types>(c.back())));
  return result;
}

}  // namespace quire::test
