#include "quire/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quire/kernels/cpu/gemm.h"
#include "quire/kernels/cpu/philox_blocks.h"
#include "quire/kernels/cpu/reduce.h"
#include "quire/kernels/cpu/rows.h"
#include "quire/kernels/cpu/transpose.h"
#include "quire/kernels/cpu/vector_exp.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

constexpr std::int64_t kBlock = 64;  // query rows whose scores are held at once

std::int64_t padded(std::int64_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

// Between rows of scores: an odd number of cache lines, so that rows do not
// fall on one another in a cache.
std::int64_t scores_stride(const AttentionShape& shape) {
  return (padded(shape.sequence) / kLanes | 1) * kLanes;
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
View read(const HeadRows& at, float* scratch) {
  if (at.heads.data.dtype() == DType::kF32)
    return {at.data<float>(), at.heads.stride};
  widen_block({at.rows, at.width}, at.data<BFloat16>(), at.heads.stride,
              scratch);
  return {scratch, at.width};
}

// As fp32 and turned over: [D, rows] in scratch.
View read_turned(const HeadRows& at, float* scratch) {
  visit_compute_type(at.heads.data.dtype(), [&]<class T>(T) {
    widen_transposed({at.rows, at.width}, at.data<T>(), at.heads.stride,
                     scratch);
  });
  return {scratch, at.rows};
}

// Where fp32 results are made: in place, or in scratch that write() rounds.
View results(const HeadRows& at, float* scratch) {
  if (at.heads.data.dtype() == DType::kF32)
    return {at.data<float>(), at.heads.stride};
  return {scratch, at.width};
}
void write(const HeadRows& at, const View& from) {
  if (at.heads.data.dtype() == DType::kF32) return;
  narrow_block({at.rows, at.width}, from.data, at.data<BFloat16>(),
               at.heads.stride);
}

void clear(const View& view, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    std::fill_n(view.data + i * view.stride, columns, 0.0f);
}

// A block of query rows of one head, and the keys that any of them sees.
struct Block {
  const AttentionShape& shape;
  std::int64_t sample, head;
  std::int64_t first, rows;  // query rows

  std::int64_t keys() const {
    return shape.causal ? first + rows : shape.sequence;
  }
  std::int64_t seen_by(std::int64_t i) const {
    return shape.causal ? first + i + 1 : shape.sequence;
  }
  // Of row i in lse, and in the numbering of dropout.
  std::int64_t row(std::int64_t i) const {
    return (sample * shape.heads + head) * shape.sequence + first + i;
  }
  HeadRows of(const Heads& heads) const {
    return {heads, head, sample * shape.sequence + first, rows, shape.width};
  }
};

// All rows of the key/value head that the panel is about.
HeadRows whole_head(const Heads& heads, const AttentionShape& shape,
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

// scores = factor a b over the block's keys; a [rows, D], b [D, keys].
void dot_rows(const Block& block, float factor, const View& a, const View& b,
              const View& scores) {
  gemm({.m = block.rows,
        .n = block.keys(),
        .k = block.shape.width,
        .a = a.data,
        .a_stride = a.stride,
        .b = b.data,
        .b_stride = b.stride,
        .c = scores.data,
        .c_stride = scores.stride,
        .alpha = factor});
}

// to = factor weights values; weights [rows, keys], values [keys, D].
void mix(const Block& block, float factor, const View& weights,
         const View& values, const View& to) {
  gemm({.m = block.rows,
        .n = block.shape.width,
        .k = block.keys(),
        .a = weights.data,
        .a_stride = weights.stride,
        .b = values.data,
        .b_stride = values.stride,
        .c = to.data,
        .c_stride = to.stride,
        .alpha = factor});
}

// to += factor weights^T rows; rows [rows, D], to [keys, D].
void spread(const Block& block, float factor, const View& weights,
            const View& rows, const View& to) {
  gemm({.m = block.keys(),
        .n = block.shape.width,
        .k = block.rows,
        .a = weights.data,
        .a_stride = weights.stride,
        .b = rows.data,
        .b_stride = rows.stride,
        .c = to.data,
        .c_stride = to.stride,
        .alpha = factor,
        .beta = 1.0f,
        .transpose_a = true});
}

// Scores that row i does not see become minus infinity, up to the padding.
void mask(const Block& block, std::int64_t i, float* scores) {
  std::fill(scores + block.seen_by(i), scores + padded(block.keys()),
            -std::numeric_limits<float>::infinity());
}

float largest(const float* x, std::int64_t n) {
  Lanes lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      float& lane = lanes[static_cast<std::size_t>(l)];
      lane = x[i + l] > lane ? x[i + l] : lane;
    }
  }
  return *std::max_element(lanes.begin(), lanes.end());
}

// x = exp(x - shift); n is a multiple of kLanes.
void exponentials(float* x, std::int64_t n, float shift) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = vector_exp(x[i] - shift);
}

