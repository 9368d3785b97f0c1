// A parameter's elements on their way from one file to another: a block at a
// time, in the type that is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quire/checkpoint/safetensors.h"
#include "quire/convert/convert.h"

namespace quire::convert {

// Elements that are held at once; whole tiles.
inline constexpr std::int64_t kBlock = std::int64_t{1} << 20;

struct TypedBytes {
  DType dtype;  // fp32, bf16 or fp16
  std::span<const std::byte> bytes;
};
// `to` = the elements of `from` as `dtype`, rounded to nearest, ties to even.
// True if a finite one became infinite. REQUIRES: as many elements.
bool cast(const TypedBytes& from, DType dtype, std::span<std::byte> to);

// The type in which a parameter is written.
inline DType written_dtype(const ConvertOptions& options,
                           const StoredParameter& parameter) {
  return options.dtype.value_or(parameter.dtype);
}
// Bytes of all parameters as they are written.
std::int64_t written_bytes(const Weights& weights,
                           const ConvertOptions& options);

// Gives a model's parameters to a writer and tells how much is written.
class ValueStream {
 public:
  // The weights are borrowed.
  ValueStream(const Weights& weights, const ConvertOptions& options,
              const ConvertProgress& progress)
      : weights_(weights),
        progress_(progress),
        total_(written_bytes(weights, options)) {}

  struct Range {
    std::int64_t first, count;
  };
  // Gives the elements of the range, in order, as `dtype`.
  void give(const StoredParameter& parameter, const Range& range, DType dtype,
            const checkpoint::ByteSink& sink);
  void give(const StoredParameter& parameter, DType dtype,
            const checkpoint::ByteSink& sink) {
    give(parameter, {0, parameter.shape.numel()}, dtype, sink);
  }
  // The range, for a writer that gives it in another order, and tells so.
  std::vector<std::byte> hold(const StoredParameter& parameter,
                              const Range& range, DType dtype);
  void tell_written(std::int64_t bytes);

  // One line for every parameter of which finite elements became infinite.
  std::vector<std::string> warnings() const;

 private:
  void read(const StoredParameter& parameter, const Range& range, DType dtype,
            const checkpoint::ByteSink& sink);

  const Weights& weights_;
  ConvertProgress progress_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::vector<std::byte> stored_, cast_;
  std::set<std::string> overflowed_;
};

}  // namespace quire::convert
