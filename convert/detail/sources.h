// One reader for every format; open_weights picks it by format_of.
#pragma once

#include <memory>
#include <string>

#include "quire/convert/weights.h"

namespace quire::convert {

// All throw what open_weights throws.
std::unique_ptr<const Weights> open_hugging_face(const std::string& folder);
// `config`: a config.json, used if the folder has none; may be empty.
std::unique_ptr<const Weights> open_dcp(const std::string& folder,
                                        const std::string& config);
std::unique_ptr<const Weights> open_quire(const std::string& folder);
std::unique_ptr<const Weights> open_llmc(const std::string& file);

}  // namespace quire::convert
