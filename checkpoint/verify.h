// Whether a checkpoint is what it was, and whether two are the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quire::checkpoint {

struct Damage {
  enum class Kind {
    // A file breaks its format or the names, sizes or header checksum of its
    // manifest.
    kFormat,
    // Well-formed bytes fail their hash.
    kHash,
    // Not known: this user may not read a file, or the system failed to.
    kForbidden,
    kUnread
  };
  Kind kind;
  std::string message;
};

// Reads every byte and reports all damage, and each file that cannot be read;
// empty: whole. Where a read fails, the rest of that part of a tensor is not
// looked at. `path`: a checkpoint, or a run's folder, whose newest step is
// read, whole or not. UsageError if there is no step.
std::vector<Damage> verify(const std::string& path);

// Of the checkpoint, or of the run's newest whole step: equal exactly if every
// kind of every parameter has the same name and bits, however it is sharded.
std::uint64_t fingerprint(const std::string& path);

// kValues: the parameters' values (masters where there are). kState: all kinds,
// step, updates, position and seed as well. One line for every difference;
// reads manifests only, so damage is verify's to find.
enum class Scope { kValues, kState };
std::vector<std::string> compare(const std::string& a, const std::string& b,
                                 Scope scope);

}  // namespace quire::checkpoint
