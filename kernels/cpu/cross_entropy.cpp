#include "quire/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/vector_exp.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

constexpr std::int64_t kChunk = 256;

std::int64_t rows_per_panel(const Tensor& logits) {
  return std::max<std::int64_t>(1, kPanelElements / logits.dim(1));
}

// Up to kChunk elements widened, the rest of the chunk filled with `padding`.
template <class T>
void load_chunk(const T* x, std::int64_t n, float padding, float* chunk) {
  for (std::int64_t j = 0; j < n; ++j) chunk[j] = static_cast<float>(x[j]);
  std::fill(chunk + n, chunk + kChunk, padding);
}

// The sum of a chunk, halves upon halves. The chunk is overwritten.
float sum_chunk(float* chunk) {
  for (std::int64_t width = kChunk / 2; width >= 16; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) chunk[j] += chunk[j + width];
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) chunk[j] += chunk[j + width];
  }
  return chunk[0];
}

template <class T>
float row_max(const T* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 64;
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -std::numeric_limits<float>::infinity());
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const float value = static_cast<float>(x[i + j]);
      lanes[j] = value > lanes[j] ? value : lanes[j];
    }
  }
  float top = *std::max_element(lanes, lanes + kLanes);
  for (std::int64_t i = whole; i < n; ++i) {
    top = std::max(top, static_cast<float>(x[i]));
  }
  return top;
}

template <class T>
double sum_of_exp(const T* x, std::int64_t n, float top) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kChunk) {
    float chunk[kChunk];
    load_chunk(x + i, std::min(kChunk, n - i),
               -std::numeric_limits<float>::infinity(), chunk);
    for (std::int64_t j = 0; j < kChunk; ++j) {
      chunk[j] = vector_exp(chunk[j] - top);
    }
    sum += sum_chunk(chunk);
  }
  return sum;
}

template <class T>
double sum_of(const T* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kChunk) {
    float chunk[kChunk];
    load_chunk(x + i, std::min(kChunk, n - i), 0.0f, chunk);
    sum += sum_chunk(chunk);
  }
  return sum;
}

// Writes the row's logsumexp and returns its loss.
template <class T>
double row_loss(const CrossEntropyForward& args, std::int64_t row) {
  const std::int64_t width = args.logits.dim(1);
  const T* x = args.logits.data<T>() + row * width;
  const std::int32_t label = args.labels.data<std::int32_t>()[row];
  const float top = row_max(x, width);
  const double lse = top + std::log(sum_of_exp(x, width, top));
  args.lse.data<float>()[row] = static_cast<float>(lse);
  if (label == args.ignore) return 0;
  const double smoothing = args.smoothing;
  double loss = lse - (1 - smoothing) * static_cast<float>(x[label]);
  if (smoothing != 0) {
    loss -= smoothing * (sum_of(x, width) / static_cast<double>(width));
  }
  return loss;
}

double forward(const CrossEntropyForward& args, ThreadPool& pool,
               double* losses) {
  check_labels(args.logits, args.labels, args.ignore);
  const std::int64_t rows = args.logits.dim(0);
  visit_compute_type(args.logits.dtype(), [&]<class T>(T) {
    for_ranges(pool, rows, rows_per_panel(args.logits),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   losses[row] = row_loss<T>(args, row);
                 }
               });
  });
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) sum += losses[row];
  return sum;
}

// One row: scale (softmax - target), the target being 1 - s at the label and
// s / V everywhere.
template <class T>
void row_gradient(const CrossEntropyBackward& args, std::int64_t row) {
  const std::int64_t width = args.logits.dim(1);
  const T* x = args.logits.data<T>() + row * width;
  T* dx = args.dlogits.data<T>() + row * width;
  const std::int32_t label = args.labels.data<std::int32_t>()[row];
  if (label == args.ignore) return std::fill(dx, dx + width, T(0.0f));
  const float lse = args.lse.data<float>()[row];
  const float spread = args.smoothing / static_cast<float>(width);
  const float scale = args.scale;
  const float at_label = static_cast<float>(x[label]);  // dx may be x
#pragma GCC ivdep
  for (std::int64_t j = 0; j < width; ++j) {
    dx[j] = T(scale * (vector_exp(static_cast<float>(x[j]) - lse) - spread));
  }
  const float p = vector_exp(at_label - lse) - spread;
  dx[label] = T(scale * (p - (1.0f - args.smoothing)));
}

}  // namespace

double cross_entropy_forward(const CrossEntropyForward& args, Stream& stream) {
  check(args);
  const Tensor scratch = stream.scratch().allocate(
      DType::kI64, {args.logits.dim(0)}, Category::kWorkspace);
  if (args.logits.is_meta()) return 0;
  double sum = 0;
  stream.submit([&] {
    sum =
        forward(args, stream.pool(), reinterpret_cast<double*>(scratch.raw()));
  });
  stream.synchronize();
  return sum;
}

void cross_entropy_backward(const CrossEntropyBackward& args, Stream& stream) {
  check(args);
  if (args.logits.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    check_labels(args.logits, args.labels, args.ignore);
    visit_compute_type(args.logits.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.logits.dim(0), rows_per_panel(args.logits),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     row_gradient<T>(args, row);
                   }
                 });
    });
  });
}

}  // namespace quire::kernels
