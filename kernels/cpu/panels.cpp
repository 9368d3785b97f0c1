#include "quire/kernels/cpu/panels.h"

#include <algorithm>

#include "quire/core/divide.h"

namespace quire::kernels {
namespace {

// Packing costs a panel of [rows, columns] about (rows + columns) / (rows *
// columns) of its time: 256 x 384 loses little of the peak of one core and
// still fits its caches. Multiples of the micro-kernel's tile.
constexpr std::int64_t kMostRows = 256, kRowGrain = 8;
constexpr std::int64_t kMostColumns = 384, kColumnGrain = 48;
// A small product is cut finer, down to these, until it has enough panels to
// keep a few threads busy.
constexpr std::int64_t kFewestPanels = 4;
constexpr std::int64_t kLeastRows = 64, kLeastColumns = 192;

// The extent of each of the equal parts, at most `most`, that n is cut into.
std::int64_t part(std::int64_t n, std::int64_t most, std::int64_t grain) {
  const std::int64_t parts = divide_up(n, most);
  return round_up(divide_up(n, parts), grain);
}

}  // namespace

Panels::Panels(std::int64_t m, std::int64_t n) : m_(m), n_(n) {
  if (m == 0 || n == 0) return;
  std::int64_t most_rows = kMostRows, most_columns = kMostColumns;
  const auto cut = [&] {
    rows_ = std::min(m, part(m, most_rows, kRowGrain));
    columns_ = std::min(n, part(n, most_columns, kColumnGrain));
    down_ = divide_up(m, rows_);
    across_ = divide_up(n, columns_);
  };
  cut();
  while (count() < kFewestPanels &&
         (columns_ > kLeastColumns || rows_ > kLeastRows)) {
    if (columns_ > kLeastColumns) {
      most_columns = kLeastColumns;
    } else {
      most_rows = std::max(kLeastRows, most_rows / 2);
    }
    cut();
  }
}

Panel Panels::operator[](std::int64_t index) const {
  const std::int64_t row = index % down_ * rows_;
  const std::int64_t column = index / down_ * columns_;
  return {.row = row,
          .rows = std::min(rows_, m_ - row),
          .column = column,
          .columns = std::min(columns_, n_ - column)};
}

}  // namespace quire::kernels
