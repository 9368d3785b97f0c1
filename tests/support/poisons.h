// A communicator that writes NaN over every row that was sent, as soon as its
// peers have released it: who still reads one is found out.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/wrapped_communicator.h"

namespace quire::test {

class PoisoningCommunicator final : public WrappedCommunicator {
 public:
  using WrappedCommunicator::WrappedCommunicator;

  void all_to_all(std::span<const Tensor> rows,
                  std::span<const comm::Arrival> arrivals,
                  const comm::Call& call) override {
    inner().all_to_all(rows, arrivals, call);
    sent_.assign(rows.begin(), rows.end());
  }
  void release(const comm::Call& call) override {
    inner().release(call);
    call.stream->submit([rows = std::exchange(sent_, {})] {
      for (const Tensor& row : rows)
        std::memset(row.raw(), kNan, static_cast<std::size_t>(row.bytes()));
    });
  }
  std::unique_ptr<comm::Communicator> split(std::string_view channel) override {
    return std::make_unique<PoisoningCommunicator>(inner().split(channel));
  }

 private:
  static constexpr int kNan = 0xff;  // in every byte: of any float type

  std::vector<Tensor> sent_;
};

}  // namespace quire::test
