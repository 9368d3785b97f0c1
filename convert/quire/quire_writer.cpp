#include <algorithm>

#include "quire/checkpoint/export.h"
#include "quire/convert/detail/side_files.h"
#include "quire/convert/detail/values.h"
#include "quire/convert/detail/writers.h"
#include "quire/convert/quire/model_section.h"
#include "quire/convert/quire/notes.h"

namespace quire::convert {
namespace {

using checkpoint::ExportedParameter;
using checkpoint::ExportedState;

std::vector<ExportedParameter> exported(const Weights& weights,
                                        const ConvertOptions& options) {
  std::vector<ExportedParameter> parameters;
  for (const auto& held : weights.parameters())
    parameters.push_back(
        {.name = held.name,
         .shape = held.shape,
         .trainable = true,
         .states = {{.kind = "value", .dtype = written_dtype(options, held)}}});
  return parameters;
}

}  // namespace

Converted write_quire(const Weights& weights, const std::string& folder,
                      const ConvertOptions& options,
                      const ConvertProgress& progress) {
  ValueStream values(weights, options, progress);
  const auto read = [&](const ExportedParameter& parameter,
                        const ExportedState& state, std::int64_t first,
                        std::span<std::byte> out) {
    auto at = out.begin();
    values.give(stored(weights, parameter.name),
                {first, std::ssize(out) / size_of(state.dtype)}, state.dtype,
                [&](std::span<const std::byte> bytes) {
                  at = std::ranges::copy(bytes, at).out;
                });
  };
  checkpoint::export_checkpoint(
      folder, {.parameters = exported(weights, options),
               .read = read,
               .shards = options.shards,
               .config = model_section_of(weights.description().options),
               .notes = notes_of(weights.description())});
  copy_side_files(weights.description().side_files, folder);
  return {.parameters = std::ssize(weights.parameters()),
          .bytes = written_bytes(weights, options),
          .warnings = values.warnings()};
}

}  // namespace quire::convert
