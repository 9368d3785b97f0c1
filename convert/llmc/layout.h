// llm.c's file of a GPT-2. Everything is little endian.
//
//   file   = header tensors
//   header = 256 i32: magic, version, context, vocab, layers, heads, width,
//            padded vocab, zeros
//   tensors = wte wpe {ln_1} {c_attn} {attn c_proj} {ln_2} {c_fc}
//             {mlp c_proj} ln_f
//
// A weight is followed by its bias; in braces is that of every layer, all
// weights before all biases. Matrices are [outputs, inputs], as here. Version 3
// has fp32 values, version 5 bf16. wte has rows up to the padded vocab.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "quire/core/dtype.h"
#include "quire/models/gpt2.h"

namespace quire::convert {

inline constexpr std::int32_t kLlmcMagic = 20240326;
inline constexpr std::int64_t kLlmcHeaderBytes = 1024;
inline constexpr float kLlmcNormEps = 1e-5f;
using LlmcHeader = std::array<std::int32_t, 256>;

struct LlmcModel {
  DType dtype;  // fp32 or bf16
  models::Gpt2Options options;
  std::int64_t padded_vocab;
};

// UsageError naming `source` and the field that is out of bounds.
LlmcModel read_llmc_header(const LlmcHeader& header, const std::string& source);
// REQUIRES: sizes within the bounds of the above; else UsageError.
LlmcHeader llmc_header_of(const LlmcModel& model, const std::string& source);

// A parameter in the order of the file.
struct LlmcTensor {
  std::string name;
  std::int64_t numel;
  std::int64_t padding;  // elements behind it
};
std::vector<LlmcTensor> llmc_tensors(const LlmcModel& model);
// Of all tensors, known before any of them is named.
std::int64_t llmc_elements(const LlmcModel& model);

}  // namespace quire::convert
