// Byte ranges of memory, read and written as if they were joined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace quire::comm::local {

class Segments {
 public:
  void add(std::byte* data, std::int64_t bytes) {
    segments_.emplace_back(data, static_cast<std::size_t>(bytes));
    bytes_ += bytes;
  }
  std::int64_t bytes() const { return bytes_; }

  // Copies from position `begin` on, as much as there is and `to` takes.
  void read(std::int64_t begin, std::span<std::byte> to) const {
    walk(begin, to.size(), [&](std::byte* data, std::size_t at, std::size_t n) {
      std::memcpy(to.data() + at, data, n);
    });
  }
  void write(std::int64_t begin, std::span<const std::byte> from) const {
    walk(begin, from.size(),
         [&](std::byte* data, std::size_t at, std::size_t n) {
           std::memcpy(data, from.data() + at, n);
         });
  }

 private:
  template <class Copy>
  void walk(std::int64_t begin, std::size_t limit, Copy&& copy) const {
    auto skip = static_cast<std::size_t>(begin);
    std::size_t done = 0;
    for (const std::span<std::byte>& segment : segments_) {
      const std::size_t from = std::min(skip, segment.size());
      const std::size_t n = std::min(segment.size() - from, limit - done);
      skip -= from;
      if (n != 0) copy(segment.data() + from, done, n);
      done += n;
    }
  }

  std::vector<std::span<std::byte>> segments_;
  std::int64_t bytes_ = 0;
};

}  // namespace quire::comm::local
