#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "quire/core/philox.h"

namespace quire::testing {
namespace {

void store(const Tensor& y, std::int64_t i, float value) {
  switch (y.dtype()) {
    case DType::kF32:
      y.data<float>()[i] = value;
      break;
    case DType::kBF16:
      y.data<BFloat16>()[i] = BFloat16(value);
      break;
    case DType::kF16:
      y.data<Float16>()[i] = Float16(value);
      break;
    default:
      throw UsageError("tests: no float is stored in a tensor of type " +
                       std::string(name_of(y.dtype())));
  }
}

float load(const Tensor& x, std::int64_t i) {
  switch (x.dtype()) {
    case DType::kF32:
      return x.data<float>()[i];
    case DType::kBF16:
      return static_cast<float>(x.data<BFloat16>()[i]);
    case DType::kF16:
      return static_cast<float>(x.data<Float16>()[i]);
    case DType::kI32:
      return static_cast<float>(x.data<std::int32_t>()[i]);
    default:
      throw UsageError("tests: no float is read from a tensor of type " +
                       std::string(name_of(x.dtype())));
  }
}

std::uint32_t random_word(std::uint64_t key, std::int64_t i) {
  return RandomKey{.key = key}.block(
      static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype) {
  const auto bytes =
      static_cast<std::size_t>(shape.numel() * size_of(dtype) + 63) / 64 * 64;
  const std::size_t reserved = std::max<std::size_t>(bytes, 64);
  auto* data = static_cast<std::byte*>(std::aligned_alloc(64, reserved));
  std::memset(data, 0, reserved);
  return tensor_over(data, dtype, shape,
                     std::shared_ptr<void>(data, std::free));
}

Tensor tensor_of(std::span<const float> values, const Shape& shape,
                 DType dtype) {
  Tensor y = zeros(shape, dtype);
  EXPECT_EQ(static_cast<std::int64_t>(values.size()), y.numel());
  const auto count =
      std::min(static_cast<std::int64_t>(values.size()), y.numel());
  for (std::int64_t i = 0; i < count; ++i)
    store(y, i, values[static_cast<std::size_t>(i)]);
  return y;
}

Tensor tensor_of(std::initializer_list<float> values, const Shape& shape,
                 DType dtype) {
  return tensor_of(std::span(values.begin(), values.size()), shape, dtype);
}

Tensor ids_of(std::initializer_list<std::int32_t> values, const Shape& shape) {
  Tensor y = zeros(shape, DType::kI32);
  EXPECT_EQ(static_cast<std::int64_t>(values.size()), y.numel());
  std::copy_n(values.begin(),
              std::min<std::int64_t>(std::ssize(values), y.numel()),
              y.data<std::int32_t>());
  return y;
}

Tensor random_tensor(const Shape& shape, std::uint64_t key, DType dtype) {
  Tensor y = zeros(shape, dtype);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    store(y, i, 2.0f * uniform(random_word(key, i)) - 1.0f);
  return y;
}

Tensor random_ids(const Shape& shape, std::int64_t count, std::uint64_t key) {
  Tensor y = zeros(shape, DType::kI32);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    y.data<std::int32_t>()[i] =
        static_cast<std::int32_t>(random_word(key, i) % count);
  return y;
}

Tensor copy_of(const Tensor& x) {
  Tensor y = zeros(x.shape(), x.dtype());
  std::memcpy(y.raw(), x.raw(), static_cast<std::size_t>(x.bytes()));
  return y;
}

Tensor as_dtype(const Tensor& x, DType dtype) {
  return tensor_of(values_of(x), x.shape(), dtype);
}

std::vector<float> values_of(const Tensor& x) {
  std::vector<float> values(static_cast<std::size_t>(x.numel()));
  for (std::int64_t i = 0; i < x.numel(); ++i)
    values[static_cast<std::size_t>(i)] = load(x, i);
  return values;
}

void expect_close(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.shape().to_string(), expected.shape().to_string());
  const auto a = values_of(got), b = values_of(expected);
  double largest = 0.0;
  for (const float value : b)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    ASSERT_TRUE(difference <= tolerance * largest)
        << "element " << i << " of " << a.size() << ": got " << a[i]
        << ", expected " << b[i] << "; " << difference / largest
        << " of the largest magnitude " << largest;
  }
}

void expect_same_bits(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape().to_string(), expected.shape().to_string());
  ASSERT_EQ(name_of(got.dtype()), name_of(expected.dtype()));
  const auto size = static_cast<std::size_t>(size_of(got.dtype()));
  for (std::int64_t i = 0; i < got.bytes(); ++i)
    ASSERT_EQ(got.raw()[i], expected.raw()[i])
        << "in element " << static_cast<std::size_t>(i) / size;
}

void expect_all(const Tensor& got, float value) {
  const auto values = values_of(got);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], value) << "element " << i;
}

void expect_mentions(const std::string& text,
                     std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos)
        << "expected \"" << part << "\" in: " << text;
}

void report_missing_error() { ADD_FAILURE() << "no UsageError was thrown"; }

}  // namespace quire::testing
