#include <fmt/format.h>

#include <filesystem>

#include "quire/checkpoint/files.h"
#include "quire/convert/dcp/shards.h"
#include "quire/convert/detail/contained.h"
#include "quire/convert/detail/side_files.h"
#include "quire/convert/detail/sources.h"
#include "quire/convert/huggingface/config.h"
#include "quire/convert/huggingface/foreign_weights.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

constexpr const char* kConfig = "config.json";

bool has_config(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint::joined(folder, kConfig), ignored);
}

// The folder's own counts before the one that was named.
std::string config_text_of(const std::string& folder,
                           const std::string& config) {
  if (has_config(folder))
    return checkpoint::read_text(contained(folder, kConfig, folder),
                                 kMostConfig);
  if (config.empty())
    throw UsageError(fmt::format(
        "{} holds the shards of a distributed checkpoint and no {}, which says "
        "what model they make; put it beside them, or name it to quire convert "
        "with --config FILE",
        folder, kConfig));
  return checkpoint::read_text(config, kMostConfig);
}

}  // namespace

std::unique_ptr<const Weights> open_dcp(const std::string& folder,
                                        const OpenOptions& options) {
  ForeignModel model{.format = Format::kDcp,
                     .path = folder,
                     .config = has_config(folder)
                                   ? checkpoint::joined(folder, kConfig)
                                   : options.config};
  const std::string text = config_text_of(folder, options.config);
  model.description = parse_config(text, model.config, model.warnings);
  model.description.side_files = side_files(folder);
  model.tensors = open_shards(folder);
  return match(std::move(model), options);
}

}  // namespace quire::convert
