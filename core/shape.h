// A tensor's extents: at most kMaxRank of them, held inline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace quire {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  // a scalar: rank 0, one element
  Shape(std::initializer_list<std::int64_t> extents)
      : Shape(std::span(extents.begin(), extents.size())) {}
  // Throws UsageError if there are more than kMaxRank extents, one is negative,
  // or the product overflows 63 bits.
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  // REQUIRES: -rank() <= dim < rank(); negative dims count from the end.
  std::int64_t operator[](int dim) const {
    return extents_[static_cast<std::size_t>(dim < 0 ? dim + rank_ : dim)];
  }
  std::int64_t numel() const;
  std::span<const std::int64_t> extents() const {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  std::string to_string() const;  // "[2, 3]"

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.extents_ == b.extents_;
  }

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace quire
