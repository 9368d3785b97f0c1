// Tokens per second of a training step beside the machine's multiply-add peak,
// and of two ranks beside two processes that know nothing of each other, all
// measured in turn in one run:
//
//   bench/train [124m|small] [rounds]
//
// fp32, AdamW, one lane a rank:
//   solo   one rank with two threads, all samples
//   joint  two ranks (processes) with one thread each at stage 3, half of the
//          samples each
//   alone  in the same two processes and at the same time, an engine each with
//          one thread and half of the samples, a world of its own
// Every round measures all of them and the peak of the same threads. What is
// printed are medians over the rounds; a percentage or a ratio is the median of
// the rounds' own, so that a machine whose clock drifts is compared with
// itself.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "bench/peak.h"
#include "bench/trainee.h"
#include "quire/comm/run.h"
#include "quire/engine/exchange.h"

namespace {

using namespace quire;
using bench::ModelCase;
using bench::Trainee;

constexpr int kRanks = 2;
constexpr double kPeakSeconds = 0.3;
constexpr double kTimeoutS = 600.0;  // a rank waits while the other runs solo

struct Round {
  // Tokens per second, and FLOP/s.
  double solo, joint, alone, solo_peak, peak;
};

// One process's part in the rounds.
class Bench {
 public:
  Bench(const ModelCase& c, comm::Communicator& world)
      : case_(c),
        world_(world),
        exchange_(world, sizeof(double)),
        stream_(Stream::Kind::kInline, "bench", pool_, scratch_),
        joint_(c, {.samples = c.samples / kRanks, .threads = 1}, world),
        alone_(c, {.samples = c.samples / kRanks, .threads = 1}, *own_) {
    if (world.rank() == 0)
      solo_.emplace(c, Trainee::Share{.samples = c.samples, .threads = kRanks},
                    *own_solo_);
  }

  Round round() {
    Round round{};
    measure_solo(round);
    measure_joint(round);
    measure_alone(round);
    meet();
    round.peak = sum(bench::multiply_add_peak(1, kPeakSeconds));
    return round;
  }

 private:
  comm::Call call() { return {.stream = &stream_}; }
  void meet() { world_.barrier(call()); }
  double sum(double mine) {
    double sum = 0.0;
    for (double value : exchange_.all(mine, call())) sum += value;
    return sum;
  }
  double rate(double samples, double seconds) const {
    return samples * static_cast<double>(case_.sequence * case_.steps) /
           seconds;
  }
  double half() const { return static_cast<double>(case_.samples) / kRanks; }

  // Rank 1 waits at the next barrier meanwhile.
  void measure_solo(Round& round) {
    meet();
    if (!solo_) return;
    round.solo = rate(2 * half(), solo_->seconds(case_.steps));
    round.solo_peak = bench::multiply_add_peak(kRanks, kPeakSeconds);
  }
  void measure_joint(Round& round) {
    meet();
    round.joint = sum(rate(half(), joint_.seconds(case_.steps)));
  }
  void measure_alone(Round& round) {
    meet();
    round.alone = sum(rate(half(), alone_.seconds(case_.steps)));
  }

  const ModelCase& case_;
  comm::Communicator& world_;
  engine::Exchange exchange_;
  Allocator scratch_{{}};
  ThreadPool pool_{1};
  Stream stream_;
  std::unique_ptr<comm::Communicator> own_ = comm::LocalWorld(1, {}).join(0);
  std::unique_ptr<comm::Communicator> own_solo_ =
      comm::LocalWorld(1, {}).join(0);
  Trainee joint_;
  Trainee alone_;
  std::optional<Trainee> solo_;  // rank 0's
};

template <class Fn>
double median_of(const std::vector<Round>& rounds, Fn fn) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(fn(round));
  return bench::median(values);
}

struct Line {
  const char* name;
  double Round::*rate;
  double Round::*peak;
};

void print(const ModelCase& c, const std::vector<Round>& rounds,
           const Line& line) {
  const double flops = c.flops_per_token();
  const double rate =
      median_of(rounds, [&](const Round& r) { return r.*line.rate; });
  const double peak =
      median_of(rounds, [&](const Round& r) { return r.*line.peak; });
  const double share = median_of(rounds, [&](const Round& r) {
    return r.*line.rate * flops / (r.*line.peak);
  });
  std::printf("%-30s %9.1f tokens/s %7.1f GFLOP/s of %7.1f peak %6.1f %%\n",
              line.name, rate, rate * flops * 1e-9, peak * 1e-9, 100.0 * share);
}

void report(const ModelCase& c, const std::vector<Round>& rounds) {
  std::printf("%s, %ld x %ld tokens a step, medians of %zu rounds\n", c.title,
              static_cast<long>(c.samples), static_cast<long>(c.sequence),
              rounds.size());
  print(c, rounds, {"1 rank, 2 threads", &Round::solo, &Round::solo_peak});
  print(c, rounds, {"2 ranks, 1 thread, stage 3", &Round::joint, &Round::peak});
  print(c, rounds,
        {"2 processes alone, 1 thread", &Round::alone, &Round::peak});
  const auto ratio = [](const Round& r) { return r.joint / r.alone; };
  const auto [least, most] = std::ranges::minmax(rounds, {}, ratio);
  std::printf("2 ranks / 2 processes alone: %.3f (%.3f to %.3f)\n",
              median_of(rounds, ratio), ratio(least), ratio(most));
}

int measure(const ModelCase& c, int count, comm::Communicator& world) {
  Bench bench(c, world);
  bench.round();  // memory is taken, caches are filled
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) rounds.push_back(bench.round());
  if (world.rank() == 0) report(c, rounds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const ModelCase* c = bench::model_case(argc > 1 ? argv[1] : "124m");
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (c == nullptr || rounds < 1) {
    std::fprintf(stderr, "usage: train [124m|small] [rounds]\n");
    return 2;
  }
  const comm::RunResult result = comm::run_processes(
      kRanks, {.timeout_s = kTimeoutS},
      [&](comm::Communicator& world) { return measure(*c, rounds, world); });
  if (result.failure)
    std::fprintf(stderr, "error: %s\n", result.failure->to_string().c_str());
  return result.exit_code;
}
