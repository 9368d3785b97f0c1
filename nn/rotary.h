// Frequencies of the rotary embedding (Su et al., 2021), with the scalings that
// stretch a trained context.
#pragma once

#include <cstdint>
#include <vector>

namespace quire::nn {

struct RotaryOptions {
  float theta = 10000.0f;
  // kDefault: f_i = theta^(-2 i / D). kLinear: f_i / factor. kLlama3: long
  // waves are divided by factor, short ones kept, those between are blended:
  // with wave_i = 2 pi / f_i and C = original_context, f_i / factor where
  // wave_i > C / low_frequency_factor, f_i where wave_i < C /
  // high_frequency_factor, else (1 - s) f_i / factor + s f_i with s = (C /
  // wave_i - low) / (high - low).
  enum class Scaling : std::uint8_t { kDefault, kLinear, kLlama3 };
  Scaling scaling = Scaling::kDefault;
  float factor = 1.0f;                 // of kLinear and kLlama3
  float low_frequency_factor = 1.0f;   // of kLlama3, as the next two
  float high_frequency_factor = 4.0f;  // above low_frequency_factor
  std::int64_t original_context = 0;

  friend bool operator==(const RotaryOptions&, const RotaryOptions&) = default;
};

// What the scaling makes of a frequency. REQUIRES: the options hold, as below.
double scaled_frequency(double frequency, const RotaryOptions& options);

// f_0 ... f_{D/2-1} in radians per token, computed in fp64 and rounded once.
// UsageError unless head_width is even and positive, theta and factors are
// positive and finite, and kLlama3 has an original_context and high > low.
std::vector<float> rotary_frequencies(const RotaryOptions& options,
                                      std::int64_t head_width);

}  // namespace quire::nn
