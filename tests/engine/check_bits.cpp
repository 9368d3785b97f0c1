// The full product of what must not change a bit, 20 steps each, and a run
// that is saved by 3 ranks and resumed by 2. Prints what failed, and "N passed,
// M failed" as its last line.
#include <string>

#include "tests/engine/saved_training.h"
#include "tests/support/matrix.h"
#include "tests/support/tally.h"
#include "tests/support/temp_folder.h"

namespace quire {
namespace {

using test::Outcome;
using test::Tally;
using test::Training;
using test::Types;

constexpr int kSteps = 20, kSavedStep = 10;

Outcome reference_of(Types types) {
  Training t = test::reference_training(types);
  t.options.stage = engine::Stage::kNone;
  t.options.wave = 1;
  t.steps = kSteps;
  return test::train(t);
}

bool as_expected(const Training& t, const Outcome& reference,
                 std::string& why) {
  const Outcome got = test::train(t);
  if (got.measured != got.predicted) why = "other traffic than predicted";
  if (got.peaks != got.predicted_peaks) why = "another peak than predicted";
  return got.state == reference.state && got.losses == reference.losses &&
         got.norms == reference.norms && got.measured == got.predicted &&
         got.peaks == got.predicted_peaks;
}

void check_case(const test::Case& c, Types types, const Outcome& reference,
                Tally& tally) {
  Training t = test::training_of(c, types);
  t.steps = kSteps;
  tally.check(test::name_of(t),
              [&](std::string& why) { return as_expected(t, reference, why); });
}

// Every case of `levels`, from `c` on.
template <class Fn>
void for_each_case(const std::vector<int>& levels, test::Case c, const Fn& fn) {
  if (c.size() == levels.size()) return fn(c);
  for (int level = 0; level < levels[c.size()]; ++level) {
    test::Case longer = c;
    longer.push_back(level);
    for_each_case(levels, longer, fn);
  }
}

// All but the prefetch, which goes round.
void check_product(Tally& tally) {
  const Outcome reference = reference_of(Types::kFp32);
  std::vector<int> levels = test::matrix_levels();
  const int prefetches = levels.back();
  levels.pop_back();
  int count = 0;
  for_each_case(levels, {}, [&](test::Case c) {
    c.push_back(count++ % prefetches);
    check_case(c, Types::kFp32, reference, tally);
  });
}

void check_types(Tally& tally) {
  for (const Types types : {Types::kBf16Wire, Types::kBf16}) {
    const Outcome reference = reference_of(types);
    for (const test::Case& c : test::Pairwise(test::matrix_levels()).cases())
      check_case(c, types, reference, tally);
  }
}

// ---- save and resume

void check_resume(Types types, engine::Stage stage, Tally& tally) {
  Training t = test::reference_training(types);
  tally.check(
      "saved by 3 ranks, resumed by 2: " + test::name_of(t), [&](std::string&) {
        const testing::TempFolder folder;
        const std::string whole = folder / "whole";
        const std::string first = folder / "first";
        const std::string rest = folder / "rest";
        const Outcome straight = test::train(test::saving(t, kSteps, whole));
        t.ranks = 3;
        t.options.stage = stage;
        test::train(test::saving(t, kSavedStep, first));
        t.ranks = 2;
        t.processes = true;
        const Outcome resumed = test::train(
            test::resuming(test::saving(t, kSteps, rest), kSavedStep, first));
        return resumed.state == straight.state &&
               test::fingerprint_of(rest) == test::fingerprint_of(whole);
      });
}

int run() {
  Tally tally;
  for (const Types types : {Types::kFp32, Types::kBf16Wire, Types::kBf16})
    for (int stage = 0; stage <= 3; ++stage)
      check_resume(types, static_cast<engine::Stage>(stage), tally);
  check_types(tally);
  check_product(tally);
  return tally.finish();
}

}  // namespace
}  // namespace quire

int main() { return quire::run(); }
