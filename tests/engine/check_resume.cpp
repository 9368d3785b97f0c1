// Every number of ranks and stage that saves, with every one that goes on: the
// same bits ten steps later. And what a process takes while it loads. Prints
// what failed, and "N passed, M failed" as its last line.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

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

constexpr int kSavedStep = 10, kSteps = 20;
constexpr std::array kSavingRanks = {1, 2, 3, 4};
constexpr std::array kLoadingRanks = {1, 2, 3, 5};
constexpr int kStages = 4;

// ---- bits

Training training_of(Types types, int ranks, int stage) {
  Training t = test::reference_training(types);
  t.ranks = ranks;
  t.options.stage = static_cast<engine::Stage>(stage);
  return t;
}

// Waves, processes, threads, memory and prefetch go round.
Training varied(Training t, int round) {
  const auto bit = [&](int place) { return (round >> place & 1) != 0; };
  t.processes = bit(0);
  t.options.wave = bit(1) ? 1 : test::kMatrixLanes;
  t.mapped = !bit(2);
  t.threads = bit(3) ? 2 : 1;
  t.options.prefetch = round % 3;
  return t;
}

class Resumes {
 public:
  Resumes(Types types, Tally& tally)
      : types_(types),
        tally_(tally),
        straight_(test::train(
            test::saving(training_of(types, 1, 0), kSteps, whole()))) {}

  // Goes on from it as all `loading` say.
  void check(int ranks, int stage, const std::vector<Training>& loading) {
    const Training saved = varied(training_of(types_, ranks, stage), round_);
    const std::string first = folder_ / test::name_of(saved);
    test::train(test::saving(saved, kSavedStep, first));
    for (const Training& t : loading) check_one(saved, varied(t, ++round_));
  }

 private:
  std::string whole() const { return folder_ / "whole"; }

  void check_one(const Training& saved, const Training& t) {
    const std::string first = folder_ / test::name_of(saved);
    const testing::TempFolder rest;
    tally_.check(
        test::name_of(saved) + " resumed by " + test::name_of(t),
        [&](std::string&) {
          const Outcome resumed = test::train(test::resuming(
              test::saving(t, kSteps, rest.path()), kSavedStep, first));
          return resumed.state == straight_.state &&
                 test::fingerprint_of(rest.path()) ==
                     test::fingerprint_of(whole());
        });
  }

  Types types_;
  Tally& tally_;
  testing::TempFolder folder_;
  Outcome straight_;
  int round_ = 0;
};

std::vector<Training> all_loading(Types types) {
  std::vector<Training> all;
  for (const int ranks : kLoadingRanks)
    for (int stage = 0; stage < kStages; ++stage)
      all.push_back(training_of(types, ranks, stage));
  return all;
}

// The full product in fp32; of the other types one that loads for every one
// that saves.
void check_bits(Tally& tally) {
  for (const Types types : {Types::kFp32, Types::kBf16Wire, Types::kBf16}) {
    Resumes resumes(types, tally);
    const auto all = all_loading(types);
    std::size_t next = 0;
    for (const int ranks : kSavingRanks)
      for (int stage = 0; stage < kStages; ++stage, next += 5) {
        const bool one = types != Types::kFp32;
        resumes.check(ranks, stage,
                      one ? std::vector{all[next % all.size()]} : all);
      }
  }
}

// ---- memory

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kSlack = 16 * kMiB;

// A field of /proc/self/status, in bytes.
std::int64_t status_of(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return 1024 * std::stoll(line.substr(7));
  throw std::runtime_error("no " + field + " in /proc/self/status");
}

// What this process holds at the most while `work` runs, over what it held
// before.
template <class Fn>
std::int64_t growth_over(Fn&& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const std::int64_t before = status_of("VmRSS:");
  work();
  return status_of("VmHWM:") - before;
}

// The shard is in memory before: the engine wrote into it when it started.
void load_within_bounds(const std::string& folder, const nn::Model& model,
                        engine::Engine& engine, int rank) {
  std::int64_t shard = 0, largest = 0;
  for (const auto& range : engine.held_state()) shard += range.data.bytes();
  for (const auto& info : model.parameters())
    largest = std::max<std::int64_t>(largest, 4 * info.shape.numel());
  const std::int64_t growth =
      growth_over([&] { test::load(folder, model, engine); });
  const std::string text =
      "rank " + std::to_string(rank) + " took " +
      std::to_string(growth / kMiB) + " MiB besides its shard of " +
      std::to_string(shard / kMiB) + ", the largest tensor has " +
      std::to_string(largest / kMiB);
  std::fprintf(stderr, "%s\n", text.c_str());
  if (growth > largest + kSlack) throw std::runtime_error(text);
}

// 88 MB of state, so that a rank of five that read all of it, or of a file,
// would be found out.
Training large_training() {
  Training t = test::reference_training();
  t.model.width = 256;
  t.model.heads = 4;
  t.model.layers = 4;
  t.model.vocab = 16384;
  t.processes = true;
  return t;
}

void check_memory(Tally& tally) {
  const testing::TempFolder folder;
  Training saved = test::saving(large_training(), 0, folder.path());
  saved.ranks = 2;
  test::train(saved);
  for (const int ranks : kLoadingRanks)
    for (const int stage : {0, 3}) {
      Training t = large_training();
      t.ranks = ranks;
      t.options.stage = static_cast<engine::Stage>(stage);
      t.steps = 0;
      t.begin = [&, model = t.model](engine::Engine& engine,
                                     comm::Communicator& communicator) {
        load_within_bounds(folder.path(), models::gpt2(model), engine,
                           communicator.rank());
      };
      tally.check("memory while loading by " + test::name_of(t),
                  [&](std::string&) {
                    test::train(t);
                    return true;
                  });
    }
}

int run() {
  Tally tally;
  check_memory(tally);
  check_bits(tally);
  return tally.finish();
}

}  // namespace
}  // namespace quire

int main() { return quire::run(); }
