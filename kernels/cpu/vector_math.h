// Functions for activations in a form that compilers turn into vector code,
// with the same bits for an element wherever it stands.
#pragma once

#include <cmath>

#include "quire/kernels/cpu/vector_exp.h"

namespace quire::kernels {

// 1 / (1 + exp(-x)) and its complement, both without cancellation.
struct Logistic {
  float value;
  float complement;
};
inline Logistic logistic(float x) {
  const float e = vector_exp(-x);
  const float value = 1.0f / (1.0f + e);
  return {.value = value, .complement = x < -87.0f ? 1.0f : e * value};
}

// The standard normal distribution at x, and its density there. The tail is
// exp(-z^2) / (1 + 2z) times a polynomial in (z - 2) / (z + 2), z = |x| /
// sqrt(2), fitted on [0, 9.3] to 2.4e-8.
struct Normal {
  float below;
  float density;
};
inline Normal normal(float x) {
  const float size = std::fabs(x);
  const float scaled = size * 0.707106781f;
  const float z = scaled > 9.3f ? 9.3f : scaled;
  const float t = (z - 2.0f) / (z + 2.0f);
  float p = -0.0004294795305f;
  p = multiply_add(p, t, -0.001276178458f);
  p = multiply_add(p, t, 0.001323564877f);
  p = multiply_add(p, t, 0.008671376786f);
  p = multiply_add(p, t, -0.008056293958f);
  p = multiply_add(p, t, -0.05421529667f);
  p = multiply_add(p, t, 0.164053972f);
  p = multiply_add(p, t, -0.166030408f);
  p = multiply_add(p, t, -0.09276390365f);
  p = multiply_add(p, t, 1.276978378f);
  const float e = vector_exp(-0.5f * (x * x));
  const float tail = 0.5f * (e * p) / multiply_add(2.0f, z, 1.0f);
  return {.below = x < 0.0f ? tail : 1.0f - tail, .density = 0.398942280f * e};
}

}  // namespace quire::kernels
