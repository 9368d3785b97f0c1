// What a steady step of two ranks (processes, one thread each, stage 3) holds
// and asks from the system:
//
//   bench/memory [124m|small] [steps]
//
// Proportional memory (PSS, where a page that k processes map counts 1/k in
// each) of both ranks together, the most that was seen while steps ran, beside
// 16 bytes a parameter and the activations that the plan foretells. And, for
// rank 0, calls of operator new, blocks from the system, page faults, and
// switches of context (those it asked for: it slept until somebody woke it).
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/trainee.h"
#include "quire/comm/run.h"
#include "quire/engine/exchange.h"

namespace {

std::atomic<std::int64_t> new_calls{0}, new_bytes{0};

void* counted(std::size_t bytes, void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  new_calls.fetch_add(1, std::memory_order_relaxed);
  new_bytes.fetch_add(static_cast<std::int64_t>(bytes),
                      std::memory_order_relaxed);
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes, std::malloc(bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto grain = static_cast<std::size_t>(alignment);
  return counted(
      bytes, std::aligned_alloc(grain, (bytes + grain - 1) / grain * grain));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using namespace quire;
using bench::ModelCase;
using bench::Trainee;

constexpr int kRanks = 2;
constexpr double kMiB = 1024.0 * 1024.0;

// Bytes.
struct Pss {
  double all = 0.0, anonymous = 0.0, shared = 0.0, files = 0.0;
};

Pss pss_of(std::int64_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string key;
  double kib = 0.0;
  Pss pss;
  std::getline(rollup, key);  // the addresses
  for (std::string unit; rollup >> key >> kib >> unit;) {
    if (key == "Pss:") pss.all = 1024.0 * kib;
    if (key == "Pss_Anon:") pss.anonymous = 1024.0 * kib;
    if (key == "Pss_Shmem:") pss.shared = 1024.0 * kib;
    if (key == "Pss_File:") pss.files = 1024.0 * kib;
  }
  return pss;
}

Pss sum_of(const std::vector<std::int64_t>& pids) {
  Pss sum;
  for (std::int64_t pid : pids) {
    const Pss pss = pss_of(pid);
    sum.all += pss.all;
    sum.anonymous += pss.anonymous;
    sum.shared += pss.shared;
    sum.files += pss.files;
  }
  return sum;
}

// Looks at the processes until it is asked for the most that it saw.
class Watch {
 public:
  explicit Watch(std::vector<std::int64_t> pids)
      : pids_(std::move(pids)), thread_([this] { run(); }) {}
  ~Watch() { most(); }
  Pss most() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return most_;
  }

 private:
  void run() {
    while (!stop_) {
      const Pss now = sum_of(pids_);
      if (now.all > most_.all) most_ = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  const std::vector<std::int64_t> pids_;
  std::atomic<bool> stop_{false};
  Pss most_;
  std::thread thread_;
};

// Of this process, so far.
struct Asked {
  static Asked now(const Trainee& trainee) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {.news = new_calls,
            .new_bytes = ::new_bytes,
            .blocks = trainee.allocator().system_allocations(),
            .faults = usage.ru_minflt + usage.ru_majflt,
            .slept = usage.ru_nvcsw,
            .displaced = usage.ru_nivcsw};
  }
  std::int64_t news, new_bytes, blocks, faults, slept, displaced;
};

void report(const Asked& a, const Asked& b, int steps) {
  const auto line = [&](const char* what, std::int64_t begin,
                        std::int64_t end) {
    std::printf("  %12.1f %s\n", static_cast<double>(end - begin) / steps,
                what);
  };
  std::printf("a steady step of rank 0, means of %d steps:\n", steps);
  line("blocks of memory from the system", a.blocks, b.blocks);
  line("calls of operator new", a.news, b.news);
  line("bytes of them", a.new_bytes, b.new_bytes);
  line("page faults", a.faults, b.faults);
  line("times asleep until woken", a.slept, b.slept);
  line("times displaced by others", a.displaced, b.displaced);
}

void report(const Pss& pss, double states, double activations) {
  const double bound = states + activations;
  std::printf(
      "PSS of %d ranks: %.1f MiB (anonymous %.1f, shared %.1f, files %.1f)\n"
      "16 bytes a parameter: %.1f MiB, predicted activations: %.1f MiB\n"
      "PSS over both: %.3f\n",
      kRanks, pss.all / kMiB, pss.anonymous / kMiB, pss.shared / kMiB,
      pss.files / kMiB, states / kMiB, activations / kMiB, pss.all / bound);
}

double predicted_activations(const Trainee& trainee) {
  constexpr auto kIndex = static_cast<std::size_t>(Category::kActivations);
  return static_cast<double>(trainee.dry_run().memory.peak[kIndex]);
}

int measure(const ModelCase& c, int steps, comm::Communicator& world) {
  Trainee trainee(c, {.samples = c.samples / kRanks, .threads = 1}, world);
  Allocator scratch({});
  ThreadPool pool(1);
  Stream stream(Stream::Kind::kInline, "bench", pool, scratch);
  const comm::Call call{.stream = &stream};
  engine::Exchange exchange(world, sizeof(double));
  const auto pids = exchange.all<std::int64_t>(getpid(), call);
  double activations = 0.0;
  for (double bytes : exchange.all(predicted_activations(trainee), call))
    activations += bytes;

  trainee.seconds(2);  // memory is taken
  const Asked begin = Asked::now(trainee);
  trainee.seconds(steps);
  const Asked end = Asked::now(trainee);
  std::optional<Watch> watch;
  if (world.rank() == 0) watch.emplace(pids);
  trainee.seconds(steps);
  world.barrier(call);
  if (world.rank() != 0) return 0;
  const double states =
      16.0 * static_cast<double>(models::gpt2(c.model).numel());
  report(watch->most(), states, activations);
  report(begin, end, steps);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const ModelCase* c = bench::model_case(argc > 1 ? argv[1] : "124m");
  if (c == nullptr) {
    std::fprintf(stderr, "usage: memory [124m|small] [steps]\n");
    return 2;
  }
  const int steps = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3 * c->steps;
  std::printf("%s\n", c->title);
  std::fflush(stdout);
  const comm::RunResult result = comm::run_processes(
      kRanks, {},
      [&](comm::Communicator& world) { return measure(*c, steps, world); });
  if (result.failure)
    std::fprintf(stderr, "error: %s\n", result.failure->to_string().c_str());
  return result.exit_code;
}
