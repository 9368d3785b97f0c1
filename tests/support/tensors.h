// Tensors for tests: made from numbers, compared with a tolerance or by bits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "quire/core/allocator.h"
#include "quire/core/stream.h"
#include "quire/core/tensor.h"
#include "quire/core/thread_pool.h"

namespace quire::testing {

// What a kernel call needs: a pool of `threads`, an allocator without a budget
// and an inline stream over both. With Device::kMeta, tensors have no memory.
struct Cpu {
  explicit Cpu(int threads = 1, Device device = Device::kCpu)
      : pool(threads),
        allocator(Allocator::Options{
            .device = device, .budget_bytes = {}, .owner = "test"}),
        stream(Stream::Kind::kInline, "test", pool, allocator) {}

  // Uninitialised.
  Tensor empty(DType dtype, const Shape& shape) {
    return allocator.allocate(dtype, shape, Category::kActivations);
  }
  // The largest number of bytes that kernels have held as scratch so far.
  std::int64_t scratch_peak() const {
    return allocator.report()
        .peak[static_cast<std::size_t>(Category::kWorkspace)];
  }

  ThreadPool pool;
  Allocator allocator;
  Stream stream;
};

// Tensors that no allocator accounts for, on the CPU.
Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
// The flat order of `values`, rounded to fp32, bf16 or fp16.
Tensor tensor_of(std::span<const float> values, const Shape& shape,
                 DType dtype = DType::kF32);
Tensor tensor_of(std::initializer_list<float> values, const Shape& shape,
                 DType dtype = DType::kF32);
Tensor ids_of(std::initializer_list<std::int32_t> values, const Shape& shape);
// Uniform in [-1, 1), a function of (key, element).
Tensor random_tensor(const Shape& shape, std::uint64_t key,
                     DType dtype = DType::kF32);
// i32, uniform in [0, count).
Tensor random_ids(const Shape& shape, std::int64_t count, std::uint64_t key);
Tensor copy_of(const Tensor& x);
// Rounded to, or widened from, fp32, bf16 or fp16.
Tensor as_dtype(const Tensor& x, DType dtype);
// The elements as fp32; fp32, bf16, fp16 and i32 tensors.
std::vector<float> values_of(const Tensor& x);

// |got - expected| <= tolerance * the largest magnitude in `expected`, for
// every element; equal shapes. NaN is close to nothing.
void expect_close(const Tensor& got, const Tensor& expected, double tolerance);
// The same shape, type and bytes.
void expect_same_bits(const Tensor& got, const Tensor& expected);
// Every element is `value` exactly.
void expect_all(const Tensor& got, float value);

// The message of the UsageError that fn() throws; fails the test and returns ""
// if it throws none.
template <class Fn>
std::string usage_error_of(Fn&& fn);

// Fails the test unless `text` holds every one of `parts`.
void expect_mentions(const std::string& text,
                     std::initializer_list<std::string> parts);

void report_missing_error();  // for usage_error_of

template <class Fn>
std::string usage_error_of(Fn&& fn) {
  try {
    fn();
  } catch (const UsageError& error) {
    return error.what();
  }
  report_missing_error();
  return "";
}

}  // namespace quire::testing
