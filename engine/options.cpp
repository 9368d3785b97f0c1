#include "quire/engine/options.h"

#include <fmt/format.h>

#include <cmath>

#include "quire/core/error.h"

namespace quire::engine {
namespace {

void require(bool holds, std::string_view option, const auto& got,
             std::string_view expected) {
  if (!holds)
    throw UsageError(
        fmt::format("{} is {}; expected {}", option, got, expected));
}

}  // namespace

void check(const Options& options) {
  require(options.lanes >= 1, "lanes", options.lanes, "at least 1");
  require(options.wave >= 1, "wave", options.wave, "at least 1 lane per rank");
  require(options.prefetch >= 0, "prefetch", options.prefetch,
          "0 or more units");
  require(is_compute_type(options.precision.compute), "precision.compute",
          name_of(options.precision.compute), "fp32 or bf16");
  require(is_compute_type(options.precision.wire), "precision.wire",
          name_of(options.precision.wire), "fp32 or bf16");
  if (options.clip_norm) {
    require(std::isfinite(*options.clip_norm) && *options.clip_norm > 0,
            "clip_norm", *options.clip_norm,
            "a finite number above 0, or none");
  }
}

}  // namespace quire::engine
