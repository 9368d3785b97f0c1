// What a conversion makes: beside its place under a name with a dot until it is
// whole, and gone if it never is: what a kill leaves goes with the next
// conversion to the same place.
#pragma once

#include <cstdint>
#include <string>

#include "quire/core/descriptor.h"
#include "quire/core/file_io.h"

namespace quire::convert {

class Output {
 public:
  enum class Kind { kFolder, kFile };
  // UsageError if `path` is there already, and unless the folder that it is to
  // stand in is; SystemError if the disk has no room for `bytes`.
  Output(const std::string& path, Kind kind, std::int64_t bytes);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // The empty folder, or the file that is to be made.
  const std::string& path() const { return inside_; }
  // What `work` returns once it has made it, which is then put in its place;
  // all is on the disk. UsageError if somebody else has taken the place
  // meanwhile; a FileError speaks of the place.
  template <class Work>
  auto made_by(const Work& work) {
    try {
      auto done = work();
      publish();
      return done;
    } catch (const FileError& error) {
      throw of_place(error);
    }
  }

 private:
  void publish();
  FileError of_place(const FileError& error) const;

  std::string place_;      // without slashes at its end
  std::string beside_;     // the folder that the place is in
  std::string temporary_;  // a folder; empty: there is none any more
  std::string inside_;     // it, or the file in it
  Descriptor held_;        // the folder, locked: its maker lives
};

}  // namespace quire::convert
