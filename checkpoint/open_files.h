// The files of a set of any size that are open: those that were used last.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "quire/checkpoint/files.h"

namespace quire::checkpoint {

// Calls from any number of threads. A file that is let go of is closed once
// nobody reads it any more.
class OpenFiles {
 public:
  static constexpr std::size_t kMost = 64;

  // Lets go of the one used longest ago if there are more than kMost.
  std::shared_ptr<const File> keep(File file);
  // nullptr if the file of that path is not among them.
  std::shared_ptr<const File> find(const std::string& path);

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<const File>> open_;  // the last one used first
};

}  // namespace quire::checkpoint
