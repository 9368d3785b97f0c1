#include "tests/support/training.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "quire/core/hash.h"
#include "quire/core/philox.h"
#include "quire/engine/dry_run.h"
#include "quire/optim/adam.h"
#include "quire/optim/optimizer.h"
#include "tests/support/delays.h"
#include "tests/support/poisons.h"

namespace quire::test {
namespace {

Tensor tokens_of(std::int64_t samples, std::int64_t sequence,
                 const std::function<std::int32_t(std::int64_t)>& token) {
  auto values = std::make_shared<std::vector<std::int32_t>>(
      static_cast<std::size_t>(samples * sequence));
  for (std::size_t i = 0; i < values->size(); ++i)
    (*values)[i] = token(static_cast<std::int64_t>(i));
  auto* data = reinterpret_cast<std::byte*>(values->data());
  return tensor_over(data, DType::kI32, {samples, sequence}, values);
}

// A sum of elements' hashes, which neither order nor sharding changes.
std::uint64_t hash_of(const engine::Engine& engine) {
  std::uint64_t sum = 0;
  for (const engine::StateRange& range : engine.owned_state()) {
    const auto* values = range.data.data<float>();
    for (std::int64_t i = 0; i < range.data.numel(); ++i) {
      Hasher hasher;
      hasher.add(range.kind);
      hasher.add(static_cast<std::uint64_t>(range.parameter));
      hasher.add(static_cast<std::uint64_t>(range.first + i));
      hasher.add(std::as_bytes(std::span(values + i, 1)));
      sum += hasher.digest();
    }
  }
  return sum;
}

struct RankReport {
  std::uint64_t state;
  std::int64_t peak;
  comm::Traffic measured, predicted;
  double losses[64], norms[64];
};

std::string as_text(const RankReport& report) {
  return {reinterpret_cast<const char*>(&report), sizeof(report)};
}

RankReport train_rank(const Training& t, comm::Communicator& given) {
  std::optional<PoisoningCommunicator> poisoned;
  if (t.poison) poisoned.emplace(given);
  comm::Communicator& inner = poisoned ? *poisoned : given;
  std::optional<DelayingCommunicator> late;
  if (t.delays) late.emplace(inner, *t.delays);
  comm::Communicator& communicator = late ? *late : inner;
  const nn::Model model = models::gpt2(t.model);
  const nn::CrossEntropy loss;
  const auto optimizer = optim::adamw({.beta1 = 0.9, .beta2 = 0.95});
  Allocator allocator({.owner = "rank " + std::to_string(communicator.rank()),
                       .poison = t.poison});
  ThreadPool pool(t.threads);
  engine::Engine engine({.model = &model,
                         .loss = &loss,
                         .optimizer = optimizer.get(),
                         .options = t.options,
                         .communicator = &communicator,
                         .allocator = &allocator,
                         .pool = &pool});
  if (t.begin) t.begin(engine, communicator);
  RankReport report{};
  for (int step = t.first_step; step < t.steps; ++step) {
    std::vector<Batch> batches;
    for (int lane : engine.lanes())
      batches.push_back(lane_batch(t, step, lane));
    const engine::StepResult result = engine.step(step, batches);
    report.losses[step] = result.loss;
    report.norms[step] = result.gradient_norm;
  }
  report.state = hash_of(engine);
  report.peak = allocator.report().total_peak;
  report.measured = communicator.record().plan_traffic();
  report.predicted = engine.predicted_traffic();
  if (t.end) t.end(engine, communicator);
  return report;
}

void add(const RankReport& rank, Outcome& outcome) {
  outcome.state += rank.state;
  outcome.peaks.push_back(rank.peak);
  outcome.measured += rank.measured;
  outcome.predicted += rank.predicted;
}

std::vector<std::int64_t> predicted_peaks(const Training& t) {
  const nn::Model model = models::gpt2(t.model);
  const nn::CrossEntropy loss;
  const auto optimizer = optim::adamw({});
  std::vector<std::int64_t> peaks;
  for (int rank = 0; rank < t.ranks; ++rank) {
    const engine::DryRun run = engine::dry_run({.model = &model,
                                                .loss = &loss,
                                                .optimizer = optimizer.get(),
                                                .options = t.options,
                                                .threads = t.threads,
                                                .lane = lane_batch(t, 0, 0)},
                                               t.ranks, rank);
    peaks.push_back(run.memory.total_peak);
  }
  return peaks;
}

}  // namespace

Batch lane_batch(const Training& t, std::int64_t step, int lane) {
  const std::uint64_t key =
      random_key(7, "data", static_cast<std::uint64_t>(step * 1000 + lane));
  const auto token = [&](std::int64_t i) {
    return static_cast<std::int32_t>(
        philox(key, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] %
        static_cast<std::uint32_t>(t.model.vocab));
  };
  const auto target = [&](std::int64_t i) {
    return (i + lane) % 5 == 0 ? -100 : token(i + 1);
  };
  return {.inputs = {{"tokens", tokens_of(t.samples, t.sequence, token)}},
          .targets = {{"targets", tokens_of(t.samples, t.sequence, target)}}};
}

engine::Options small_options(int lanes) {
  engine::Options options;
  options.seed = 3;
  options.lanes = lanes;
  options.wave = lanes;
  options.clip_norm = 1.0;
  options.groups = {.lr = 1e-2, .weight_decay = 0.1};
  return options;
}

Outcome train(const Training& training) {
  Outcome outcome;
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("pipe");
  const auto main = [&](comm::Communicator& communicator) {
    const RankReport report = train_rank(training, communicator);
    ThreadPool pool(1);
    Allocator scratch({});
    Stream stream(Stream::Kind::kInline, "report", pool, scratch);
    const auto all =
        comm::gather_text(communicator, as_text(report), {.stream = &stream});
    if (communicator.rank() != 0) return 0;
    for (const std::string& text : all) {
      if (write(pipe_ends[1], text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()))
        return 1;
    }
    return 0;
  };
  const comm::LocalOptions options{.timeout_s = 20, .mapped = training.mapped};
  const comm::RunResult result =
      training.processes ? comm::run_processes(training.ranks, options, main)
                         : comm::run_threads(training.ranks, options, main);
  close(pipe_ends[1]);
  if (result.failure) throw std::runtime_error(result.failure->to_string());
  for (int rank = 0; rank < training.ranks; ++rank) {
    RankReport report;
    if (read(pipe_ends[0], &report, sizeof(report)) != sizeof(report))
      throw std::runtime_error("no report");
    add(report, outcome);
    if (rank > 0) continue;
    outcome.losses.assign(report.losses, report.losses + training.steps);
    outcome.norms.assign(report.norms, report.norms + training.steps);
  }
  close(pipe_ends[0]);
  outcome.predicted_peaks = predicted_peaks(training);
  return outcome;
}

}  // namespace quire::test
