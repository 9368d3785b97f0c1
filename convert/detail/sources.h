// One reader for every format; open_weights picks it by format_of.
#pragma once

#include <memory>
#include <string>

#include "quire/convert/weights.h"

namespace quire::convert {

// All throw what open_weights throws.
std::unique_ptr<const Weights> open_hugging_face(const std::string& folder,
                                                 const OpenOptions& options);
std::unique_ptr<const Weights> open_dcp(const std::string& folder,
                                        const OpenOptions& options);
std::unique_ptr<const Weights> open_quire(const std::string& folder,
                                          const OpenOptions& options);
// The file has its model's parameters and nothing else, whatever is asked for.
std::unique_ptr<const Weights> open_llmc(const std::string& file);

}  // namespace quire::convert
