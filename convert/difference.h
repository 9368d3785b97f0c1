// How two tensors of numbers differ, found in one pass over blocks of both.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace quire::convert {

struct Difference {
  std::int64_t count = 0;    // of elements whose bits differ as fp32
  std::int64_t first = 0;    // such an element
  float a = 0.0f, b = 0.0f;  // and its values
  double largest = 0.0;      // NaN if one of two values is
};

// out = elements [first, first + out.size()), widened.
using ReadFloats =
    std::function<void(std::int64_t first, std::span<float> out)>;

Difference difference_of(std::int64_t numel, const ReadFloats& a,
                         const ReadFloats& b);

// "NAME: 3 of 10 elements differ, the first is element 7: 1 and 2; the largest
// difference is 1.5"
std::string to_string(const std::string& name, const Difference& found,
                      std::int64_t numel);

}  // namespace quire::convert
