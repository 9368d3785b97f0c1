// One rank's end of a channel: phases in which all ranks show each other an
// offer and wait until all have. Everything that moves between ranks is built
// of phases.
//
//   meet(offer)  offer_of(r), theirs(r)  meet(offer) ...
//
// What a rank wrote into mine() or into mapped memory before it meets is
// visible to all after; theirs(r) stays until this rank meets again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "quire/comm/communicator.h"
#include "quire/comm/local/control.h"
#include "quire/comm/local/peers.h"
#include "quire/comm/local/state.h"
#include "quire/comm/local/turns.h"

namespace quire::comm::local {

enum class Kind : std::uint8_t {
  kJoin,
  kAllGather,
  kAllToAll,
  kRelease,
  kBroadcast,
  kBarrier,
  kAllocate,
  kSplit,
  kPart,  // a later part of a call
};

Signature signature_of(Kind kind, const Call& call);
// "all_gather of unit h.1 (gather), 4096 bytes"
std::string describe(const Signature& signature);

class Channel {
 public:
  struct Options {
    std::shared_ptr<LocalWorld::State> world;
    std::shared_ptr<Peers> peers;
    std::shared_ptr<Record> record;
    int index;
    int rank;
    std::string name;
  };
  explicit Channel(Options options);

  int rank() const { return options_.rank; }
  int size() const { return control_.size(); }
  const Options& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  const Control& control() const { return control_; }

  // Reserves the next turn for a call.
  std::uint64_t take_turn() { return turns_taken_++; }
  // Runs `work` when its turn has come.
  void in_turn(std::uint64_t turn, const std::function<void()>& work);

  // Throws PeerError if the world has failed.
  void refuse_after_failure() const;
  // Throws PeerError after a failure or a time-out; UsageError if the
  // signatures differ.
  void meet(const Offer& offer);
  // A later part of the call met last.
  void meet_again();

  const Offer& offer_of(int rank) const;
  // Where this rank writes for its next meeting.
  std::span<std::byte> mine() const;
  // What `rank` wrote for the last one.
  std::span<const std::byte> theirs(int rank) const;

  // Ends the run for a call that the ranks do not agree on; `rank` is named.
  [[noreturn]] void refuse(int rank, const std::string& message) const;

 private:
  using Clock = std::chrono::steady_clock;
  void arrive(const Offer& offer);
  void wait();
  bool complete() const;  // the phase met; throws PeerError if it never will be
  bool spin() const;
  void sleep_until(Clock::time_point deadline) const;
  void look_around() const;  // for ranks that left or died
  [[noreturn]] void throw_first_failure() const;
  [[noreturn]] void stall() const;
  std::string missing_text(int rank) const;
  void compare_signatures() const;

  Options options_;
  Control control_;
  ChannelBlock& block_;
  std::chrono::nanoseconds timeout_;
  bool spins_;  // a moment before it sleeps: every rank has a core
  Turns turns_;
  std::uint64_t turns_taken_ = 0;
  std::uint64_t phase_ = 0;  // phases this rank has arrived at
  std::uint64_t part_ = 0;   // of the call
};

}  // namespace quire::comm::local
