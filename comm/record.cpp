#include "quire/comm/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <set>

namespace quire::comm {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string state_of(const RecordEntry& entry, std::int64_t now) {
  const auto ms = [](std::int64_t ns) {
    return static_cast<double>(ns) * 1e-6;
  };
  if (entry.finished_ns != 0) {
    return fmt::format("finished after {:.3f} ms",
                       ms(entry.finished_ns - entry.queued_ns));
  }
  if (entry.started_ns != 0) {
    return fmt::format("waiting for {:.3f} ms", ms(now - entry.started_ns));
  }
  return fmt::format("queued for {:.3f} ms", ms(now - entry.queued_ns));
}

}  // namespace

std::string_view name_of(Purpose purpose) {
  constexpr std::array<std::string_view, kPurposes> kNames = {
      "gather", "reduce", "gather_gradients", "weights", "commit", "control"};
  return kNames.at(static_cast<std::size_t>(purpose));
}

struct Record::State {
  mutable std::mutex mutex;
  std::vector<RecordEntry> ring;  // entry t at t % ring.size()
  std::uint64_t tickets = 0;
  std::array<Traffic, kPurposes> traffic{};
  std::set<std::string, std::less<>> names;  // outlive plans and communicators

  std::string_view kept(std::string_view name) {
    const auto found = names.find(name);
    return found != names.end() ? *found : *names.emplace(name).first;
  }
  // Null if the ticket's entry has been overwritten.
  RecordEntry* entry(std::uint64_t ticket) {
    return tickets - ticket > ring.size() ? nullptr
                                          : &ring[ticket % ring.size()];
  }
};

Record::Record(std::size_t capacity) : state_(std::make_unique<State>()) {
  state_->ring.resize(std::max<std::size_t>(1, capacity));
}

Record::~Record() = default;

std::uint64_t Record::queued(RecordEntry entry) {
  entry.queued_ns = now_ns();
  entry.started_ns = entry.finished_ns = 0;
  const std::lock_guard lock(state_->mutex);
  entry.channel = state_->kept(entry.channel);
  entry.unit = state_->kept(entry.unit);
  const std::uint64_t ticket = state_->tickets++;
  state_->ring[ticket % state_->ring.size()] = entry;
  state_->traffic[static_cast<std::size_t>(entry.purpose)] +=
      Traffic{.collectives = 1, .wire_bytes = entry.wire_bytes};
  return ticket;
}

void Record::started(std::uint64_t ticket) {
  const std::lock_guard lock(state_->mutex);
  if (RecordEntry* entry = state_->entry(ticket)) entry->started_ns = now_ns();
}

void Record::finished(std::uint64_t ticket) {
  const std::lock_guard lock(state_->mutex);
  if (RecordEntry* entry = state_->entry(ticket)) entry->finished_ns = now_ns();
}

Traffic Record::traffic(Purpose purpose) const {
  const std::lock_guard lock(state_->mutex);
  return state_->traffic[static_cast<std::size_t>(purpose)];
}

Traffic Record::plan_traffic() const {
  const std::lock_guard lock(state_->mutex);
  Traffic sum;
  for (int i = 0; i < kPurposes; ++i) {
    if (static_cast<Purpose>(i) != Purpose::kControl) sum += state_->traffic[i];
  }
  return sum;
}

std::vector<RecordEntry> Record::newest(std::size_t count) const {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t kept =
      std::min<std::uint64_t>({count, state_->tickets, state_->ring.size()});
  std::vector<RecordEntry> entries;
  for (std::uint64_t i = state_->tickets - kept; i < state_->tickets; ++i) {
    entries.push_back(state_->ring[i % state_->ring.size()]);
  }
  return entries;
}

std::string Record::dump(std::size_t count) const {
  const std::int64_t now = now_ns();
  std::string text;
  for (const RecordEntry& entry : newest(count)) {
    text += fmt::format("#{} {} {} on {}: {} bytes, {}\n", entry.sequence,
                        name_of(entry.purpose),
                        entry.unit.empty() ? "-" : entry.unit, entry.channel,
                        entry.wire_bytes, state_of(entry, now));
  }
  return text;
}

}  // namespace quire::comm