// fn(j, factors) for runs of 4 kQuads probabilities from j of one row, up to n:
// what dropout multiplies them with.
using Factors = std::array<float, 4 * kQuads>;
template <class Fn>
void for_factors(const AttentionShape& shape, std::int64_t row, std::int64_t n,
                 Fn fn) {
  const std::int64_t quads = (shape.sequence + 3) / 4;
  const float kept = 1.0f / (1.0f - shape.dropout);
  QuadWords words;
  Factors factors;
  for (std::int64_t j = 0; j < n; j += 4 * kQuads) {
    philox_blocks(shape.key, static_cast<std::uint64_t>(row * quads + j / 4),
                  words);
    for (std::size_t l = 0; l < factors.size(); ++l)
      factors[l] = uniform(words[l]) >= shape.dropout ? kept : 0.0f;
    fn(j, std::min(n - j, std::int64_t{4 * kQuads}), factors);
  }
}

// Scores of row i become exp(score - largest); returns their sum.
float soften(const Block& block, std::int64_t i, float* scores,
             const AttentionForward& args) {
  const std::int64_t n = padded(block.keys());
  mask(block, i, scores);
  const float top = largest(scores, n);
  exponentials(scores, n, top);
  const float sum = sum_terms(n, [=](std::int64_t j) { return scores[j]; });
  args.lse.data<float>()[block.row(i)] = top + std::log(sum);
  if (block.shape.dropout > 0.0f) {
    for_factors(block.shape, block.row(i), n,
                [=](std::int64_t j, std::int64_t count, const Factors& f) {
                  for (std::int64_t l = 0; l < count; ++l)
                    scores[j + l] *= f[static_cast<std::size_t>(l)];
                });
  }
  return sum;
}

void forward_block(const AttentionForward& args, const Block& block,
                   const View& k_turned, const View& v, Arena arena) {
  const std::int64_t width = block.shape.width;
  const View scores{arena.take(kBlock * scores_stride(block.shape)),
                    scores_stride(block.shape)};
  const View q = read(block.of(args.q), arena.take(kBlock * width));
  const View y = results(block.of(args.y), arena.take(kBlock * width));
  std::array<float, kBlock> sums;
  dot_rows(block, block.shape.scale, q, k_turned, scores);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    sums[static_cast<std::size_t>(i)] =
        soften(block, i, scores.data + i * scores.stride, args);
  }
  mix(block, 1.0f, scores, v, y);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float factor = 1.0f / sums[static_cast<std::size_t>(i)];
    float* row = y.data + i * y.stride;
    for (std::int64_t d = 0; d < width; ++d) row[d] *= factor;
  }
  write(block.of(args.y), y);
}

void forward_panel(const AttentionForward& args, std::int64_t panel,
                   float* scratch) {
  const AttentionShape& shape = args.shape;
  const std::int64_t whole = shape.sequence * shape.width;
  Arena arena(scratch);
  const View k_turned =
      read_turned(whole_head(args.k, shape, panel), arena.take(whole));
  const View v = read(whole_head(args.v, shape, panel), arena.take(whole));
  for_blocks(shape, panel, [&](const Block& block) {
    forward_block(args, block, k_turned, v, arena);
  });
}

// p = exp(score - lse) and dp, the derivative by what dropout left, become what
// dropout left of p and the derivative by the scores, p (dp f - delta).
void differentiate(const Block& block, std::int64_t i, float* p, float* dp,
                   float delta) {
  const std::int64_t n = padded(block.keys());
  if (block.shape.dropout > 0.0f) {
    for_factors(block.shape, block.row(i), n,
                [=](std::int64_t j, std::int64_t count, const Factors& f) {
                  for (std::int64_t l = 0; l < count; ++l) {
                    const float factor = f[static_cast<std::size_t>(l)];
                    const float rest = multiply_add(dp[j + l], factor, -delta);
                    dp[j + l] = p[j + l] * rest;
                    p[j + l] *= factor;
                  }
                });
    return;
  }
  for (std::int64_t j = 0; j < n; ++j) dp[j] = p[j] * (dp[j] - delta);
}

