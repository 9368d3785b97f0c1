// A communicator whose calls come late by random microseconds, so that ranks
// and streams meet in many orders.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "quire/core/hash.h"
#include "tests/support/wrapped_communicator.h"

namespace quire::test {

class DelayingCommunicator final : public WrappedCommunicator {
 public:
  DelayingCommunicator(comm::Communicator& inner, std::uint64_t seed)
      : WrappedCommunicator(inner), seed_(seed) {}
  DelayingCommunicator(std::unique_ptr<comm::Communicator> inner,
                       std::uint64_t seed)
      : WrappedCommunicator(std::move(inner)), seed_(seed) {}

  void all_gather(const Tensor& row, const comm::Call& call) override {
    delay(call);
    inner().all_gather(row, call);
    delay(call);
  }
  void all_to_all(std::span<const Tensor> rows,
                  std::span<const comm::Arrival> arrivals,
                  const comm::Call& call) override {
    delay(call);
    inner().all_to_all(rows, arrivals, call);
    delay(call);
  }
  void release(const comm::Call& call) override {
    delay(call);
    inner().release(call);
  }
  std::unique_ptr<comm::Communicator> split(std::string_view channel) override {
    return std::make_unique<DelayingCommunicator>(inner().split(channel),
                                                  ++seed_ * 31);
  }

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

  std::uint64_t seed_;
  std::uint64_t calls_ = 0;
};

}  // namespace quire::test
