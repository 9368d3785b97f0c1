#include "quire/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

// q, k and v (or their derivatives) packed in one tensor of token rows.
struct Packed {
  Packed(const AttentionShape& s, const Tensor& tensor)
      : data(tensor),
        stride((s.heads + 2 * s.kv_heads) * s.width),
        q{data, 0, stride},
        k{data, s.heads * s.width, stride},
        v{data, (s.heads + s.kv_heads) * s.width, stride} {}

  static Shape shape(const AttentionShape& s) {
    return {s.batch * s.sequence, (s.heads + 2 * s.kv_heads) * s.width};
  }

  Tensor data;
  std::int64_t stride;
  Heads q, k, v;
};

Heads plain(const AttentionShape& s, const Tensor& data) {
  return {data, 0, s.heads * s.width};
}

Shape plain_shape(const AttentionShape& s) {
  return {s.batch * s.sequence, s.heads * s.width};
}

struct Results {
  Tensor y, lse, dqkv;
};

using Forward = void (*)(const AttentionForward&, Stream&);
using Backward = void (*)(const AttentionBackward&, Stream&);

struct Version {
  Forward forward;
  Backward backward;
};
constexpr Version kFast{attention_forward, attention_backward};
constexpr Version kReference{reference::attention_forward,
                             reference::attention_backward};

// Forward and backward from random inputs; what is not written is NaN.
Results run(const AttentionShape& s, DType dtype, Version version, Cpu& cpu) {
  const auto unwritten = [&](const Shape& shape, DType type) {
    return tensor_of(
        std::vector<float>(static_cast<std::size_t>(shape.numel()), NAN), shape,
        type);
  };
  const Results r{.y = unwritten(plain_shape(s), dtype),
                  .lse = unwritten({s.batch, s.heads, s.sequence}, DType::kF32),
                  .dqkv = unwritten(Packed::shape(s), dtype)};
  const Packed in(s, random_tensor(Packed::shape(s), 1, dtype));
  const Packed out(s, r.dqkv);
  const Heads y = plain(s, r.y);
  const Heads dy = plain(s, random_tensor(plain_shape(s), 2, dtype));
  version.forward({s, in.q, in.k, in.v, y, r.lse}, cpu.stream);
  version.backward({s, in.q, in.k, in.v, y, dy, r.lse, out.q, out.k, out.v},
                   cpu.stream);
  return r;
}

Results run(const AttentionShape& s, DType dtype, Version version,
            int threads = 2) {
  Cpu cpu(threads);
  return run(s, dtype, version, cpu);
}

void expect_as_reference(const AttentionShape& s, DType dtype,
                         double tolerance) {
  SCOPED_TRACE(s.sequence);
  const Results got = run(s, dtype, kFast);
  const Results expected = run(s, dtype, kReference);
  expect_close(got.y, expected.y, tolerance);
  expect_close(got.lse, expected.lse, 1e-5);
  expect_close(got.dqkv, expected.dqkv, tolerance);
}

constexpr AttentionShape kGrouped{.batch = 2,
                                  .sequence = 67,
                                  .heads = 6,
                                  .kv_heads = 2,
                                  .width = 5,
                                  .causal = true,
                                  .scale = 0.7f};

AttentionShape of_length(std::int64_t sequence, std::int64_t width = 5) {
  AttentionShape s = kGrouped;
  s.sequence = sequence;
  s.width = width;
  return s;
}

// [B, H, T, D] as token rows [B*T, H*D], and back.
Tensor token_rows(const Tensor& x) {
  const std::int64_t heads = x.dim(1), length = x.dim(2), width = x.dim(3);
  const Tensor y = zeros({x.dim(0) * length, heads * width});
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t d = i % width, t = i / width % length;
    const std::int64_t h = i / width / length % heads;
    const std::int64_t b = i / width / length / heads;
    y.data<float>()[((b * length + t) * heads + h) * width + d] =
        x.data<float>()[i];
  }
  return y;
}

void expect_golden(const std::string& name, std::int64_t kv_heads,
                   bool causal) {
  const Golden golden("operators");
  const auto rows = [&](const char* key) {
    return token_rows(golden.tensor(name + "." + key));
  };
  const AttentionShape s{.batch = 2,
                         .sequence = 19,
                         .heads = 4,
                         .kv_heads = kv_heads,
                         .width = 8,
                         .causal = causal,
                         .scale = 1.0f / std::sqrt(8.0f)};
  const std::int64_t wide = 32, narrow = kv_heads * 8;
  const Heads q{rows("q"), 0, wide}, k{rows("k"), 0, narrow};
  const Heads v{rows("v"), 0, narrow}, y{zeros({38, wide}), 0, wide};
  const Heads dy{rows("weight_of_y"), 0, wide}, dq{zeros({38, wide}), 0, wide};
  const Heads dk{zeros({38, narrow}), 0, narrow};
  const Heads dv{zeros({38, narrow}), 0, narrow};
  const Tensor lse = zeros({2, 4, 19});
  Cpu cpu(2);
  attention_forward({s, q, k, v, y, lse}, cpu.stream);
  attention_backward({s, q, k, v, y, dy, lse, dq, dk, dv}, cpu.stream);
  expect_close(y.data, rows("y"), 1e-5);
  expect_close(dq.data, rows("grad.q"), 1e-5);
  expect_close(dk.data, rows("grad.k"), 1e-5);
  expect_close(dv.data, rows("grad.v"), 1e-5);
}

