// Every collective of a rank, written as it happens: the flight recorder dumped
// on a time-out, the trace, and the counters that are compared with the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quire::comm {

enum class Purpose : std::uint8_t {
  kGather,           // a unit's values before a layer runs
  kReduce,           // a unit's gradient nodes to their owners
  kGatherGradients,  // summed gradients to everybody (stage 0)
  kWeights,          // the lanes' weights, before a step
  kCommit,           // norm and finite flags
  kControl,          // everything outside the plan: start, checkpoint, end
};
inline constexpr int kPurposes = 6;
std::string_view name_of(Purpose purpose);

struct Traffic {
  std::int64_t collectives = 0;
  std::int64_t wire_bytes = 0;  // what this rank sends under slot semantics

  Traffic& operator+=(const Traffic& other) {
    collectives += other.collectives;
    wire_bytes += other.wire_bytes;
    return *this;
  }
  Traffic& operator-=(const Traffic& other) {
    collectives -= other.collectives;
    wire_bytes -= other.wire_bytes;
    return *this;
  }
  friend Traffic operator+(Traffic a, const Traffic& b) { return a += b; }
  friend Traffic operator-(Traffic a, const Traffic& b) { return a -= b; }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct RecordEntry {
  std::uint64_t sequence;  // within its communicator
  Purpose purpose;
  std::string_view unit, channel;  // copied by the record
  std::int64_t wire_bytes;
  std::int64_t queued_ns, started_ns, finished_ns;  // steady clock; 0: not yet
};

// Thread-safe; shared by a rank's communicators. Keeps the newest `capacity`
// entries; the counters keep all.
class Record {
 public:
  explicit Record(std::size_t capacity = 4096);
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  // Returns the entry's ticket for started() and finished().
  std::uint64_t queued(RecordEntry entry);
  void started(std::uint64_t ticket);
  void finished(std::uint64_t ticket);

  Traffic traffic(Purpose purpose) const;
  // Of the plan's collectives: all purposes but kControl.
  Traffic plan_traffic() const;
  // The oldest of them first.
  std::vector<RecordEntry> newest(std::size_t count) const;
  // One line per entry of newest(count): for a message at a time-out.
  std::string dump(std::size_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quire::comm
