// The parts of reading a config.json.
#pragma once

#include <string>
#include <vector>

#include "quire/convert/huggingface/config_keys.h"
#include "quire/convert/huggingface/families.h"
#include "quire/models/options.h"

namespace quire::convert {

models::Gpt2Options read_gpt2(ConfigKeys& keys,
                              std::vector<std::string>& warnings);
models::LlamaOptions read_llama(ConfigKeys& keys, const Family& family,
                                std::vector<std::string>& warnings);
// From rope_parameters (new), rope_theta and rope_scaling (old), or both.
nn::RotaryOptions read_rotary(ConfigKeys& keys, std::int64_t context);
// 0: none. `layers` of them.
std::int64_t read_window(ConfigKeys& keys, const Family& family,
                         std::int64_t layers);

}  // namespace quire::convert