TEST(Attention, MatchesTheGoldenCausalGroupedHeads) {
  expect_golden("attention_causal_gqa", 2, true);
}

TEST(Attention, MatchesTheGoldenFullAttention) {
  expect_golden("attention_full", 4, false);
}

TEST(Attention, AveragesTheValuesOfEqualKeys) {
  const AttentionShape s{.batch = 1,
                         .sequence = 2,
                         .heads = 1,
                         .kv_heads = 1,
                         .width = 1,
                         .causal = true,
                         .scale = 1.0f};
  const Heads q{tensor_of({1, 1}, {2, 1}), 0, 1};
  const Heads k{tensor_of({3, 3}, {2, 1}), 0, 1};
  const Heads v{tensor_of({10, 20}, {2, 1}), 0, 1};
  const Heads y{zeros({2, 1}), 0, 1};
  const Tensor lse = zeros({1, 1, 2});
  Cpu cpu;
  attention_forward({s, q, k, v, y, lse}, cpu.stream);
  expect_close(y.data, tensor_of({10, 15}, {2, 1}), 1e-6);
  expect_close(lse, tensor_of({3, 3.69314718f}, {1, 1, 2}), 1e-6);
}

TEST(Attention, MatchesTheReferenceAtAnyLength) {
  for (const std::int64_t sequence : {0, 1, 3, 64, 67, 130})
    expect_as_reference(of_length(sequence), DType::kF32, 1e-5);
  expect_as_reference(of_length(67, 33), DType::kF32, 1e-5);
}

TEST(Attention, MatchesTheReferenceWithoutAMask) {
  for (const std::int64_t sequence : {1, 67, 130}) {
    AttentionShape s = of_length(sequence);
    s.causal = false;
    expect_as_reference(s, DType::kF32, 1e-5);
  }
}

TEST(Attention, MatchesTheReferenceWithDropout) {
  for (const bool causal : {true, false}) {
    AttentionShape s = of_length(131);
    s.causal = causal;
    s.dropout = 0.3f;
    s.key = {.key = 77, .lane = 3, .step = 5};
    expect_as_reference(s, DType::kF32, 1e-5);
  }
}

AttentionShape windowed(std::int64_t sequence, std::int64_t window) {
  AttentionShape s = of_length(sequence);
  s.window = window;
  return s;
}

TEST(Attention, MatchesTheReferenceInAWindow) {
  for (const std::int64_t window : {1, 3, 16, 64, 65, 100, 299})
    expect_as_reference(windowed(300, window), DType::kF32, 1e-5);
  expect_as_reference(windowed(67, 9), DType::kBF16, 0.01);
}

TEST(Attention, MatchesTheReferenceInAWindowWithDropout) {
  AttentionShape s = windowed(300, 77);
  s.dropout = 0.3f;
  s.key = {.key = 77, .lane = 3, .step = 5};
  expect_as_reference(s, DType::kF32, 1e-5);
}

TEST(Attention, SeesTheTokenItselfAloneInAWindowOfOne) {
  AttentionShape s = windowed(130, 1);
  s.kv_heads = s.heads;
  const Packed in(s, random_tensor(Packed::shape(s), 1));
  const Results got = run(s, DType::kF32, kFast);
  for (std::int64_t t = 0; t < s.batch * s.sequence; ++t) {
    const std::int64_t row = s.heads * s.width;
    expect_same_bits(got.y.range(t * row, {row}),
                     in.data.range(t * in.stride + in.v.offset, {row}));
  }
}

TEST(Attention, GivesTheBitsOfNoWindowIfAllIsInIt) {
  const Results without = run(of_length(130), DType::kF32, kFast);
  for (const std::int64_t window :
       {std::int64_t{130}, std::numeric_limits<std::int64_t>::max()}) {
    const Results with = run(windowed(130, window), DType::kF32, kFast);
    expect_same_bits(with.y, without.y);
    expect_same_bits(with.dqkv, without.dqkv);
  }
}

