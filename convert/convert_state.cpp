#include <fmt/format.h>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/export.h"
#include "quire/convert/convert.h"
#include "quire/convert/detail/options.h"
#include "quire/convert/detail/output.h"
#include "quire/convert/detail/side_files.h"
#include "quire/core/error.h"
#include "quire/core/tensor.h"

namespace quire::convert {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ExportedParameter;
using checkpoint::ExportedState;
using checkpoint::ExportRequest;

void check_state(const ConvertOptions& options) {
  check(options);
  if (options.to != Format::kQuire)
    throw UsageError(
        fmt::format("{} carries parameters only; expected --to quire for a "
                    "checkpoint's whole state",
                    name_of(options.to)));
  if (options.dtype)
    throw UsageError(
        "a whole state stays in the types in which it was saved; leave the "
        "type out");
}

std::vector<ExportedParameter> parameters_of(
    const checkpoint::Manifest& manifest) {
  std::vector<ExportedParameter> parameters;
  for (const auto& held : manifest.parameters) {
    parameters.push_back({.name = held.name,
                          .shape = held.shape,
                          .trainable = held.trainable,
                          .states = {}});
    for (const auto& state : held.states)
      parameters.back().states.push_back({state.kind, state.dtype});
  }
  return parameters;
}

std::int64_t bytes_in(const std::vector<ExportedParameter>& parameters) {
  std::int64_t bytes = 0;
  for (const auto& parameter : parameters)
    for (const auto& state : parameter.states)
      bytes += bytes_of(state.dtype, parameter.shape);
  return bytes;
}

Checkpoint open_state(const std::string& from) {
  if (format_of(from) != Format::kQuire)
    throw UsageError(fmt::format(
        "{} is no checkpoint of Quire; only those have a whole state", from));
  return Checkpoint::open(from);
}

// All but how values are read.
ExportRequest request_of(const checkpoint::Manifest& manifest, int shards) {
  return {.parameters = parameters_of(manifest),
          .read = {},
          .shards = shards,
          .progress = manifest.progress,
          .config = manifest.config,
          .kernels = manifest.kernels,
          .notes = manifest.notes};
}

Converted write_state(const Checkpoint& saved, const std::string& folder,
                      const ExportRequest& request) {
  if (checkpoint::export_checkpoint(folder, request) !=
      saved.manifest().fingerprint())
    throw SystemError(fmt::format("{} changed while it was read; start again",
                                  saved.folder()));
  copy_side_files(side_files(saved.folder()), folder);
  return {.parameters = std::ssize(request.parameters),
          .bytes = bytes_in(request.parameters),
          .warnings = saved.skipped()};
}

}  // namespace

Converted convert_state(const std::string& from, const std::string& out,
                        const ConvertOptions& options,
                        const ConvertProgress& progress) {
  check_state(options);
  const Checkpoint saved = open_state(from);
  ExportRequest request = request_of(saved.manifest(), options.shards);
  const std::int64_t total = bytes_in(request.parameters);
  std::int64_t given = 0;
  request.read = [&](const ExportedParameter& parameter,
                     const ExportedState& state, std::int64_t first,
                     std::span<std::byte> out) {
    saved.load(state.kind, parameter.name, first,
               tensor_over(out.data(), state.dtype,
                           {std::ssize(out) / size_of(state.dtype)}, nullptr));
    given += std::ssize(out);
    if (progress) progress(given, total);
  };
  Output output(out, Output::Kind::kFolder, total);
  return output.made_by(
      [&] { return write_state(saved, output.path(), request); });
}

}  // namespace quire::convert
