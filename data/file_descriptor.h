// An open file of the system, closed when its owner dies.
#pragma once

#include <unistd.h>

#include <utility>

namespace quire::data {

// Move-only; empty by default.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this == &other) return *this;
    reset();
    number_ = std::exchange(other.number_, -1);
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void reset() noexcept {
    if (is_open()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace quire::data
