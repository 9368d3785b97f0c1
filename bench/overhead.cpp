// What a step spends on anything but the arithmetic of the model and the
// optimizer:
//
//   bench/overhead [124m|small] [steps]
//
// CPU time of rank 0 by kind of operation, means over the steps, with one
// thread a rank: one rank alone, where all runs in one thread, and two ranks
// (processes) at stage 3, where reduces and gathers run beside it in the
// threads of their streams, or in the rank's while it waits for them. Waiting
// costs none; bench/train shows what it costs.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "bench/trainee.h"
#include "quire/comm/run.h"

namespace {

using namespace quire;
using bench::ModelCase;
using bench::Trainee;
using engine::Op;
using engine::OpKind;

double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

enum Part { kSegments, kUpdate, kReduce, kCommit, kGather, kWeights, kParts };
constexpr std::array<const char*, kParts> kNames = {
    "forward and backward of layers and loss",
    "update",
    "ordered reduction",
    "commit: exact norm, exchange",
    "gather and release",
    "exchange of weights"};

Part part_of(const Op& op) {
  if (op.runs_segment()) return kSegments;
  switch (op.kind) {
    case OpKind::kUpdate:
      return kUpdate;
    case OpKind::kCommit:
      return kCommit;
    case OpKind::kGather:
    case OpKind::kRelease:
      return kGather;
    case OpKind::kWeights:
      return kWeights;
    default:
      return kReduce;
  }
}

// CPU seconds of a number of steps.
struct Costs {
  std::array<double, kParts> parts{};
  double thread = 0.0;   // of the rank
  double process = 0.0;  // and of its streams
};

Costs measure(Trainee& trainee, int steps) {
  Costs costs;
  double begin = 0.0;
  trainee.step();
  trainee.engine().observe(
      {.before = [&](Op&) { begin = cpu_seconds(CLOCK_THREAD_CPUTIME_ID); },
       .after =
           [&](Op& op) {
             costs.parts[part_of(op)] +=
                 cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
           }});
  costs.thread = -cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  costs.process = -cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < steps; ++i) trainee.step();
  costs.thread += cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  costs.process += cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  return costs;
}

void report(const Costs& costs, int ranks, int steps) {
  const auto line = [&](const char* name, double seconds) {
    std::printf("  %-42s %9.3f ms %6.2f %%\n", name, 1e3 * seconds / steps,
                100.0 * seconds / costs.process);
  };
  std::printf("%d rank%s, 1 thread\n", ranks, ranks > 1 ? "s" : "");
  double between = costs.thread;
  for (int part = 0; part < kParts; ++part) {
    line(kNames[part], costs.parts[part]);
    between -= costs.parts[part];
  }
  line("between operations: plan, work of streams", between);
  line("threads of streams", costs.process - costs.thread);
  line("all but layers, loss and update",
       costs.process - costs.parts[kSegments] - costs.parts[kUpdate]);
}

int run(const ModelCase& c, int ranks, int steps) {
  const comm::RunResult result =
      comm::run_processes(ranks, {}, [&](comm::Communicator& world) {
        Trainee trainee(c, {.samples = c.samples / ranks, .threads = 1}, world);
        const Costs costs = measure(trainee, steps);
        if (world.rank() == 0) report(costs, ranks, steps);
        return 0;
      });
  if (result.failure)
    std::fprintf(stderr, "error: %s\n", result.failure->to_string().c_str());
  return result.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  const ModelCase* c = bench::model_case(argc > 1 ? argv[1] : "124m");
  if (c == nullptr) {
    std::fprintf(stderr, "usage: overhead [124m|small] [steps]\n");
    return 2;
  }
  const int steps = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5 * c->steps;
  std::printf("%s, CPU time of a step of rank 0\n", c->title);
  std::fflush(stdout);
  const int alone = run(*c, 1, steps);
  return alone != 0 ? alone : run(*c, 2, steps);
}
