#include "quire/nn/rotary.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "quire/core/error.h"

namespace quire::nn {
namespace {

using Scaling = RotaryOptions::Scaling;

bool is_positive(float value) { return std::isfinite(value) && value > 0.0f; }

bool holds(const RotaryOptions& o) {
  if (!is_positive(o.theta) || !is_positive(o.factor)) return false;
  if (o.scaling != Scaling::kLlama3) return true;
  return is_positive(o.low_frequency_factor) &&
         is_positive(o.high_frequency_factor) &&
         o.high_frequency_factor > o.low_frequency_factor &&
         o.original_context > 0;
}

void check(const RotaryOptions& o, std::int64_t head_width) {
  if (head_width < 2 || head_width % 2 != 0)
    throw UsageError(fmt::format(
        "rotary: got a head width of {}; expected an even one of at least 2",
        head_width));
  if (holds(o)) return;
  throw UsageError(fmt::format(
      "rotary: got theta {}, factor {}, low_frequency_factor {}, "
      "high_frequency_factor {}, original_context {}; expected positive finite "
      "values, with llama3's scaling a high_frequency_factor above the low one",
      o.theta, o.factor, o.low_frequency_factor, o.high_frequency_factor,
      o.original_context));
}

// Long waves are stretched, short ones kept.
double stretched(double frequency, const RotaryOptions& o) {
  const double slow = frequency / o.factor;
  const double turns = static_cast<double>(o.original_context) * frequency /
                       (2.0 * std::numbers::pi);
  if (turns < o.low_frequency_factor) return slow;
  if (turns > o.high_frequency_factor) return frequency;
  const double range =
      static_cast<double>(o.high_frequency_factor) - o.low_frequency_factor;
  const double s = (turns - o.low_frequency_factor) / range;
  return (1.0 - s) * slow + s * frequency;
}

}  // namespace

double scaled_frequency(double frequency, const RotaryOptions& options) {
  switch (options.scaling) {
    case Scaling::kDefault:
      return frequency;
    case Scaling::kLinear:
      return frequency / options.factor;
    case Scaling::kLlama3:
      return stretched(frequency, options);
  }
  return frequency;
}

std::vector<float> rotary_frequencies(const RotaryOptions& options,
                                      std::int64_t head_width) {
  check(options, head_width);
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < head_width; i += 2) {
    const double exponent =
        -static_cast<double>(i) / static_cast<double>(head_width);
    const double frequency = std::pow(options.theta, exponent);
    frequencies.push_back(
        static_cast<float>(scaled_frequency(frequency, options)));
  }
  return frequencies;
}

}  // namespace quire::nn
