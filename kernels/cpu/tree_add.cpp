#include "quire/kernels/tree_add.h"

#include <algorithm>
#include <array>
#include <vector>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/detail/element_types.h"
#include "quire/kernels/detail/tree_program.h"

namespace quire::kernels {
namespace {

using Kind = TreePlace::Kind;

// Floats of all buffers together, and at most of one: they stay in the first
// levels of cache.
constexpr std::int64_t kBufferFloats = std::int64_t{1} << 14;
constexpr std::int64_t kChunk = 1024;
static_assert(kBufferFloats >= static_cast<std::int64_t>(kMaxTreeInputs));

// The elements of a value from some element on: of one of the two types.
struct Source {
  const float* f32 = nullptr;
  const BFloat16* bf16 = nullptr;
};

template <class A, class B>
void add(const A* left, const B* right, float* result, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    result[i] = static_cast<float>(left[i]) + static_cast<float>(right[i]);
  }
}

void add(Source left, Source right, float* result, std::int64_t n) {
  if (left.f32 != nullptr) {
    right.f32 != nullptr ? add(left.f32, right.f32, result, n)
                         : add(left.f32, right.bf16, result, n);
  } else {
    right.f32 != nullptr ? add(left.bf16, right.f32, result, n)
                         : add(left.bf16, right.bf16, result, n);
  }
}

template <class T>
void add_four(const std::array<const T*, 8>& from, float* result,
              std::int64_t n) {
  const auto [a, b, c, d, e, f, g, h] = from;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    result[i] = (static_cast<float>(a[i]) + static_cast<float>(b[i])) +
                (static_cast<float>(c[i]) + static_cast<float>(d[i]));
  }
}

template <class T>
void add_eight(const std::array<const T*, 8>& from, float* result,
               std::int64_t n) {
  const auto [a, b, c, d, e, f, g, h] = from;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    result[i] = ((static_cast<float>(a[i]) + static_cast<float>(b[i])) +
                 (static_cast<float>(c[i]) + static_cast<float>(d[i]))) +
                ((static_cast<float>(e[i]) + static_cast<float>(f[i])) +
                 (static_cast<float>(g[i]) + static_cast<float>(h[i])));
  }
}

void widen(Source from, float* to, std::int64_t n) {
  if (from.f32 != nullptr) {
    std::copy(from.f32, from.f32 + n, to);
  } else {
    std::transform(from.bf16, from.bf16 + n, to,
                   [](BFloat16 value) { return static_cast<float>(value); });
  }
}

// A call as a stream keeps it.
struct Job {
  explicit Job(const TreeAdd& args)
      : inputs(args.inputs.begin(), args.inputs.end()),
        outputs(args.outputs.begin(), args.outputs.end()),
        program(compile(args)) {}

  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  TreeProgram program;
};

// The elements from `begin` on, with the buffers of one thread.
class Chunk {
 public:
  Chunk(const Job& job, float* buffers, std::int64_t capacity)
      : job_(job), buffers_(buffers), capacity_(capacity) {}

  void run(std::int64_t begin, std::int64_t n) {
    begin_ = begin;
    const TreeProgram& program = job_.program;
    for (const TreeSum& sum : program.sums) {
      add_up(sum, n);
    }
    for (std::size_t i = 0; i < program.staged.size(); ++i) {
      const std::int32_t index =
          program.first_staged + static_cast<std::int32_t>(i);
      widen(source(program.staged[i]), target({Kind::kBuffer, index}), n);
    }
    for (const TreeMove& move : program.moves) {
      widen(source(move.from), target({Kind::kOutput, move.output}), n);
    }
  }

 private:
  void add_up(const TreeSum& sum, std::int64_t n) const {
    float* result = target(sum.result);
    if (sum.count == 2) {
      add(source(sum.operands[0]), source(sum.operands[1]), result, n);
    } else if (type_of(sum.operands[0]) == DType::kF32) {
      add_inputs<float>(sum, result, n);
    } else {
      add_inputs<BFloat16>(sum, result, n);
    }
  }

  template <class T>
  void add_inputs(const TreeSum& sum, float* result, std::int64_t n) const {
    std::array<const T*, 8> from{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(sum.count); ++i) {
      from[i] = input(sum.operands[i]).template data<T>() + begin_;
    }
    sum.count == 4 ? add_four(from, result, n) : add_eight(from, result, n);
  }

  const Tensor& input(TreePlace place) const {
    return job_.inputs[static_cast<std::size_t>(place.index)];
  }

  DType type_of(TreePlace place) const { return input(place).dtype(); }

  float* target(TreePlace place) const {
    const auto index = static_cast<std::size_t>(place.index);
    return place.kind == Kind::kOutput
               ? job_.outputs[index].data<float>() + begin_
               : buffers_ + place.index * capacity_;
  }

  Source source(TreePlace place) const {
    if (place.kind != Kind::kInput) return {.f32 = target(place)};
    if (type_of(place) == DType::kF32) {
      return {.f32 = input(place).data<float>() + begin_};
    }
    return {.bf16 = input(place).data<BFloat16>() + begin_};
  }

  const Job& job_;
  float* buffers_;
  std::int64_t capacity_;
  std::int64_t begin_ = 0;
};

void run_range(const Job& job, std::int64_t begin, std::int64_t end) {
  alignas(64) float buffers[kBufferFloats];
  const std::int64_t count = std::max<std::int64_t>(1, job.program.buffers);
  const std::int64_t capacity = std::min(kChunk, kBufferFloats / count);
  Chunk chunk(job, buffers, capacity);
  for (std::int64_t i = begin; i < end; i += capacity) {
    chunk.run(i, std::min(capacity, end - i));
  }
}

}  // namespace

void tree_add(const TreeAdd& args, Stream& stream) {
  check(args);
  if (args.outputs.empty() || args.outputs.front().is_meta()) return;
  stream.submit([job = Job(args), &pool = stream.pool()] {
    for_ranges(pool, job.outputs.front().numel(),
               [&](std::int64_t begin, std::int64_t end) {
                 run_range(job, begin, end);
               });
  });
}

}  // namespace quire::kernels
