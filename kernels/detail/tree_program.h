// The steps of a tree_add compiled once per call: which of its values are
// inputs, intermediate buffers or outputs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "quire/kernels/tree_add.h"

namespace quire::kernels {

// Where the elements of a value are.
struct TreePlace {
  enum class Kind : std::uint8_t { kInput, kBuffer, kOutput };
  Kind kind;
  std::int32_t index;
};

// The balanced sum of 2, 4 or 8 operands: halves upon halves. More than two
// are inputs of one type, so that all of them stream from memory side by side.
struct TreeSum {
  std::array<TreePlace, 8> operands;
  int count;
  TreePlace result;
};

struct TreeMove {
  TreePlace from;
  std::int32_t output;
};

// For a range of elements: first all sums in order, then the inputs of
// `staged` into their buffers, then all moves. No output is written before the
// last read of an input that it aliases.
struct TreeProgram {
  std::vector<TreeSum> sums;
  // Inputs to copy, the i-th to buffer first_staged + i.
  std::vector<TreePlace> staged;
  std::int32_t first_staged = 0;
  std::vector<TreeMove> moves;
  std::int32_t buffers = 0;
};

// REQUIRES: args has passed check().
TreeProgram compile(const TreeAdd& args);

}  // namespace quire::kernels
