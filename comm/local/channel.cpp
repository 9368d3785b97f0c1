#include "quire/comm/local/channel.h"

#include <fmt/format.h>

#include "quire/comm/local/first_failure.h"
#include "quire/comm/local/futex.h"
#include "quire/core/cores.h"
#include "quire/core/hash.h"

namespace quire::comm::local {
namespace {

// Deaths and departures are looked for this often.
constexpr auto kSlice = std::chrono::milliseconds(100);

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "join",     "all_gather", "all_to_all",
      "release",  "broadcast",  "barrier",
      "allocate", "split",      "a later part of a call"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "an unknown call";
}

std::string seconds(std::chrono::nanoseconds time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

// Nothing of a record that is empty; no end of line at the end.
std::string newest_of(const Record& record, int rank) {
  std::string text = record.dump(16);
  if (text.empty()) return text;
  text.pop_back();
  return fmt::format("the newest collectives of rank {}:\n{}", rank, text);
}

}  // namespace

Signature signature_of(Kind kind, const Call& call) {
  Signature signature{};
  signature.kind = static_cast<std::uint8_t>(kind);
  signature.purpose = static_cast<std::uint8_t>(call.purpose);
  signature.unit_hash = hash64(call.unit);
  call.unit.copy(signature.unit, sizeof(signature.unit) - 1);
  return signature;
}

std::string describe(const Signature& signature) {
  std::string text(name_of(static_cast<Kind>(signature.kind)));
  const std::string_view unit(signature.unit,
                              strnlen(signature.unit, sizeof(signature.unit)));
  if (!unit.empty()) text += fmt::format(" of {}", unit);
  if (signature.purpose < kPurposes) {
    text += fmt::format(" ({})",
                        comm::name_of(static_cast<Purpose>(signature.purpose)));
  }
  if (signature.bytes != 0) text += fmt::format(", {} bytes", signature.bytes);
  if (static_cast<Kind>(signature.kind) == Kind::kBroadcast) {
    text += fmt::format(", root {}", signature.root);
  }
  if (signature.in_place != 0) {
    text += fmt::format(", in place in allocation {} at byte {}",
                        signature.memory, signature.offset);
  }
  return text;
}

Channel::Channel(Options options)
    : options_(std::move(options)),
      control_(options_.world->control),
      block_(control_.channel(options_.index)),
      timeout_(std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(options_.world->timeout_s()))),
      spins_(usable_cores() >= control_.size()) {}

void Channel::in_turn(std::uint64_t turn, const std::function<void()>& work) {
  const Clock::time_point deadline = Clock::now() + timeout_;
  while (!turns_.wait(turn, kSlice)) {
    refuse_after_failure();
    if (turns_.failed() || Clock::now() > deadline) {
      throw SystemError(fmt::format(
          "rank {}: call {} on channel {} cannot run: an earlier call {}",
          rank(), turn, name(),
          turns_.failed() ? "failed" : "was dropped by its stream"));
    }
  }
  try {
    refuse_after_failure();
    work();
  } catch (...) {
    turns_.fail();
    throw;
  }
  turns_.pass();
}

void Channel::refuse_after_failure() const {
  const auto total = block_.total.load(std::memory_order_acquire);
  if ((total & ChannelBlock::kPoison) != 0) throw_first_failure();
}

void Channel::throw_first_failure() const {
  throw PeerError(first_failure(control_).value_or(
      failure_of(control_, -1, "the run failed and nobody could say why")));
}

void Channel::meet(const Offer& offer) {
  arrive(offer);
  wait();
  compare_signatures();
  part_ = 0;
}

void Channel::meet_again() {
  Offer part = offer_of(rank());
  part.signature.kind = static_cast<std::uint8_t>(Kind::kPart);
  part.signature.bytes = static_cast<std::int64_t>(++part_);
  arrive(part);
  wait();
  compare_signatures();
}

void Channel::arrive(const Offer& offer) {
  RankChannel& own = control_.rank_channel(options_.index, rank());
  own.offers[phase_ % 2] = offer;
  own.arrived.store(++phase_, std::memory_order_release);
  std::uint64_t total = block_.total.load(std::memory_order_relaxed);
  do {
    if ((total & ChannelBlock::kPoison) != 0) throw_first_failure();
  } while (!block_.total.compare_exchange_weak(total, total + 1,
                                               std::memory_order_acq_rel));
  if (total + 1 != phase_ * size()) return;
  block_.bell.fetch_add(1);
  if (block_.waiters.load() != 0) futex_wake_all(block_.bell);
}

bool Channel::complete() const {
  const std::uint64_t total = block_.total.load(std::memory_order_acquire);
  if ((total & ~ChannelBlock::kPoison) >= phase_ * size()) return true;
  if ((total & ChannelBlock::kPoison) != 0) throw_first_failure();
  return false;
}

