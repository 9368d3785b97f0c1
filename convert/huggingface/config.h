// config.json of Hugging Face in both directions: gpt2, llama, mistral, qwen2
// and qwen3. Knows options, not models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/convert/weights.h"
#include "quire/core/dtype.h"

namespace quire::convert {

// No config.json is larger.
inline constexpr std::int64_t kMostConfig = 1 << 20;

// Keys that are missing have the values that transformers takes; old and new
// spellings are read. UsageError naming `path` and the key for what a model of
// Quire cannot be. `warnings` gets what is taken otherwise than written.
// side_files stays empty.
Description parse_config(std::string_view text, const std::string& path,
                         std::vector<std::string>& warnings);

// The text of a config.json of `dtype` weights, with the keys that old and new
// versions of transformers read. parse_config has the same description of it.
// UsageError if no family has the options.
std::string config_text(const Description& description, DType dtype);

// The family that says these options: `wanted` if it does, else the first of
// llama, mistral, qwen2, qwen3 that does. UsageError if none does.
std::string family_of(const models::Options& options,
                      std::string_view wanted = {});

}  // namespace quire::convert
