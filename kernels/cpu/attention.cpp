#include "quire/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quire/core/divide.h"
#include "quire/kernels/cpu/attention_block.h"
#include "quire/kernels/cpu/philox_blocks.h"
#include "quire/kernels/cpu/reduce.h"
#include "quire/kernels/cpu/vector_exp.h"

namespace quire::kernels {
namespace {

using namespace attention;

// Scores that row i does not see become minus infinity, up to the padding.
void mask(const Block& block, std::int64_t i, float* scores) {
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  std::fill_n(scores, block.seen_from(i), kUnseen);
  std::fill(scores + block.seen_to(i), scores + padded(block.keys()), kUnseen);
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

// fn(j, count, factors) for runs of at most 4 kQuads scores of row i from
// column j on, up to the padding: what dropout multiplies them with.
using Factors = std::array<float, 4 * kQuads>;
template <class Fn>
void for_factors(const Block& block, std::int64_t i, Fn fn) {
  const AttentionShape& shape = block.shape;
  const std::int64_t n = padded(block.keys());
  const std::int64_t first =
      block.row(i) * divide_up(shape.sequence, 4) + block.first_key() / 4;
  const float kept = 1.0f / (1.0f - shape.dropout);
  QuadWords words;
  Factors factors;
  for (std::int64_t j = 0; j < n; j += 4 * kQuads) {
    philox_blocks(shape.key, static_cast<std::uint64_t>(first + j / 4), words);
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
    for_factors(block, i,
                [=](std::int64_t j, std::int64_t count, const Factors& f) {
                  for (std::int64_t l = 0; l < count; ++l)
                    scores[j + l] *= f[static_cast<std::size_t>(l)];
                });
  }
  return sum;
}

struct ForwardHead {
  View k_turned, v;
};

void forward_block(const AttentionForward& args, const Block& block,
                   const ForwardHead& head, Arena arena) {
  const std::int64_t width = block.shape.width;
  const View scores{arena.take(kBlock * scores_stride(block.shape)),
                    scores_stride(block.shape)};
  const View q = read(block.of(args.q), arena.take(kBlock * width));
  const View y = results(block.of(args.y), arena.take(kBlock * width));
  std::array<float, kBlock> sums;
  dot_rows(block, {q, head.k_turned, scores, block.shape.scale});
  for (std::int64_t i = 0; i < block.rows; ++i) {
    sums[static_cast<std::size_t>(i)] =
        soften(block, i, scores.data + i * scores.stride, args);
  }
  mix(block, {scores, head.v, y});
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
  const ForwardHead head{
      .k_turned =
          read_turned(whole_head(args.k, shape, panel), arena.take(whole)),
      .v = read(whole_head(args.v, shape, panel), arena.take(whole))};
  for_blocks(shape, panel, [&](const Block& block) {
    forward_block(args, block, head, arena);
  });
}

struct RowGradient {
  float* p;
  float* dp;
  float delta;
};
// p = exp(score - lse) and dp, the derivative by what dropout left, become what
// dropout left of p and the derivative by the scores, p (dp f - delta).
void differentiate(const Block& block, std::int64_t i, const RowGradient& row) {
  float *const p = row.p, *const dp = row.dp;
  const float delta = row.delta;
  const std::int64_t n = padded(block.keys());
  if (block.shape.dropout > 0.0f) {
    for_factors(block, i,
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
  dot_rows(block, {q, head.k_turned, p, block.shape.scale});
  dot_rows(block, {dy, head.v_turned, dp});
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* yi = y.data + i * y.stride;
    const float* dyi = dy.data + i * dy.stride;
    const float delta =
        sum_terms(width, [=](std::int64_t d) { return yi[d] * dyi[d]; });
    float* row = p.data + i * stride;
    mask(block, i, row);
    exponentials(row, padded(block.keys()),
                 args.lse.data<float>()[block.row(i)]);
    differentiate(block, i, {row, dp.data + i * stride, delta});
  }
  spread(block, {p, dy, head.dv});
  mix(block, {dp, head.k, dq, block.shape.scale});
  spread(block, {dp, q, head.dk, block.shape.scale});
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
