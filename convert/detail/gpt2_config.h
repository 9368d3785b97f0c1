// config.json of a GPT-2.
#pragma once

#include <string>
#include <vector>

#include "quire/models/gpt2.h"

namespace quire::convert {

// UsageError naming file and key; `warnings` gets what is taken otherwise than
// written.
models::Gpt2Options read_gpt2_config(const std::string& path,
                                     std::vector<std::string>& warnings);

}  // namespace quire::convert
