// How the result of a matrix product is cut: a function of its shape alone.
#pragma once

#include <cstdint>

namespace quire::kernels {

struct Panel {
  std::int64_t row, rows;
  std::int64_t column, columns;
};

// A grid of panels that covers [m, n], rows of panels first.
class Panels {
 public:
  Panels(std::int64_t m, std::int64_t n);

  std::int64_t count() const { return down_ * across_; }
  Panel operator[](std::int64_t index) const;
  // Of the largest panel.
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

 private:
  std::int64_t m_, n_;
  std::int64_t rows_ = 0, columns_ = 0;
  std::int64_t down_ = 0, across_ = 0;
};

}  // namespace quire::kernels
