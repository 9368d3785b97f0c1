// A communicator whose calls are another's, with a place of its own: its thread
// is elsewhere than the rank's, whose place peers and the launcher read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "quire/comm/communicator.h"

namespace quire::checkpoint {

class OwnPlace final : public comm::Communicator {
 public:
  explicit OwnPlace(std::unique_ptr<comm::Communicator> calls)
      : calls_(std::move(calls)) {}

  int rank() const override { return calls_->rank(); }
  int size() const override { return calls_->size(); }
  bool mapped() const override { return calls_->mapped(); }
  Tensor allocate(std::int64_t bytes) override {
    return calls_->allocate(bytes);
  }
  void all_gather(const Tensor& row, const comm::Call& call) override {
    calls_->all_gather(row, call);
  }
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const comm::Arrival> arrivals,
                  const comm::Call& call) override {
    calls_->all_to_all(rows, arrivals, call);
  }
  void release(const comm::Call& call) override { calls_->release(call); }
  void broadcast(const Tensor& tensor, int root,
                 const comm::Call& call) override {
    calls_->broadcast(tensor, root, call);
  }
  void barrier(const comm::Call& call) override { calls_->barrier(call); }
  std::unique_ptr<comm::Communicator> split(std::string_view channel) override {
    return calls_->split(channel);
  }

  void locate(const comm::Location& location) override {
    step_ = location.step;
    phase_ = location.phase;
    layer_ = location.layer;
  }
  comm::Location location() const override {
    return {.step = step_, .phase = phase_, .layer = layer_};
  }
  void abort(const comm::Failure& failure) noexcept override {
    calls_->abort(failure);
  }
  comm::Record& record() override { return calls_->record(); }

 private:
  std::unique_ptr<comm::Communicator> calls_;
  std::int64_t step_ = -1;
  std::string phase_, layer_;
};

}  // namespace quire::checkpoint
