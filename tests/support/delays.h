// A communicator whose calls come late by random microseconds, so that ranks
// and streams meet in many orders.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "quire/comm/communicator.h"
#include "quire/core/hash.h"

namespace quire::test {

class DelayingCommunicator final : public comm::Communicator {
 public:
  // `inner` is borrowed.
  DelayingCommunicator(comm::Communicator& inner, std::uint64_t seed)
      : inner_(&inner), seed_(seed) {}
  DelayingCommunicator(std::unique_ptr<comm::Communicator> inner,
                       std::uint64_t seed)
      : owned_(std::move(inner)), inner_(owned_.get()), seed_(seed) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool mapped() const override { return inner_->mapped(); }
  Tensor allocate(std::int64_t bytes) override {
    return inner_->allocate(bytes);
  }
  void all_gather(const Tensor& row, const comm::Call& call) override {
    delay(call);
    inner_->all_gather(row, call);
    delay(call);
  }
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const comm::Arrival> arrivals,
                  const comm::Call& call) override {
    delay(call);
    inner_->all_to_all(rows, arrivals, call);
    delay(call);
  }
  void release(const comm::Call& call) override {
    delay(call);
    inner_->release(call);
  }
  void broadcast(const Tensor& tensor, int root,
                 const comm::Call& call) override {
    inner_->broadcast(tensor, root, call);
  }
  void barrier(const comm::Call& call) override { inner_->barrier(call); }
  std::unique_ptr<comm::Communicator> split(std::string_view channel) override {
    return std::make_unique<DelayingCommunicator>(inner_->split(channel),
                                                  ++seed_ * 31);
  }
  void locate(const comm::Location& location) override {
    inner_->locate(location);
  }
  comm::Location location() const override { return inner_->location(); }
  void abort(const comm::Failure& failure) noexcept override {
    inner_->abort(failure);
  }
  comm::Record& record() override { return inner_->record(); }

 private:
  // Up to 200 microseconds on the call's stream; none for half of the calls.
  void delay(const comm::Call& call) {
    Hasher hasher;
    hasher.add(seed_ * 1000 + static_cast<std::uint64_t>(rank()));
    hasher.add(calls_++);
    const auto us = static_cast<std::int64_t>(hasher.digest() % 400) - 200;
    if (us <= 0) return;
    call.stream->submit(
        [us] { std::this_thread::sleep_for(std::chrono::microseconds(us)); });
  }

  std::unique_ptr<comm::Communicator> owned_;
  comm::Communicator* inner_;
  std::uint64_t seed_;
  std::uint64_t calls_ = 0;
};

}  // namespace quire::test
