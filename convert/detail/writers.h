// One writer for every format; convert() picks it. `folder` exists and is
// empty, `file` does not exist; both are temporary, and convert() syncs the
// folder and renames. A writer syncs every file that it makes, side files among
// them if it makes a folder; what a failed one leaves, convert() removes.
#pragma once

#include <string>

#include "quire/convert/convert.h"

namespace quire::convert {

Converted write_hugging_face(const Weights& weights, const std::string& folder,
                             const ConvertOptions& options,
                             const ConvertProgress& progress);
Converted write_dcp(const Weights& weights, const std::string& folder,
                    const ConvertOptions& options,
                    const ConvertProgress& progress);
Converted write_quire(const Weights& weights, const std::string& folder,
                      const ConvertOptions& options,
                      const ConvertProgress& progress);
Converted write_llmc(const Weights& weights, const std::string& file,
                     const ConvertOptions& options,
                     const ConvertProgress& progress);
Converted write_gguf(const Weights& weights, const std::string& file,
                     const ConvertOptions& options,
                     const ConvertProgress& progress);

}  // namespace quire::convert
