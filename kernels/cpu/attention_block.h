// Attention's blocks: where the rows of a head lie, as fp32 in place or in
// scratch, and the products over a block of queries and the keys it sees.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quire/core/divide.h"
#include "quire/kernels/attention.h"
#include "quire/kernels/cpu/reduce.h"

namespace quire::kernels::attention {

inline constexpr std::int64_t kBlock = 64;  // query rows whose scores are held

// `n` rounded up to whole running sums of a row (reduce.h).
constexpr std::int64_t padded(std::int64_t n) { return round_up(n, kLanes); }

// The most keys that a block has.
constexpr std::int64_t most_keys(const AttentionShape& shape) {
  if (shape.window == 0 || shape.window >= shape.sequence)
    return shape.sequence;
  return std::min(shape.sequence, shape.window + kBlock + kLanes);
}

// Between rows of scores: an odd number of cache lines, so that rows do not
// fall on one another in a cache.
constexpr std::int64_t scores_stride(const AttentionShape& shape) {
  return (padded(most_keys(shape)) / kLanes | 1) * kLanes;
}

// A matrix of fp32 with a stride between its rows.
struct View {
  float* data;
  std::int64_t stride;
};

// Hands out one worker's scratch in pieces that start on 64 bytes.
class Arena {
 public:
  explicit Arena(float* begin) : next_(begin) {}
  float* take(std::int64_t floats) {
    float* piece = next_;
    next_ += padded(floats);
    return piece;
  }

 private:
  float* next_;
};

// The rows [row, row + rows) of one head of one sample.
struct HeadRows {
  const Heads& heads;
  std::int64_t head;
  std::int64_t row;  // b*T + t
  std::int64_t rows;
  std::int64_t width;

  template <class T>
  T* data() const {
    return heads.data.data<T>() + row * heads.stride + heads.offset +
           head * width;
  }
};

// As fp32: in place, or widened into scratch.
View read(const HeadRows& at, float* scratch);
// As fp32 and turned over: [D, rows] in scratch.
View read_turned(const HeadRows& at, float* scratch);
// Where fp32 results are made: in place, or in scratch that write() rounds.
View results(const HeadRows& at, float* scratch);
void write(const HeadRows& at, const View& from);
void clear(const View& view, std::int64_t rows, std::int64_t columns);

// A block of query rows of one head, and the keys that any of them sees, from a
// multiple of kLanes on. Column j of its scores is about key first_key() + j.
struct Block {
  const AttentionShape& shape;
  std::int64_t sample, head;
  std::int64_t first, rows;  // query rows

  std::int64_t first_key() const {
    return first_seen_by(first) / kLanes * kLanes;
  }
  std::int64_t keys() const {
    return (shape.causal ? first + rows : shape.sequence) - first_key();
  }
  // Row i sees the columns [seen_from(i), seen_to(i)).
  std::int64_t seen_from(std::int64_t i) const {
    return first_seen_by(first + i) - first_key();
  }
  std::int64_t seen_to(std::int64_t i) const {
    return (shape.causal ? first + i + 1 : shape.sequence) - first_key();
  }
  // Of row i in lse, and in the numbering of dropout.
  std::int64_t row(std::int64_t i) const {
    return (sample * shape.heads + head) * shape.sequence + first + i;
  }
  HeadRows of(const Heads& heads) const {
    return {heads, head, sample * shape.sequence + first, rows, shape.width};
  }

 private:
  std::int64_t first_seen_by(std::int64_t t) const {
    if (shape.window == 0) return 0;
    return std::max<std::int64_t>(0, t - shape.window + 1);
  }
};

// All rows of the key/value head that the panel is about.
inline HeadRows whole_head(const Heads& heads, const AttentionShape& shape,
                           std::int64_t panel) {
  return {heads, panel % shape.kv_heads,
          panel / shape.kv_heads * shape.sequence, shape.sequence, shape.width};
}

// fn(block) for the blocks of the query heads of a panel, in order.
template <class Fn>
void for_blocks(const AttentionShape& shape, std::int64_t panel, Fn fn) {
  const std::int64_t group = shape.heads / shape.kv_heads;
  const std::int64_t kv_head = panel % shape.kv_heads;
  for (std::int64_t g = 0; g < group; ++g) {
    for (std::int64_t first = 0; first < shape.sequence; first += kBlock) {
      fn(Block{shape, panel / shape.kv_heads, kv_head * group + g, first,
               std::min(kBlock, shape.sequence - first)});
    }
  }
}

// Of a product: what is multiplied, and where it goes.
struct Operands {
  View a, b, to;
  float factor = 1.0f;
};
// to = factor a b, scores over the block's keys; a [rows, D], b [D, T], of
// which the block's keys are read.
void dot_rows(const Block& block, const Operands& product);
// to = factor a b, weighted values; a [rows, keys], b [T, D].
void mix(const Block& block, const Operands& product);
// to += factor a^T b, of each key from all rows; a [rows, keys], b [rows, D],
// to [T, D].
void spread(const Block& block, const Operands& product);

}  // namespace quire::kernels::attention
