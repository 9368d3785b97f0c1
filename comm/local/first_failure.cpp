#include "quire/comm/local/first_failure.h"

#include "quire/comm/local/futex.h"

namespace quire::comm::local {
namespace {

// Cut to what fits, never inside a UTF-8 sequence.
template <std::size_t kBytes>
void store(char (&to)[kBytes], std::string_view text) {
  std::size_t count = std::min(text.size(), kBytes - 1);
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  if (count < text.size()) {
    while (count > 0 && continues(count)) --count;
  }
  text.copy(to, count);
  to[count] = 0;
}

bool claim(FailureBlock& block, int rank, int claimer, Witness witness) {
  const std::uint32_t mine = FailureBlock::kClaimed + claimer;
  std::uint32_t state = FailureBlock::kFree;
  if (block.state.compare_exchange_strong(state, mine)) return true;
  const std::uint32_t dead = FailureBlock::kClaimed + rank;
  return witness == Witness::kOfTheDead && rank >= 0 && claimer != rank &&
         state == dead && block.state.compare_exchange_strong(state, mine);
}

}  // namespace

std::optional<Failure> first_failure(const Control& control) {
  const FailureBlock& block = control.failure();
  if (block.state.load(std::memory_order_acquire) != FailureBlock::kPublished) {
    return std::nullopt;
  }
  return Failure{
      .rank = block.rank,
      .step = block.step,
      .phase = {block.phase, strnlen(block.phase, kPhaseBytes)},
      .layer = {block.layer, strnlen(block.layer, kLayerBytes)},
      .message = {block.message, strnlen(block.message, kMessageBytes)},
      .detail = {block.detail, strnlen(block.detail, kDetailBytes)},
      .exit_code = block.exit_code};
}

void publish(const Control& control, const Failure& failure, int claimer,
             Witness witness) noexcept {
  FailureBlock& block = control.failure();
  if (claim(block, failure.rank, claimer, witness)) {
    block.rank = failure.rank;
    block.step = failure.step;
    block.exit_code = failure.exit_code;
    store(block.phase, failure.phase);
    store(block.layer, failure.layer);
    store(block.message, failure.message);
    store(block.detail, failure.detail);
    block.state.store(FailureBlock::kPublished, std::memory_order_release);
  }
  if (block.state.load(std::memory_order_acquire) == FailureBlock::kPublished) {
    poison(control);
  }
}

void poison(const Control& control) noexcept {
  for (int i = 0; i < kMaxChannels; ++i) {
    ChannelBlock& channel = control.channel(i);
    channel.total.fetch_or(ChannelBlock::kPoison);
    channel.bell.fetch_add(1);
    futex_wake_all(channel.bell);
  }
}

Failure failure_of(const Control& control, int rank, std::string message) {
  Failure failure{.rank = rank};
  failure.message = std::move(message);
  if (rank < 0 || rank >= control.size()) return failure;
  const LocationCopy place = control.rank(rank).location.load();
  failure.step = place.step;
  failure.phase = place.phase;
  failure.layer = place.layer;
  return failure;
}

}  // namespace quire::comm::local
