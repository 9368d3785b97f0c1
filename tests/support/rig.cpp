#include "tests/support/rig.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <stdexcept>

#include "tests/support/poisons.h"

namespace quire::test {
namespace {

int run_rank(const Rig& rig, const HandMain& main, comm::Communicator& given) {
  std::optional<PoisoningCommunicator> poisoned;
  if (rig.poison) poisoned.emplace(given);
  comm::Communicator& communicator = poisoned ? *poisoned : given;
  Allocator allocator({.budget_bytes = rig.budget_bytes,
                       .owner = "rank " + std::to_string(communicator.rank()),
                       .poison = rig.poison});
  ThreadPool pool(rig.threads);
  engine::Engine engine({.model = rig.model,
                         .loss = rig.loss,
                         .optimizer = rig.optimizer,
                         .options = rig.options,
                         .communicator = &communicator,
                         .allocator = &allocator,
                         .pool = &pool});
  Hand hand{communicator, allocator, engine};
  main(hand);
  return 0;
}

// fp32 as it is, bf16 in the upper half: equal bits are equal values.
std::uint32_t bits_at(const Tensor& data, std::int64_t i) {
  const std::byte* from = data.raw() + i * size_of(data.dtype());
  if (data.dtype() == DType::kF32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from, sizeof(bits));
    return bits;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, from, sizeof(half));
  return static_cast<std::uint32_t>(half) << 16;
}

}  // namespace

comm::RunResult try_run(const Rig& rig, const HandMain& main) {
  const comm::LocalOptions options{.timeout_s = rig.timeout_s,
                                   .mapped = rig.mapped};
  const auto rank = [&](comm::Communicator& communicator) {
    return run_rank(rig, main, communicator);
  };
  return rig.processes ? comm::run_processes(rig.ranks, options, rank)
                       : comm::run_threads(rig.ranks, options, rank);
}

void run(const Rig& rig, const HandMain& main) {
  const comm::RunResult result = try_run(rig, main);
  if (result.failure) throw std::runtime_error(result.failure->to_string());
  if (result.exit_code != 0) throw std::runtime_error("a rank failed");
}

engine::StepResult step(Hand& hand, std::int64_t step, const LaneBatch& lane) {
  std::vector<Batch> batches;
  for (int own : hand.engine.lanes()) batches.push_back(lane(own));
  return hand.engine.step(step, batches);
}

void Ledger::add(const Hand& hand, const nn::Model& model) {
  const std::lock_guard lock(*mutex_);
  for (const engine::StateRange& range : hand.engine.owned_state()) {
    put(range.kind + ":" + model.parameter(range.parameter).name, range);
  }
}

void Ledger::put(const std::string& name, const engine::StateRange& range) {
  Elements& elements = bits_[name];
  for (std::int64_t i = 0; i < range.data.numel(); ++i) {
    const bool first =
        elements.emplace(range.first + i, bits_at(range.data, i)).second;
    EXPECT_TRUE(first) << name << "[" << range.first + i << "] has two owners";
  }
}

std::vector<float> Ledger::values(const std::string& kind,
                                  const std::string& parameter) const {
  std::vector<float> result;
  const auto found = bits_.find(kind + ":" + parameter);
  EXPECT_NE(found, bits_.end()) << "no " << kind << " of " << parameter;
  if (found == bits_.end()) return result;
  for (const auto& [index, bits] : found->second) {
    EXPECT_EQ(index, static_cast<std::int64_t>(result.size())) << parameter;
    result.push_back(std::bit_cast<float>(bits));
  }
  return result;
}

std::vector<std::string> Ledger::names() const {
  std::vector<std::string> result;
  for (const auto& [name, elements] : bits_) result.push_back(name);
  return result;
}

void Ledger::load(Hand& hand, const nn::Model& model,
                  std::int64_t updates) const {
  for (const engine::StateRange& range : hand.engine.held_state()) {
    const Elements& elements =
        bits_.at(range.kind + ":" + model.parameter(range.parameter).name);
    for (std::int64_t i = 0; i < range.data.numel(); ++i)
      range.data.data<float>()[i] =
          std::bit_cast<float>(elements.at(range.first + i));
  }
  hand.engine.restored(updates);
}

Trained train(const Rig& rig, int steps, const StepBatch& batch) {
  Trained result;
  run(rig, [&](Hand& hand) {
    for (int i = 0; i < steps; ++i) {
      const engine::StepResult got =
          step(hand, i, [&](int lane) { return batch(i, lane); });
      if (hand.rank() == 0) result.steps.push_back(got);
    }
    result.ledger.add(hand, *rig.model);
  });
  return result;
}

}  // namespace quire::test
