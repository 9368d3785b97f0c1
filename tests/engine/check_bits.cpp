// The full product of what must not change a bit, 20 steps each, and a run
// that is saved by 3 ranks and resumed by 2. Prints what failed, and "N passed,
// M failed" as its last line.
#include <cstdio>
#include <exception>
#include <string>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/save.h"
#include "tests/support/matrix.h"
#include "tests/support/temp_folder.h"

namespace quire {
namespace {

using test::Outcome;
using test::Training;
using test::Types;

constexpr int kSteps = 20, kSavedStep = 10;

class Tally {
 public:
  // Runs `holds`; a failure is printed under `name`.
  template <class Fn>
  void check(const std::string& name, Fn&& holds) {
    std::string why = "other bits";
    bool passed = false;
    try {
      passed = holds(why);
    } catch (const std::exception& error) {
      why = error.what();
    }
    ++(passed ? passed_ : failed_);
    if (!passed) std::printf("FAILED %s: %s\n", name.c_str(), why.c_str());
    if ((passed_ + failed_) % 40 == 0)
      std::fprintf(stderr, "%d done, %d failed\n", passed_ + failed_, failed_);
  }
  int finish() const {
    std::printf("%d passed, %d failed\n", passed_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0;
};

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

// A stream for a checkpoint's calls.
struct Desk {
  ThreadPool pool{1};
  Allocator allocator{{}};
  Stream stream{Stream::Kind::kInline, "checkpoint", pool, allocator};
};

void save(const std::string& folder, std::int64_t step, engine::Engine& engine,
          comm::Communicator& communicator) {
  const nn::Model model = models::gpt2(Training().model);
  checkpoint::SaveRequest request{
      .parts = {},
      .parameters = {},
      .progress = {.step = step, .updates = engine.updates(), .seed = 1}};
  for (const nn::ParameterInfo& info : model.parameters())
    request.parameters.push_back({info.name, info.shape, info.trainable});
  for (const engine::StateRange& range : engine.owned_state()) {
    request.parts.push_back({range.kind, model.parameter(range.parameter).name,
                             range.first, range.data});
  }
  Desk desk;
  checkpoint::save(folder, request, communicator, desk.stream);
}

void load(const std::string& folder, engine::Engine& engine) {
  const nn::Model model = models::gpt2(Training().model);
  const auto saved = checkpoint::Checkpoint::open(folder);
  for (const engine::StateRange& range : engine.held_state()) {
    saved.load(range.kind, model.parameter(range.parameter).name, range.first,
               range.data);
  }
  engine.restored(saved.manifest().progress.updates);
}

std::uint64_t fingerprint_of(const std::string& folder) {
  return checkpoint::Checkpoint::open(folder).manifest().fingerprint();
}

Training saving(Training t, int steps, const std::string& folder) {
  t.steps = steps;
  t.end = [folder, steps](engine::Engine& engine,
                          comm::Communicator& communicator) {
    save(folder, steps, engine, communicator);
  };
  return t;
}

Training resuming(Training t, const std::string& folder) {
  t.first_step = kSavedStep;
  t.begin = [folder](engine::Engine& engine, comm::Communicator&) {
    load(folder, engine);
  };
  return t;
}

void check_resume(Types types, engine::Stage stage, Tally& tally) {
  Training t = test::reference_training(types);
  tally.check("saved by 3 ranks, resumed by 2: " + test::name_of(t),
              [&](std::string&) {
                const testing::TempFolder folder;
                const std::string whole = folder / "whole";
                const std::string first = folder / "first";
                const std::string rest = folder / "rest";
                const Outcome straight = test::train(saving(t, kSteps, whole));
                t.ranks = 3;
                t.options.stage = stage;
                test::train(saving(t, kSavedStep, first));
                t.ranks = 2;
                t.processes = true;
                const Outcome resumed =
                    test::train(resuming(saving(t, kSteps, rest), first));
                return resumed.state == straight.state &&
                       fingerprint_of(rest) == fingerprint_of(whole);
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
