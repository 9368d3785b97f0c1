// What a disk may hold after the power went off in the middle of recorded
// calls. A kill leaves all that was written; a power loss leaves of a file what
// was synced, and of its folder the names that a sync of the folder made sure:
// of the rest anything that a file system with a journal may have kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/checkpoint/disk.h"

namespace quire::test {

class PowerLoss {
 public:
  // `before`: a folder as it was before the calls, on the disk for good.
  PowerLoss(std::string before, std::vector<DiskCall> calls);

  const std::vector<DiskCall>& calls() const { return calls_; }

  // Of names that no sync made sure:
  enum class Names : std::uint8_t {
    kLost,
    kKept,
    kUpToOne,           // in their order, up to one or the other
    kUpToOneOfAFolder,  // the same in every folder on its own
  };
  // Of bytes that no sync made sure:
  enum class Bytes : std::uint8_t {
    kLost,
    kKept,
    kZeros,  // the length was kept, and nothing else
    kTorn,   // they were kept up to one or the other
  };
  struct Case {
    std::size_t call;  // the first that was not made
    Names names;
    Bytes bytes;
    std::uint64_t seed;  // of what is left open above
  };
  // Makes `folder` as the disk then has it. Files of `before` are linked.
  void leave(const Case& c, const std::string& folder) const;
  // True if calls before `call` gave `name` to something in the folder, or took
  // it, and made that sure.
  bool is_sure(const std::string& name, std::size_t call) const;

 private:
  std::string before_;
  std::vector<DiskCall> calls_;
};

std::string to_string(const PowerLoss::Case& c);

}  // namespace quire::test
