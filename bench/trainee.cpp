#include "bench/trainee.h"

#include <algorithm>
#include <chrono>

#include "quire/optim/adam.h"

namespace quire::bench {

double seconds_now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

engine::Options Trainee::options() const {
  engine::Options options;
  options.lanes = ranks_;
  options.groups = {.lr = 1e-4, .weight_decay = 0.1};
  return options;
}

Trainee::Trainee(const ModelCase& c, const Share& share,
                 comm::Communicator& communicator)
    : model_(models::gpt2(c.model)),
      optimizer_(optim::adamw({})),
      share_(share),
      ranks_(communicator.size()),
      rank_(communicator.rank()),
      allocator_({}),
      pool_(share.threads),
      engine_(std::make_unique<engine::Engine>(
          engine::Setup{.model = &model_,
                        .loss = &loss_,
                        .optimizer = optimizer_.get(),
                        .options = options(),
                        .communicator = &communicator,
                        .allocator = &allocator_,
                        .pool = &pool_})) {
  for (int lane : engine_->lanes())
    batches_.push_back(lane_batch(c, share.samples, lane));
}

void Trainee::step() { engine_->step(steps_++, batches_); }

double Trainee::seconds(int steps) {
  const double start = seconds_now();
  for (int i = 0; i < steps; ++i) step();
  return seconds_now() - start;
}

engine::DryRun Trainee::dry_run() const {
  return engine::dry_run({.model = &model_,
                          .loss = &loss_,
                          .optimizer = optimizer_.get(),
                          .options = options(),
                          .threads = share_.threads,
                          .lane = batches_.front()},
                         ranks_, rank_);
}

}  // namespace quire::bench
