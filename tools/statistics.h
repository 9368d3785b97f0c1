// What a tensor's values are like, from one pass over them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace quire::tools {

// NaN and infinite elements are counted and left out of the rest.
class Statistics {
 public:
  // True for a type of safetensors files whose elements are numbers that this
  // reads: floating point of 16 bits and more, integers, BOOL.
  static bool reads(std::string_view dtype);
  // Elements of that type, as they lie in a file.
  void add(std::string_view dtype, std::span<const std::byte> bytes);

  std::int64_t finite() const { return finite_; }
  std::int64_t nan() const { return nan_; }
  std::int64_t infinite() const { return infinite_; }
  std::int64_t zero() const { return zero_; }
  // The following of the finite elements; NaN if there are none.
  double min() const { return finite_ > 0 ? min_ : kNone; }
  double max() const { return finite_ > 0 ? max_ : kNone; }
  double mean() const { return finite_ > 0 ? mean_ : kNone; }
  double deviation() const;  // of all of them, not of a sample
  double norm() const { return std::sqrt(squares_); }

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  template <class T>
  void add_all(std::span<const std::byte> bytes);
  void add(double value);

  std::int64_t finite_ = 0, nan_ = 0, infinite_ = 0, zero_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  double mean_ = 0.0;
  double spread_ = 0.0;  // sum of squared distances from the mean
  double squares_ = 0.0;
};

}  // namespace quire::tools