bool Channel::spin() const {
  constexpr int kSpins = 2000;  // some microseconds
  for (int i = 0; i < kSpins; ++i) {
    if (complete()) return true;
  }
  return false;
}

void Channel::wait() {
  if (complete() || (spins_ && spin())) return;
  const Clock::time_point deadline = Clock::now() + timeout_;
  Clock::time_point look = Clock::now() + kSlice;
  while (!complete()) {
    sleep_until(std::min(look, deadline));
    const Clock::time_point now = Clock::now();
    if (now < look && now < deadline) continue;
    if (complete()) return;
    look_around();
    look = now + kSlice;
    if (now >= deadline && !complete()) stall();
  }
}

void Channel::sleep_until(Clock::time_point deadline) const {
  block_.waiters.fetch_add(1);
  const std::uint32_t bell = block_.bell.load();
  const std::uint64_t total = block_.total.load();
  const bool settled =
      (total & ChannelBlock::kPoison) != 0 || total >= phase_ * size();
  const auto left = deadline - Clock::now();
  if (!settled && left > left.zero()) futex_wait(block_.bell, bell, left);
  block_.waiters.fetch_sub(1);
}

void Channel::look_around() const {
  if (first_failure(control_)) poison(control_);
  options_.peers->check();
  for (int r = 0; r < size(); ++r) {
    // In this order: a rank arrives before it leaves.
    if (control_.rank(r).state.load() != RankState::kEnded) continue;
    const auto& theirs = control_.rank_channel(options_.index, r);
    if (theirs.arrived.load(std::memory_order_acquire) >= phase_) continue;
    publish(control_,
            failure_of(control_, r,
                       fmt::format("left the run while rank {} waited for it "
                                   "in {} on channel {}",
                                   rank(), describe(offer_of(rank()).signature),
                                   name())),
            rank(), Witness::kOfTheLiving);
  }
}

std::string Channel::missing_text(int rank) const {
  if (control_.rank(rank).state.load() == RankState::kAbsent) {
    return fmt::format("rank {}, which never joined", rank);
  }
  const LocationCopy place = control_.rank(rank).location.load();
  return fmt::format("rank {} (step {}, phase {}, layer {})", rank, place.step,
                     place.phase.empty() ? "-" : place.phase,
                     place.layer.empty() ? "-" : place.layer);
}

void Channel::stall() const {
  std::string missing;
  int first = -1;
  for (int r = 0; r < size(); ++r) {
    const auto& theirs = control_.rank_channel(options_.index, r);
    if (theirs.arrived.load(std::memory_order_acquire) >= phase_) continue;
    if (first < 0) first = r;
    missing += (missing.empty() ? "" : ", ") + missing_text(r);
  }
  const std::string message = fmt::format(
      "did not arrive within {}: rank {} waited in {} on channel {} for {}; "
      "raise the time-out if this is no hang",
      seconds(timeout_), rank(), describe(offer_of(rank()).signature), name(),
      missing);
  Failure failure = failure_of(control_, first, message);
  failure.detail = newest_of(*options_.record, rank());
  publish(control_, failure, rank(), Witness::kOfTheLiving);
  throw PeerError(first_failure(control_).value_or(failure));
}

const Offer& Channel::offer_of(int rank) const {
  return control_.rank_channel(options_.index, rank).offers[(phase_ - 1) % 2];
}

std::span<std::byte> Channel::mine() const {
  return {control_.staging(options_.index, rank(), phase_),
          static_cast<std::size_t>(control_.staging_bytes())};
}

std::span<const std::byte> Channel::theirs(int rank) const {
  return {control_.staging(options_.index, rank, phase_ - 1),
          static_cast<std::size_t>(control_.staging_bytes())};
}

// Every rank compares with rank 0, so that all give one message.
void Channel::compare_signatures() const {
  const Signature& expected = offer_of(0).signature;
  for (int r = 1; r < size(); ++r) {
    const Signature& got = offer_of(r).signature;
    if (std::memcmp(&got, &expected, sizeof(Signature)) == 0) continue;
    refuse(r, fmt::format(
                  "the ranks disagree on channel {}: rank {} calls {}, rank 0 "
                  "calls {}; every rank must make the same calls in the same "
                  "order",
                  name(), r, describe(got), describe(expected)));
  }
}

void Channel::refuse(int rank, const std::string& message) const {
  Failure failure = failure_of(control_, rank, message);
  failure.exit_code = 2;
  publish(control_, failure, options_.rank, Witness::kOfTheLiving);
  throw UsageError(message);
}

}  // namespace quire::comm::local
