// Worlds for tests: ranks as threads or as processes, over one shared mapping
// or over slots.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "quire/comm/run.h"
#include "quire/core/allocator.h"
#include "quire/core/stream.h"

namespace quire::testing {

struct World {
  int ranks;
  bool processes;
  bool mapped;
  double timeout_s = 20;

  comm::RunResult run(const comm::RankMain& main) const {
    const comm::LocalOptions options{.timeout_s = timeout_s, .mapped = mapped};
    return processes ? comm::run_processes(ranks, options, main)
                     : comm::run_threads(ranks, options, main);
  }
};

inline std::string name_of(const World& world) {
  return std::to_string(world.ranks) +
         (world.processes ? "Processes" : "Threads") +
         (world.mapped ? "Mapped" : "Slots");
}

// A rank's streams.
struct Streams {
  ThreadPool pool{1};
  Allocator allocator{
      {.device = Device::kCpu, .budget_bytes = {}, .owner = "test"}};
  Stream compute{Stream::Kind::kInline, "compute", pool, allocator};
  Stream communication{Stream::Kind::kBackground, "comm", pool, allocator};
};

// Thrown by a rank that found something else than it expected, so that a forked
// rank's finding reaches the test.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw SystemError("expected: " + what);
}

inline void expect_success(const comm::RunResult& result) {
  EXPECT_EQ(result.exit_code, 0)
      << (result.failure ? result.failure->to_string() : "no failure");
}

}  // namespace quire::testing
