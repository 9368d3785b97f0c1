// What ranks of one host pay for meeting each other, as processes of one thread
// in a mapped world:
//
//   bench/collectives [rounds]
//
//   empty   a barrier
//   gather  an all_gather of rows of growing size: no byte moves
//   reduce  the ordered reduction of one row a rank, as the engine does it:
//           all_to_all, tree_add of own and arrived slices, release; its bytes
//           (every slice read, the sum written) per second beside y = a + b on
//           private memory by the same processes at the same time, which meet
//           as often: what meetings cost is what an empty call costs
//
// Medians over the rounds. More ranks than cores take turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/peak.h"
#include "bench/trainee.h"
#include "quire/comm/run.h"
#include "quire/engine/exchange.h"
#include "quire/kernels/tree_add.h"

namespace {

using namespace quire;
using bench::median;
using bench::seconds_now;
using kernels::TreeStep;

constexpr std::int64_t kRowBytes = std::int64_t{96} << 20;  // beyond any cache
constexpr int kEmptyCalls = 2000;
constexpr int kReductions = 8;  // of a round

// One rank's means.
struct Rank {
  Rank(comm::Communicator& given, int rounds)
      : world(given),
        rounds(rounds),
        exchange(given, sizeof(double)),
        stream(Stream::Kind::kInline, "bench", pool, memory) {}

  comm::Call call() { return {.stream = &stream}; }
  double sum(double mine) {
    double sum = 0.0;
    for (double value : exchange.all(mine, call())) sum += value;
    return sum;
  }
  bool first() const { return world.rank() == 0; }

  comm::Communicator& world;
  int rounds;
  engine::Exchange exchange;
  Allocator memory{{}};
  ThreadPool pool{1};
  Stream stream;
};

// Microseconds of a call.
template <class Fn>
double microseconds(Rank& rank, Fn fn) {
  std::vector<double> values;
  for (int round = 0; round < rank.rounds; ++round) {
    rank.world.barrier(rank.call());
    const double start = seconds_now();
    for (int i = 0; i < kEmptyCalls; ++i) fn();
    values.push_back(1e6 * (seconds_now() - start) / kEmptyCalls);
  }
  return median(values);
}

void measure_empty(Rank& rank) {
  const double us =
      microseconds(rank, [&] { rank.world.barrier(rank.call()); });
  if (rank.first())
    std::printf("empty, %d ranks: %.2f us\n", rank.world.size(), us);
}

void measure_gathers(Rank& rank) {
  for (std::int64_t kib : {std::int64_t{4}, std::int64_t{256},
                           std::int64_t{16} << 10, std::int64_t{256} << 10}) {
    const Tensor row = rank.world.allocate(kib << 10);
    const double us =
        microseconds(rank, [&] { rank.world.all_gather(row, rank.call()); });
    if (!rank.first()) continue;
    std::printf("gather of %7ld KiB, %d ranks: %.2f us\n",
                static_cast<long>(kib), rank.world.size(), us);
  }
}

// The stack program of the lane tree over n <= 4 leaves.
std::vector<TreeStep> tree_of(int leaves) {
  std::vector<TreeStep> steps;
  for (int i = 0; i < leaves; ++i) {
    steps.push_back(TreeStep::kPush);
    if (i % 2 == 1 || i + 1 == leaves) steps.push_back(TreeStep::kAdd);
    if (i == 3) steps.push_back(TreeStep::kAdd);
  }
  return steps;
}

class Reduction {
 public:
  explicit Reduction(Rank& rank)
      : rank_(rank),
        ranks_(rank.world.size()),
        slice_(kRowBytes / 4 / ranks_ / 256 * 256),
        shared_(rank.world.allocate(ranks_ * row() * 4)),
        sum_(rank.memory.zeros(DType::kF32, {slice_}, Category::kGradients)),
        steps_(tree_of(ranks_)) {
    for (int r = 0; r < ranks_; ++r) {
      const Tensor slice = row_of(r).range(rank.world.rank() * slice_, slice_);
      inputs_.push_back(slice);
      if (r != rank.world.rank()) arrivals_.push_back({r, slice});
    }
    std::fill_n(own().data<float>(), row(), 1.0f);
  }

