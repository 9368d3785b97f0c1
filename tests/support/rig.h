// An engine on every rank of a small world, for tests that bring a model of
// their own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quire/comm/run.h"
#include "quire/core/allocator.h"
#include "quire/engine/engine.h"

namespace quire::test {

struct Rig {
  const nn::Model* model;
  const nn::Loss* loss;
  const optim::Optimizer* optimizer;
  engine::Options options = {};
  int ranks = 1;
  int threads = 1;
  bool mapped = true;
  bool processes = false;
  bool poison = false;
  std::optional<std::int64_t> budget_bytes = {};
  double timeout_s = 20;
};

// One rank of it.
struct Hand {
  comm::Communicator& communicator;
  Allocator& allocator;
  engine::Engine& engine;

  int rank() const { return communicator.rank(); }
};
using HandMain = std::function<void(Hand&)>;

// Runs `main` on every rank, and gives back how that went.
comm::RunResult try_run(const Rig& rig, const HandMain& main);
// As try_run; throws what the first failing rank said.
void run(const Rig& rig, const HandMain& main);

// A step over the lanes of which this rank has some.
using LaneBatch = std::function<Batch(int lane)>;
engine::StepResult step(Hand& hand, std::int64_t step, const LaneBatch& lane);

// The training state of a run of threads, put together from what its ranks
// own. add() may be called by all of them.
class Ledger {
 public:
  void add(const Hand& hand, const nn::Model& model);
  // Fills what the rank holds, of fp32 states.
  void load(Hand& hand, const nn::Model& model, std::int64_t updates = 0) const;
  // All elements of one kind of a parameter. Fails the test unless every
  // element is there exactly once.
  std::vector<float> values(const std::string& kind,
                            const std::string& parameter) const;
  std::vector<float> master(const std::string& parameter) const {
    return values("master", parameter);
  }
  // The names of what is there: "master:w".
  std::vector<std::string> names() const;
  friend bool operator==(const Ledger& a, const Ledger& b) {
    return a.bits_ == b.bits_;
  }

 private:
  // Bits of every element by its index.
  using Elements = std::map<std::int64_t, std::uint32_t>;
  void put(const std::string& name, const engine::StateRange& range);

  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::map<std::string, Elements> bits_;
};

// The state after `steps` steps over `lane(step, lane)`, and what each gave.
struct Trained {
  std::vector<engine::StepResult> steps;  // rank 0's
  Ledger ledger;
};
using StepBatch = std::function<Batch(std::int64_t step, int lane)>;
Trained train(const Rig& rig, int steps, const StepBatch& batch);

}  // namespace quire::test