TEST(Attention, ReadsNoKeyOutsideItsWindow) {
  AttentionShape s = windowed(1000, 40);
  s.batch = 1;
  const Tensor qkv = random_tensor(Packed::shape(s), 1);
  const Packed in(s, qkv);
  const Results whole = run(s, DType::kF32, kFast);
  // Keys and values up to 848 are NaN. The tokens from 896 on, a block of
  // queries, see none before 857.
  for (std::int64_t t = 0; t < 848; ++t)
    for (std::int64_t e = in.k.offset; e < in.stride; ++e)
      qkv.data<float>()[t * in.stride + e] = NAN;
  const Tensor y = zeros(plain_shape(s)), lse = zeros({1, s.heads, s.sequence});
  Cpu cpu(2);
  attention_forward({s, in.q, in.k, in.v, plain(s, y), lse}, cpu.stream);
  const std::int64_t row = s.heads * s.width, from = 896 * row;
  expect_same_bits(y.range(from, {y.numel() - from}),
                   whole.y.range(from, {y.numel() - from}));
}

TEST(Attention, HoldsTheScoresOfAWindowAlone) {
  Cpu narrow(1), wide(1);
  run(windowed(1000, 40), DType::kF32, kFast, narrow);
  run(of_length(1000), DType::kF32, kFast, wide);
  // Two blocks of 64 rows of scores: 120 columns are enough instead of 1000.
  const std::int64_t saved = 2 * 64 * (1000 - 160) * 4;
  EXPECT_LT(narrow.scratch_peak(), wide.scratch_peak() - saved);
}

TEST(Attention, RefusesAWindowThatIsNotCausal) {
  AttentionShape s = windowed(67, 9);
  s.causal = false;
  expect_mentions(usage_error_of([&] { run(s, DType::kF32, kFast); }),
                  {"attention_forward", "window 9", "causal false"});
  usage_error_of([] { run(windowed(67, -1), DType::kF32, kFast); });
}

TEST(Attention, ComputesBf16InFp32) {
  expect_as_reference(of_length(67), DType::kBF16, 0.01);
  AttentionShape s = of_length(67, 9);
  s.causal = false;
  s.dropout = 0.5f;
  expect_as_reference(s, DType::kBF16, 0.01);
}

TEST(Attention, StandsLargeScores) {
  AttentionShape s = of_length(67);
  s.scale = 300.0f;
  const Results got = run(s, DType::kF32, kFast);
  for (const float value : values_of(got.y)) ASSERT_LE(std::abs(value), 1.001f);
  for (const float value : values_of(got.lse))
    ASSERT_TRUE(std::isfinite(value));
}

TEST(Attention, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Results one = run(of_length(130), dtype, kFast, 1);
    for (const int threads : {2, 3}) {
      const Results many = run(of_length(130), dtype, kFast, threads);
      expect_same_bits(many.y, one.y);
      expect_same_bits(many.lse, one.lse);
      expect_same_bits(many.dqkv, one.dqkv);
    }
  }
}

TEST(Attention, GivesASampleTheSameBitsInAnyBatch) {
  AttentionShape alone = kGrouped;
  alone.batch = 1;
  const Results one = run(alone, DType::kF32, kFast);
  const Results two = run(kGrouped, DType::kF32, kFast);
  expect_same_bits(two.y.range(0, one.y.shape()), one.y);
  expect_same_bits(two.dqkv.range(0, one.dqkv.shape()), one.dqkv);
}

TEST(Attention, TakesTheSameScratchOnTheMetaDevice) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Cpu cpu(2), meta(2, Device::kMeta);
    run(kGrouped, dtype, kFast, cpu);
    const AttentionShape& s = kGrouped;
    const Packed in(s, meta.empty(dtype, Packed::shape(s)));
    const Heads y = plain(s, meta.empty(dtype, plain_shape(s)));
    const Tensor lse = meta.empty(DType::kF32, {s.batch, s.heads, s.sequence});
    attention_forward({s, in.q, in.k, in.v, y, lse}, meta.stream);
    attention_backward({s, in.q, in.k, in.v, y, y, lse, in.q, in.k, in.v},
                       meta.stream);
    EXPECT_GT(cpu.scratch_peak(), 0);
    EXPECT_EQ(meta.scratch_peak(), cpu.scratch_peak());
  }
}

TEST(Attention, NamesTheHeadsThatDoNotFit) {
  const AttentionShape s = kGrouped;
  Cpu cpu;
  const Packed in(s, zeros(Packed::shape(s)));
  const Heads y{zeros({2, 3}), 0, 30};
  const std::string error = usage_error_of([&] {
    attention_forward({s, in.q, in.k, in.v, y, zeros({2, 6, 67})}, cpu.stream);
  });
  expect_mentions(error,
                  {"attention_forward", "y", "[2, 3]", "134", "width 5"});
}

TEST(Attention, RefusesHeadsThatDoNotDivide) {
  AttentionShape s = kGrouped;
  s.kv_heads = 4;
  Cpu cpu;
  const Packed in(s, zeros(Packed::shape(s)));
  const Heads y = plain(s, zeros(plain_shape(s)));
  const std::string error = usage_error_of([&] {
    attention_forward({s, in.q, in.k, in.v, y, zeros({2, 6, 67})}, cpu.stream);
  });
  expect_mentions(error, {"attention_forward", "heads 6", "kv_heads 4"});
}

}  // namespace
}  // namespace quire::kernels
