// A text, read block by block.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace quire::tools {

class TextFile {
 public:
  // UsageError unless it can be read and has a size, as a pipe has not.
  explicit TextFile(const std::string& path);

  std::int64_t bytes() const { return bytes_; }
  // The next block of a fixed number of bytes, cut anywhere; empty at the end.
  std::string next();

 private:
  std::string path_;
  std::ifstream stream_;
  std::int64_t bytes_ = 0;
};

}  // namespace quire::tools