struct BackwardHead {
  View k, k_turned, v_turned, dk, dv;
};

void backward_block(const AttentionBackward& args, const Block& block,
                    const BackwardHead& head, Arena arena) {
  const std::int64_t width = block.shape.width;
  const std::int64_t stride = scores_stride(block.shape);
  const View p{arena.take(kBlock * stride), stride};
  const View dp{arena.take(kBlock * stride), stride};
  const View q = read(block.of(args.q), arena.take(kBlock * width));
  const View y = read(block.of(args.y), arena.take(kBlock * width));
  const View dy = read(block.of(args.dy), arena.take(kBlock * width));
  const View dq = results(block.of(args.dq), arena.take(kBlock * width));
  dot_rows(block, block.shape.scale, q, head.k_turned, p);
  dot_rows(block, 1.0f, dy, head.v_turned, dp);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* yi = y.data + i * y.stride;
    const float* dyi = dy.data + i * dy.stride;
    const float delta =
        sum_terms(width, [=](std::int64_t d) { return yi[d] * dyi[d]; });
    float* row = p.data + i * stride;
    mask(block, i, row);
    exponentials(row, padded(block.keys()),
                 args.lse.data<float>()[block.row(i)]);
    differentiate(block, i, row, dp.data + i * stride, delta);
  }
  spread(block, 1.0f, p, dy, head.dv);
  mix(block, block.shape.scale, dp, head.k, dq);
  spread(block, block.shape.scale, dp, q, head.dk);
  write(block.of(args.dq), dq);
}

void backward_panel(const AttentionBackward& args, std::int64_t panel,
                    float* scratch) {
  const AttentionShape& shape = args.shape;
  const std::int64_t whole = shape.sequence * shape.width;
  const HeadRows dk = whole_head(args.dk, shape, panel);
  const HeadRows dv = whole_head(args.dv, shape, panel);
  Arena arena(scratch);
  const BackwardHead head{
      .k = read(whole_head(args.k, shape, panel), arena.take(whole)),
      .k_turned =
          read_turned(whole_head(args.k, shape, panel), arena.take(whole)),
      .v_turned =
          read_turned(whole_head(args.v, shape, panel), arena.take(whole)),
      .dk = results(dk, arena.take(whole)),
      .dv = results(dv, arena.take(whole))};
  clear(head.dk, shape.sequence, shape.width);
  clear(head.dv, shape.sequence, shape.width);
  for_blocks(shape, panel, [&](const Block& block) {
    backward_block(args, block, head, arena);
  });
  write(dk, head.dk);
  write(dv, head.dv);
}

// Floats of one worker: blocks of scores, of D columns, and whole heads. The
// pieces that fp32 does not need are not touched.
std::int64_t scratch_floats(const AttentionShape& shape, std::int64_t scores,
                            std::int64_t blocks, std::int64_t heads) {
  return scores * kBlock * scores_stride(shape) +
         blocks * padded(kBlock * shape.width) +
         heads * padded(shape.sequence * shape.width);
}

template <class Args>
using PanelBody = void (*)(const Args&, std::int64_t, float*);

// Queues body(args, panel, scratch of its worker) for every panel.
template <class Args>
void queue_panels(const Args& args, std::int64_t floats, PanelBody<Args> body,
                  Stream& stream) {
  ThreadPool& pool = stream.pool();
  const Tensor scratch = stream.scratch().allocate(
      DType::kF32, Shape{pool.threads(), floats}, Category::kWorkspace);
  if (args.lse.is_meta()) return;
  stream.submit([args, floats, body, scratch, &pool] {
    pool.parallel_for(args.shape.batch * args.shape.kv_heads,
                      [&](std::int64_t panel, int worker) {
                        body(args, panel,
                             scratch.data<float>() + worker * floats);
                      });
  });
}

}  // namespace

void attention_forward(const AttentionForward& args, Stream& stream) {
  check(args);
  queue_panels(args, scratch_floats(args.shape, 1, 2, 2), forward_panel,
               stream);
}

void attention_backward(const AttentionBackward& args, Stream& stream) {
  check(args);
  queue_panels(args, scratch_floats(args.shape, 2, 4, 5), backward_panel,
               stream);
}

}  // namespace quire::kernels
