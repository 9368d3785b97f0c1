// What a GGUF file says of a model: its architecture, keys and tensors' names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/convert/gguf/gguf_file.h"
#include "quire/convert/weights.h"

namespace quire::convert {

// "gpt2", "llama", "qwen2" or "qwen3". UsageError, which names `source`, for a
// model that none of them is.
std::string gguf_architecture(const Description& description,
                              const std::string& source);

// Sizes, norms and rotary positions under "ARCHITECTURE.".
void put_model_keys(const Description& description,
                    std::string_view architecture, GgufKeys& keys);

// "layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight".
std::string gguf_name(std::string_view parameter);

// By how much every rotary frequency is divided; empty unless the scaling is
// llama3.
std::vector<float> rope_divisors(const models::LlamaOptions& options);

// What readers of the architecture may not do as the model does.
std::vector<std::string> gguf_warnings(const Description& description);

}  // namespace quire::convert
