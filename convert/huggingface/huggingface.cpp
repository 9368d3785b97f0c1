#include <fmt/format.h>

#include <memory>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/contained.h"
#include "quire/convert/detail/side_files.h"
#include "quire/convert/detail/sources.h"
#include "quire/convert/detail/weight_files.h"
#include "quire/convert/huggingface/config.h"
#include "quire/convert/huggingface/foreign_weights.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

constexpr const char* kConfig = "config.json";

// Weights alone do not say of which model they are.
void require_config(const std::string& folder) {
  if (stands(checkpoint::joined(folder, kConfig))) return;
  throw UsageError(fmt::format(
      "{} holds safetensors and no {}, which says what model they make: copy "
      "it there from where they come",
      folder, kConfig));
}

// Keeps the files open as long as the tensor can be read.
ForeignTensor tensor_of(const std::shared_ptr<const WeightFiles>& files,
                        const WeightFiles::Weight& weight) {
  const auto& entry = *weight.entry;
  return {
      .name = entry.name,
      .file = weight.file->path(),
      .dtype = entry.dtype,
      .type = entry.type,
      .shape = entry.shape,
      .read = [files, weight](std::int64_t first, std::span<std::byte> out) {
        const std::int64_t width = size_of(weight.entry->type.value());
        weight.file->read(*weight.entry, first,
                          static_cast<std::int64_t>(out.size()) / width, out);
      }};
}

}  // namespace

std::unique_ptr<const Weights> open_hugging_face(const std::string& folder,
                                                 const OpenOptions& options) {
  require_config(folder);
  ForeignModel model{.format = Format::kHuggingFace,
                     .path = folder,
                     .config = checkpoint::joined(folder, kConfig)};
  const std::string config = contained(folder, kConfig, folder);
  model.description = parse_config(checkpoint::read_text(config, kMostConfig),
                                   model.config, model.warnings);
  model.description.side_files = side_files(folder);
  const auto files = std::make_shared<const WeightFiles>(folder);
  for (const auto& [name, weight] : files->weights())
    model.tensors.push_back(tensor_of(files, weight));
  model.warnings.insert(model.warnings.end(), files->warnings().begin(),
                        files->warnings().end());
  return match(std::move(model), options);
}

}  // namespace quire::convert
