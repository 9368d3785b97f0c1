#include "quire/comm/communicator.h"

#include <fmt/format.h>

#include <cstring>

#include "quire/core/allocator.h"

namespace quire::comm {
namespace {

constexpr std::int64_t kMostText = 16 << 20;

using Texts = std::vector<std::string>;

// The tensor keeps the texts: what is queued may outlive a failed call.
Tensor tensor_on(const std::shared_ptr<Texts>& texts, int index) {
  std::string& bytes = (*texts)[index];
  return tensor_over(reinterpret_cast<std::byte*>(bytes.data()), DType::kU8,
                     Shape{static_cast<std::int64_t>(bytes.size())}, texts);
}

void finish(const Call& call) { call.stream->record().wait(); }

std::int64_t checked(std::int64_t size, std::string_view what, int rank) {
  if (size >= 0 && size <= kMostText) return size;
  throw UsageError(
      fmt::format("{} of rank {} has {} bytes; expected at most {}", what, rank,
                  size, kMostText));
}

// Every rank's number.
std::vector<std::int64_t> gather_number(Communicator& communicator,
                                        std::int64_t number, const Call& call) {
  const auto rows = std::make_shared<Texts>(1);
  std::string& row = rows->front();
  row.resize(communicator.size() * sizeof(number));
  std::memcpy(row.data() + communicator.rank() * sizeof(number), &number,
              sizeof(number));
  communicator.all_gather(tensor_on(rows, 0), call);
  finish(call);
  std::vector<std::int64_t> numbers(communicator.size());
  std::memcpy(numbers.data(), row.data(), row.size());
  return numbers;
}

}  // namespace

Failure failure_at(const Communicator& communicator, std::string message,
                   int exit_code) {
  const Location place = communicator.location();
  return {.rank = communicator.rank(),
          .step = place.step,
          .phase = std::string(place.phase),
          .layer = std::string(place.layer),
          .message = std::move(message),
          .exit_code = exit_code};
}

std::vector<std::string> gather_text(Communicator& communicator,
                                     std::string_view text, const Call& call) {
  const auto size = checked(static_cast<std::int64_t>(text.size()),
                            "the text to gather", communicator.rank());
  const auto sizes = gather_number(communicator, size, call);
  const auto texts = std::make_shared<Texts>(communicator.size());
  for (int r = 0; r < communicator.size(); ++r) {
    (*texts)[r].resize(checked(sizes[r], "a gathered text", r));
  }
  (*texts)[communicator.rank()] = text;
  for (int r = 0; r < communicator.size(); ++r) {
    if (sizes[r] != 0) communicator.broadcast(tensor_on(texts, r), r, call);
  }
  finish(call);
  return *texts;
}

}  // namespace quire::comm