  void run() {
    const Tensor rows[] = {own()};
    rank_.world.all_to_all(rows, arrivals_, rank_.call());
    kernels::tree_add(
        {.inputs = inputs_, .steps = steps_, .outputs = std::span(&sum_, 1)},
        rank_.stream);
    rank_.world.release(rank_.call());
  }
  // Of this rank.
  double bytes() const {
    return 4.0 * static_cast<double>((ranks_ + 1) * slice_);
  }

 private:
  std::int64_t row() const { return ranks_ * slice_; }
  Tensor row_of(int rank) const {
    return {shared_.storage(), DType::kF32, {row()}, rank * row() * 4};
  }
  Tensor own() const { return row_of(rank_.world.rank()); }

  Rank& rank_;
  int ranks_;
  std::int64_t slice_;
  Tensor shared_, sum_;
  std::vector<TreeStep> steps_;
  std::vector<Tensor> inputs_;
  std::vector<comm::Arrival> arrivals_;
};

// y = a + b, on as many bytes.
class Adding {
 public:
  Adding(Rank& rank, double bytes)
      : rank_(rank),
        n_(static_cast<std::int64_t>(bytes / 12.0)),
        arrays_(
            rank.memory.zeros(DType::kF32, {3 * n_}, Category::kWorkspace)) {}
  void run() {
    float* a = arrays_.data<float>();
    rank_.world.barrier(rank_.call());
    bench::add_arrays(a, a + n_, a + 2 * n_, n_);
    rank_.world.barrier(rank_.call());
  }
  double bytes() const { return 12.0 * static_cast<double>(n_); }

 private:
  Rank& rank_;
  std::int64_t n_;
  Tensor arrays_;
};

template <class Work>
double seconds(Work& work) {
  const double start = seconds_now();
  work.run();
  return seconds_now() - start;
}

// Bytes per second of all ranks together.
struct Bandwidths {
  double reduction, adding;
};

// In short turns, so that both meet the same machine.
Bandwidths measure_round(Rank& rank, Reduction& reduction, Adding& adding) {
  double reducing_s = 0.0, adding_s = 0.0;
  rank.world.barrier(rank.call());
  for (int i = 0; i < kReductions; ++i) {
    reducing_s += seconds(reduction);
    adding_s += seconds(adding);
  }
  return {rank.sum(kReductions * reduction.bytes() / reducing_s),
          rank.sum(kReductions * adding.bytes() / adding_s)};
}

void measure_reduction(Rank& rank) {
  Reduction reduction(rank);
  Adding adding(rank, reduction.bytes());
  measure_round(rank, reduction, adding);  // memory is taken
  std::vector<double> reduced, ratios;
  for (int round = 0; round < rank.rounds; ++round) {
    const Bandwidths both = measure_round(rank, reduction, adding);
    reduced.push_back(both.reduction);
    ratios.push_back(both.reduction / both.adding);
  }
  if (!rank.first()) return;
  std::printf("reduce, %d ranks: %5.1f GB/s, %3.0f %% of y = a + b\n",
              rank.world.size(), 1e-9 * median(reduced),
              100.0 * median(ratios));
}

int measure(comm::Communicator& world, int rounds) {
  Rank rank(world, rounds);
  if (world.size() == 2) {
    measure_empty(rank);
    measure_gathers(rank);
  }
  measure_reduction(rank);
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  for (int ranks : {2, 3, 4}) {
    const comm::RunResult result = comm::run_processes(
        ranks, {},
        [&](comm::Communicator& world) { return measure(world, rounds); });
    if (result.exit_code == 0) continue;
    if (result.failure)
      std::fprintf(stderr, "error: %s\n", result.failure->to_string().c_str());
    return result.exit_code;
  }
  return 0;
}
