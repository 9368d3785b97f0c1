// A bar for long work, on a terminal alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace quire::tools {

// Draws on stderr; nothing is left of it when it dies.
class Progress {
 public:
  // Of `total` pieces of work of any kind.
  Progress(std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done);

 private:
  std::string what_;
  std::int64_t total_;
  bool terminal_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace quire::tools
