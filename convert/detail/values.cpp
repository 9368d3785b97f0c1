#include "quire/convert/detail/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quire/core/tensor.h"

namespace quire::convert {
namespace {

template <class T>
T element_at(const std::byte* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

template <class From, class To>
bool cast_all(std::span<const std::byte> from, std::span<std::byte> to) {
  bool overflowed = false;
  for (std::size_t i = 0; i < from.size() / sizeof(From); ++i) {
    const auto wide = static_cast<float>(element_at<From>(from.data(), i));
    const To narrow(wide);
    overflowed |=
        std::isfinite(wide) && !std::isfinite(static_cast<float>(narrow));
    std::memcpy(to.data() + i * sizeof(To), &narrow, sizeof(To));
  }
  return overflowed;
}

template <class From>
bool cast_from(std::span<const std::byte> from, DType dtype,
               std::span<std::byte> to) {
  if (dtype == DType::kF32) return cast_all<From, float>(from, to);
  if (dtype == DType::kBF16) return cast_all<From, BFloat16>(from, to);
  return cast_all<From, Float16>(from, to);
}

}  // namespace

bool cast(const TypedBytes& from, DType dtype, std::span<std::byte> to) {
  if (from.dtype == dtype) {
    std::ranges::copy(from.bytes, to.begin());
    return false;
  }
  if (from.dtype == DType::kF32) return cast_from<float>(from.bytes, dtype, to);
  if (from.dtype == DType::kBF16)
    return cast_from<BFloat16>(from.bytes, dtype, to);
  return cast_from<Float16>(from.bytes, dtype, to);
}

std::int64_t written_bytes(const Weights& weights,
                           const ConvertOptions& options) {
  std::int64_t bytes = 0;
  for (const auto& parameter : weights.parameters())
    bytes += bytes_of(written_dtype(options, parameter), parameter.shape);
  return bytes;
}

void ValueStream::read(const StoredParameter& parameter, const Range& range,
                       DType dtype, const checkpoint::ByteSink& sink) {
  const std::int64_t end = range.first + range.count;
  for (std::int64_t at = range.first; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    stored_.resize(static_cast<std::size_t>(count * size_of(parameter.dtype)));
    weights_.read(parameter.name, at, stored_);
    if (dtype == parameter.dtype) {
      sink(stored_);
      continue;
    }
    cast_.resize(static_cast<std::size_t>(count * size_of(dtype)));
    if (cast({parameter.dtype, stored_}, dtype, cast_))
      overflowed_.insert(parameter.name);
    sink(cast_);
  }
}

void ValueStream::give(const StoredParameter& parameter, const Range& range,
                       DType dtype, const checkpoint::ByteSink& sink) {
  read(parameter, range, dtype, [&](std::span<const std::byte> bytes) {
    sink(bytes);
    tell_written(std::ssize(bytes));
  });
}

std::vector<std::byte> ValueStream::hold(const StoredParameter& parameter,
                                         const Range& range, DType dtype) {
  std::vector<std::byte> held;
  held.reserve(static_cast<std::size_t>(range.count * size_of(dtype)));
  read(parameter, range, dtype, [&](std::span<const std::byte> bytes) {
    held.insert(held.end(), bytes.begin(), bytes.end());
  });
  return held;
}

void ValueStream::tell_written(std::int64_t bytes) {
  done_ += bytes;
  if (progress_) progress_(std::min(done_, total_), total_);
}

std::vector<std::string> ValueStream::warnings() const {
  std::vector<std::string> lines;
  for (const auto& name : overflowed_)
    lines.push_back(fmt::format(
        "{}: finite values became infinite in the type that was asked for; "
        "bf16 and fp32 reach as far as fp32",
        name));
  return lines;
}

}  // namespace quire::convert
