#include "quire/engine/dry_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "quire/comm/meta.h"
#include "quire/core/divide.h"

namespace quire::engine {
namespace {

// Keeps the report of the moment when the most was held, over spans that each
// start with peaks of their own.
class PeakWatch {
 public:
  explicit PeakWatch(Allocator& allocator) : allocator_(&allocator) {}

  void begin_span() {
    take();
    allocator_->reset_peak();
  }
  // The span's own peak.
  std::int64_t take() {
    const MemoryReport report = allocator_->report();
    for (std::size_t c = 0; c < report.peak.size(); ++c)
      own_[c] = std::max(own_[c], report.peak[c]);
    const std::int64_t peak = report.total_peak;
    if (peak > largest_.total_peak) largest_ = report;
    largest_.peak = own_;
    return peak;
  }
  const MemoryReport& largest() const { return largest_; }

 private:
  Allocator* allocator_;
  MemoryReport largest_;
  std::array<std::int64_t, kCategories> own_{};  // of every category
};

// Ranks for which this is equal run the same ops on the same shapes: they have
// as many lanes in every wave, and what one reduce sends merges in the same
// order, on which depends how many rows of gradients wait for a sibling.
std::vector<int> work_of(const layout::Waves& waves, Stage stage, int rank) {
  std::vector<int> work;
  for (int wave = 0; wave < waves.count(); ++wave) {
    work.push_back(waves.run(wave, rank).count());
    if (!reduces_every_wave(stage) && wave > 0) continue;
    std::vector<layout::Node> leaves;
    const layout::Run sent = reduced_lanes(waves, stage, wave, rank);
    for (int lane = sent.begin; lane < sent.end; ++lane)
      leaves.push_back({0, lane});
    const layout::Merge merge = layout::merge(leaves, waves.lanes());
    work.insert(work.end(), merge.adds.begin(), merge.adds.end());
  }
  return work;
}

Batch on_meta(Batch batch) {
  for (std::vector<NamedTensor>* tensors : {&batch.inputs, &batch.targets}) {
    for (NamedTensor& named : *tensors)
      named.tensor = meta_tensor(named.tensor.dtype(), named.tensor.shape());
  }
  return batch;
}

}  // namespace

DryRun dry_run(const DryRunSetup& setup, int ranks, int rank) {
  Allocator allocator(
      {.device = Device::kMeta, .owner = "rank " + std::to_string(rank)});
  ThreadPool pool(setup.threads);
  const auto communicator = comm::meta_communicator(rank, ranks);
  PeakWatch watch(allocator);
  Engine engine({.model = setup.model,
                 .loss = setup.loss,
                 .optimizer = setup.optimizer,
                 .options = setup.options,
                 .communicator = communicator.get(),
                 .allocator = &allocator,
                 .pool = &pool});
  const std::shared_ptr<void> held =
      setup.holds ? setup.holds(engine, allocator) : nullptr;
  const Batch lane = on_meta(setup.lane);
  if (setup.fingerprints) engine.fingerprint_kernels(lane);
  engine.observe({.before = [&](Op&) { watch.begin_span(); },
                  .after =
                      [&](Op& op) {
                        op.peak_bytes = watch.take();
                        op.held_bytes = allocator.report().total_current;
                      }});
  engine.step(0, std::vector<Batch>(engine.lanes().size(), lane));
  DryRun result{.memory = {}, .plan = engine.plan()};
  if (setup.evaluates) {
    const int width = waves_of(engine.plan().shape).width();
    engine.evaluate(width * ranks, [&](int) { return lane; });
  }
  result.memory = watch.largest();
  return result;
}

DryRun largest_dry_run(const DryRunSetup& setup, int ranks) {
  const layout::Waves waves = waves_of(
      {.ranks = ranks, .lanes = setup.options.lanes, .options = setup.options});
  std::set<std::vector<int>> seen;
  std::optional<DryRun> largest;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!seen.insert(work_of(waves, setup.options.stage, rank)).second)
      continue;
    DryRun run = dry_run(setup, ranks, rank);
    if (!largest || run.memory.total_peak > largest->memory.total_peak)
      largest = std::move(run);
  }
  return *std::move(largest);
}

std::vector<int> wave_widths(int lanes, int ranks) {
  constexpr int kAllBelow = 16;
  std::vector<int> widths = {static_cast<int>(divide_up(lanes, ranks))};
  while (widths.back() > kAllBelow)
    widths.push_back(std::max(widths.back() / 2, kAllBelow));
  while (widths.back() > 1) widths.push_back(widths.back() - 1);
  return widths;
}

std::optional<Fit> widest_wave(const DryRunSetup& setup, int ranks,
                               std::int64_t budget_bytes) {
  DryRunSetup narrowed = setup;
  for (const int wave : wave_widths(setup.options.lanes, ranks)) {
    narrowed.options.wave = wave;
    DryRun largest = largest_dry_run(narrowed, ranks);
    if (largest.memory.total_peak <= budget_bytes)
      return Fit{wave, std::move(largest)};
  }
  return std::nullopt;
}

}  // namespace quire::engine
