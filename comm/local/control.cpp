#include "quire/comm/local/control.h"

#include <fmt/format.h>

namespace quire::comm::local {
namespace {

constexpr std::uint64_t kMagic = 0x6c726f7765726975;
constexpr std::uint32_t kVersion = 2;
constexpr std::int64_t kPage = 4096;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<RankState>::is_always_lock_free);

constexpr std::int64_t kFailureBegin = sizeof(Header);
constexpr std::int64_t kRanksBegin = kFailureBegin + sizeof(FailureBlock);

std::int64_t channels_begin(int size) {
  return kRanksBegin + size * std::int64_t{sizeof(RankBlock)};
}

std::int64_t rank_channels_begin(int size) {
  return channels_begin(size) +
         kMaxChannels * std::int64_t{sizeof(ChannelBlock)};
}

// The part that is used whatever the channels carry.
std::int64_t fixed_bytes(int size) {
  const std::int64_t end =
      rank_channels_begin(size) +
      kMaxChannels * size * std::int64_t{sizeof(RankChannel)};
  return (end + kPage - 1) / kPage * kPage;
}

// One half of one rank's staging on one channel: large enough to hide the
// waits, small enough to stay in a cache and for 256 ranks to fit.
std::int64_t staging_bytes_of(int size) {
  constexpr std::int64_t kMost = 128 << 10, kChannel = 4 << 20;
  return size == 1 ? 0 : std::min(kMost, kChannel / size / kPage * kPage);
}

std::int64_t total_bytes(int size) {
  return fixed_bytes(size) + kMaxChannels * 2 * size * staging_bytes_of(size);
}

}  // namespace

void SharedLocation::store(std::int64_t step, std::string_view phase,
                           std::string_view layer) {
  const std::uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  step_plus_one_.store(step + 1, std::memory_order_release);
  phase_.store(phase);
  layer_.store(layer);
  version_.store(version + 2, std::memory_order_release);
}

LocationCopy SharedLocation::load() const {
  constexpr int kTries = 1000;
  LocationCopy copy;
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    copy.step = step_plus_one_.load(std::memory_order_acquire) - 1;
    copy.phase = phase_.load();
    copy.layer = layer_.load();
    const bool whole = version_.load(std::memory_order_relaxed) == version;
    if (whole && version % 2 == 0) break;
  }
  return copy;
}

Control::Control(std::shared_ptr<Memory> memory, int size)
    : memory_(std::move(memory)),
      size_(size),
      staging_bytes_(staging_bytes_of(size)) {}

Control Control::create(int size, double timeout_s, std::uint32_t mapped) {
  auto memory = Memory::create(total_bytes(size));
  memory->reserve(0, fixed_bytes(size));
  Control control(std::move(memory), size);
  Header& header = control.header();
  header.version = kVersion;
  header.size = size;
  header.mapped = mapped;
  header.timeout_s = timeout_s;
  header.magic = kMagic;
  control.reserve_channel(0);
  header.next_channel.store(1);
  header.next_memory.store(1);
  return control;
}

Control Control::open(const std::string& path) {
  const auto first = Memory::open(path, sizeof(Header));
  const auto& header = *reinterpret_cast<const Header*>(first->data());
  if (header.magic != kMagic || header.version != kVersion || header.size < 1 ||
      header.size > kMaxRanks) {
    throw SystemError(fmt::format(
        "{} is no world of this build; start all ranks from one build", path));
  }
  const int size = header.size;
  return {Memory::open(path, total_bytes(size)), size};
}

Header& Control::header() const {
  return *reinterpret_cast<Header*>(memory_->data());
}

FailureBlock& Control::failure() const {
  return *reinterpret_cast<FailureBlock*>(memory_->data() + kFailureBegin);
}

RankBlock& Control::rank(int rank) const {
  return reinterpret_cast<RankBlock*>(memory_->data() + kRanksBegin)[rank];
}

ChannelBlock& Control::channel(int channel) const {
  return reinterpret_cast<ChannelBlock*>(memory_->data() +
                                         channels_begin(size_))[channel];
}

RankChannel& Control::rank_channel(int channel, int rank) const {
  auto* first = reinterpret_cast<RankChannel*>(memory_->data() +
                                               rank_channels_begin(size_));
  return first[std::int64_t{channel} * size_ + rank];
}

std::int64_t Control::staging_begin(int channel) const {
  return fixed_bytes(size_) + channel * 2 * size_ * staging_bytes_;
}

std::byte* Control::staging(int channel, int rank, std::uint64_t phase) const {
  const std::int64_t half = 2 * std::int64_t{rank} + (phase % 2 != 0);
  return memory_->data() + staging_begin(channel) + half * staging_bytes_;
}

void Control::reserve_channel(int channel) const {
  memory_->reserve(staging_begin(channel), 2 * size_ * staging_bytes_);
}

}  // namespace quire::comm::local
