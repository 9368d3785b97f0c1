// The memory that the ranks of a world share about themselves, as it lies in
// the memfd: who they are, where they are, what failed first, and for every
// channel (a communicator, or a split of one) how far each has come.
//
// A phase of a channel is passed by all its ranks or by none: `total` counts
// arrivals and is poisoned by the first failure, after which it never counts
// again. A rank writes its offer for phase k into offers[k % 2] before it
// arrives; peers read it after the phase is complete. A peer can be at most one
// phase ahead, so that two offers suffice.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "quire/comm/local/memory.h"

namespace quire::comm::local {

inline constexpr int kMaxRanks = 256;
inline constexpr int kMaxChannels = 16;
inline constexpr std::size_t kPhaseBytes = 32;
inline constexpr std::size_t kLayerBytes = 96;
inline constexpr std::size_t kMessageBytes = 8192;
inline constexpr std::size_t kDetailBytes = 4096;

// Text that one thread writes and others read at any time: no torn word, and
// the version around it tells a torn text.
template <std::size_t kBytes>
class SharedText {
 public:
  void store(std::string_view text) {
    std::array<char, kBytes> bytes{};
    text.copy(bytes.data(), kBytes - 1);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + 8 * i, 8);
      words_[i].store(word, std::memory_order_release);
    }
  }
  std::string load() const {
    std::array<char, kBytes + 1> bytes{};
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t word = words_[i].load(std::memory_order_acquire);
      std::memcpy(bytes.data() + 8 * i, &word, 8);
    }
    return bytes.data();
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBytes / 8> words_;
};

struct LocationCopy {
  std::int64_t step = -1;
  std::string phase, layer;
};

// Written by its rank alone.
class SharedLocation {
 public:
  void store(std::int64_t step, std::string_view phase, std::string_view layer);
  // Consistent, unless the writer died in the middle of a store.
  LocationCopy load() const;

 private:
  std::atomic<std::uint32_t> version_;  // odd: being written
  std::atomic<std::int64_t> step_plus_one_;
  SharedText<kPhaseBytes> phase_;
  SharedText<kLayerBytes> layer_;
};

enum class RankState : std::uint32_t { kAbsent, kJoined, kEnded, kDead };

struct alignas(64) RankBlock {
  std::atomic<RankState> state;
  std::atomic<std::int32_t> pid;
  SharedLocation location;
};

// state: free, published, or claimed by a rank or the launcher, which alone
// writes the rest and then publishes it.
struct alignas(64) FailureBlock {
  static constexpr std::uint32_t kFree = 0, kPublished = 1, kClaimed = 2;
  std::atomic<std::uint32_t> state;  // kClaimed + claimer
  std::int32_t rank, exit_code;
  std::int64_t step;
  char phase[kPhaseBytes];
  char layer[kLayerBytes];
  char message[kMessageBytes];
  char detail[kDetailBytes];
};

// What a rank does in a phase: equal on all ranks, or the call is refused.
struct Signature {
  std::uint8_t kind, purpose, in_place, unused;
  std::int32_t root;
  std::int64_t bytes;
  std::int64_t memory, offset;  // of a tensor used in place, else 0
  std::uint64_t unit_hash;
  char unit[72];
};

// Compared as bytes.
static_assert(std::has_unique_object_representations_v<Signature>);

struct Offer {
  Signature signature;
  std::int64_t rows, bytes;     // of an all_to_all: to each peer
  std::uint64_t rows_hash;      // of an all_to_all
  std::int64_t memory, offset;  // of a broadcast, an allocation
  std::int64_t descriptor;      // of an allocation; -1: in this process
  std::int64_t channel;         // of a split
};

struct alignas(64) RankChannel {
  std::atomic<std::uint64_t> arrived;  // phases
  Offer offers[2];
};

struct alignas(64) ChannelBlock {
  static constexpr std::uint64_t kPoison = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> total;  // arrivals of all ranks, and kPoison
  alignas(64) std::atomic<std::uint32_t> bell;
  std::atomic<std::uint32_t> waiters;
};

struct alignas(64) Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t size;
  std::uint32_t mapped;
  double timeout_s;
  std::atomic<std::int64_t> next_memory;  // id of an allocation
  std::atomic<std::int32_t> next_channel;
};

// Finds the parts in the memory.
class Control {
 public:
  static Control create(int size, double timeout_s, std::uint32_t mapped);
  // SystemError unless it is a world of this build's layout.
  static Control open(const std::string& path);

  int size() const { return size_; }
  Memory& memory() const { return *memory_; }
  Header& header() const;
  FailureBlock& failure() const;
  RankBlock& rank(int rank) const;
  ChannelBlock& channel(int channel) const;
  RankChannel& rank_channel(int channel, int rank) const;
  // Two halves, for even and odd phases, of staging_bytes() each.
  std::byte* staging(int channel, int rank, std::uint64_t phase) const;
  std::int64_t staging_bytes() const { return staging_bytes_; }
  // Takes the channel's pages; before its first use.
  void reserve_channel(int channel) const;

 private:
  Control(std::shared_ptr<Memory> memory, int size);
  std::int64_t staging_begin(int channel) const;

  std::shared_ptr<Memory> memory_;
  int size_;
  std::int64_t staging_bytes_;
};

}  // namespace quire::comm::local
