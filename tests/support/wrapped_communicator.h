// A communicator that passes every call on: what a test wants otherwise, it
// overrides.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "quire/comm/communicator.h"

namespace quire::test {

class WrappedCommunicator : public comm::Communicator {
 public:
  // `inner` is borrowed.
  explicit WrappedCommunicator(comm::Communicator& inner) : inner_(&inner) {}
  explicit WrappedCommunicator(std::unique_ptr<comm::Communicator> inner)
      : owned_(std::move(inner)), inner_(owned_.get()) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool mapped() const override { return inner_->mapped(); }
  Tensor allocate(std::int64_t bytes) override {
    return inner_->allocate(bytes);
  }
  void all_gather(const Tensor& row, const comm::Call& call) override {
    inner_->all_gather(row, call);
  }
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const comm::Arrival> arrivals,
                  const comm::Call& call) override {
    inner_->all_to_all(rows, arrivals, call);
  }
  void release(const comm::Call& call) override { inner_->release(call); }
  void broadcast(const Tensor& tensor, int root,
                 const comm::Call& call) override {
    inner_->broadcast(tensor, root, call);
  }
  void barrier(const comm::Call& call) override { inner_->barrier(call); }
  void locate(const comm::Location& location) override {
    inner_->locate(location);
  }
  comm::Location location() const override { return inner_->location(); }
  void abort(const comm::Failure& failure) noexcept override {
    inner_->abort(failure);
  }
  comm::Record& record() override { return inner_->record(); }

 protected:
  comm::Communicator& inner() { return *inner_; }

 private:
  std::unique_ptr<comm::Communicator> owned_;
  comm::Communicator* inner_;
};

}  // namespace quire::test
