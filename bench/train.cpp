// Tokens per second of GPT-2 124M beside the machine's multiply-add peak, both
// measured in turn in one run:
//
//   bench/train [rounds]
//
// fp32, AdamW, 4 samples of 256 tokens a step: one rank with two threads (one
// lane), and two ranks (processes) with one thread each at stage 3 (two lanes).
// The percentage is (6 N + 12 L C T) FLOP per token over the peak; N counts the
// parameters without the position table.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/peak.h"
#include "quire/comm/run.h"
#include "quire/engine/engine.h"
#include "quire/models/gpt2.h"
#include "quire/optim/optimizer.h"

namespace {

using namespace quire;

constexpr models::Gpt2Options kModel{
    .layers = 12, .width = 768, .heads = 12, .context = 1024, .vocab = 50257};
constexpr std::int64_t kSamples = 4;
constexpr std::int64_t kSequence = 256;
constexpr int kWarmUp = 1;

struct Case {
  const char* name;
  int ranks;
  int threads;
};

double seconds_now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double flops_per_token() {
  const nn::Model model = models::gpt2(kModel);
  const double n =
      static_cast<double>(model.numel() - kModel.context * kModel.width);
  return 6.0 * n + 12.0 * kModel.layers * kModel.width * kSequence;
}

Batch lane_batch(std::int64_t samples, int lane) {
  auto tokens = std::make_shared<std::vector<std::int32_t>>(
      static_cast<std::size_t>(samples * kSequence));
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    (*tokens)[i] = static_cast<std::int32_t>(
        (i * 7919 + static_cast<std::size_t>(lane) * 104729) % 50257);
  }
  auto* data = reinterpret_cast<std::byte*>(tokens->data());
  const Tensor tensor =
      tensor_over(data, DType::kI32, {samples, kSequence}, tokens);
  return {.inputs = {{"tokens", tensor}}, .targets = {{"targets", tensor}}};
}

// Runs `rounds` steps; rank 0 writes (seconds of a step, peak) pairs to `out`.
int train(comm::Communicator& communicator, const Case& c, int rounds,
          int out) {
  const nn::Model model = models::gpt2(kModel);
  const nn::CrossEntropy loss;
  const auto optimizer = optim::adamw({});
  Allocator allocator({});
  ThreadPool pool(c.threads);
  engine::Options options;
  options.lanes = c.ranks;
  options.groups = {.lr = 1e-4, .weight_decay = 0.1};
  engine::Engine engine({.model = &model,
                         .loss = &loss,
                         .optimizer = optimizer.get(),
                         .options = options,
                         .communicator = &communicator,
                         .allocator = &allocator,
                         .pool = &pool});
  std::vector<Batch> batches;
  for (int lane : engine.lanes())
    batches.push_back(lane_batch(kSamples / c.ranks, lane));
  Stream stream(Stream::Kind::kInline, "bench", pool, allocator);
  for (int round = 0; round < kWarmUp + rounds; ++round) {
    communicator.barrier({.stream = &stream});
    const double peak = bench::multiply_add_peak(c.threads, 0.3) * c.ranks;
    communicator.barrier({.stream = &stream});
    const double start = seconds_now();
    engine.step(round, batches);
    const double measured[] = {seconds_now() - start, peak};
    if (round < kWarmUp || communicator.rank() != 0) continue;
    if (write(out, measured, sizeof(measured)) != sizeof(measured)) return 1;
  }
  return 0;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

bool report(const Case& c, int rounds) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const comm::RunResult result =
      comm::run_processes(c.ranks, {}, [&](comm::Communicator& communicator) {
        return train(communicator, c, rounds, ends[1]);
      });
  close(ends[1]);
  if (result.exit_code != 0) {
    std::fprintf(
        stderr, "error: %s\n",
        result.failure ? result.failure->to_string().c_str() : "a rank failed");
    return false;
  }
  std::vector<double> seconds, ratios, peaks;
  double measured[2];
  while (read(ends[0], measured, sizeof(measured)) == sizeof(measured)) {
    seconds.push_back(measured[0]);
    peaks.push_back(measured[1]);
    ratios.push_back(kSamples * kSequence * flops_per_token() / measured[0] /
                     measured[1]);
  }
  close(ends[0]);
  std::printf("%-32s %8.1f tokens/s  %7.1f GFLOP/s of %7.1f peak  %5.1f %%\n",
              c.name, kSamples * kSequence / median(seconds),
              kSamples * kSequence * flops_per_token() / median(seconds) * 1e-9,
              median(peaks) * 1e-9, 100.0 * median(ratios));
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const Case cases[] = {{"1 rank, 2 threads", 1, 2},
                        {"2 ranks, 1 thread, stage 3", 2, 1}};
  bool ok = true;
  for (const Case& c : cases) ok = report(c, rounds) && ok;
  return ok ? 0 : 1;
}
