#include "tools/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/convert/weights.h"
#include "quire/core/hash.h"
#include "quire/core/tensor.h"
#include "tools/opened.h"

namespace quire::tools {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Manifest;
using checkpoint::ManifestParameter;
using checkpoint::ManifestState;
using checkpoint::SafetensorsFile;

std::vector<std::int64_t> extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

Json summary_of(const Checkpoint& saved) {
  const Manifest& manifest = saved.manifest();
  std::int64_t elements = 0, bytes = 0;
  for (const auto& parameter : manifest.parameters)
    elements += parameter.shape.numel();
  for (const auto& file : manifest.files) bytes += file.bytes;
  return {{"format", "quire"},
          {"path", saved.folder()},
          {"step", manifest.progress.step},
          {"updates", manifest.progress.updates},
          {"position", manifest.progress.position},
          {"seed", manifest.progress.seed},
          {"ranks", manifest.ranks},
          {"parameters", manifest.parameters.size()},
          {"elements", elements},
          {"bytes", bytes},
          {"fingerprint", to_hex(manifest.fingerprint())},
          {"kernels", to_hex(manifest.kernels)}};
}

Json files_of(const Manifest& manifest) {
  Json files = Json::array();
  for (const auto& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  return files;
}

ListedTensor tensor_of(const Checkpoint& saved,
                       const ManifestParameter& parameter,
                       const ManifestState& state) {
  ListedTensor tensor{
      .name = checkpoint::tensor_name(state.kind, parameter.name),
      .place = parameter.name,
      .dtype = std::string(name_of(state.dtype)),
      .type = std::string(checkpoint::safetensors_dtype(state.dtype)),
      .shape = extents_of(parameter.shape),
      .elements = parameter.shape.numel(),
      .bytes = bytes_of(state.dtype, parameter.shape),
      .hash = to_hex(state.hash),
      .held = {},
      .read = {}};
  for (const auto& part : state.parts)
    tensor.held.push_back(
        {saved.manifest().files[static_cast<std::size_t>(part.file)].name,
         part.first, part.count});
  tensor.read = [&saved, &parameter, &state](std::int64_t first,
                                             std::span<std::byte> out) {
    saved.load(state.kind, parameter.name, first,
               tensor_over(out.data(), state.dtype,
                           {std::ssize(out) / size_of(state.dtype)}, nullptr));
  };
  return tensor;
}

ListedTensor tensor_of(const SafetensorsFile& file,
                       const checkpoint::SafetensorsEntry& entry) {
  return {
      .name = entry.name,
      .place = entry.name,
      .dtype = entry.dtype,
      .type = entry.dtype,
      .shape = entry.shape,
      .elements = entry.numel,
      .bytes = entry.end - entry.begin,
      .hash = "",
      .held = {{file.path(), 0, entry.numel}},
      .read = [&file, &entry](std::int64_t first, std::span<std::byte> out) {
        const std::int64_t width = (entry.end - entry.begin) / entry.numel;
        file.read(entry, first, std::ssize(out) / width, out);
      }};
}

std::vector<std::string> warnings_of_strangers(const std::string& path) {
  const auto strangers = strangers_in(path);
  if (strangers.empty()) return {};
  return {fmt::format("not of the model in {}: {}", path,
                      fmt::join(strangers, ", "))};
}

}  // namespace

Listing list_checkpoint(const std::string& path) {
  auto saved = std::make_shared<Checkpoint>(Checkpoint::open(path));
  Listing listing{.summary = summary_of(*saved),
                  .files = files_of(saved->manifest()),
                  .tensors = {},
                  .warnings = saved->skipped(),
                  .source = saved};
  for (const auto& parameter : saved->manifest().parameters)
    for (const auto& state : parameter.states)
      listing.tensors.push_back(tensor_of(*saved, parameter, state));
  return listing;
}

Listing list_safetensors(const std::string& path) {
  auto files = std::make_shared<std::vector<SafetensorsFile>>();
  const auto open = std::make_shared<checkpoint::OpenFiles>();
  for (const std::string& file : safetensors_files(path))
    files->emplace_back(file, checkpoint::File::Links::kFollow, open);
  Listing listing{.summary = {},
                  .files = Json::array(),
                  .tensors = {},
                  .warnings = warnings_of_strangers(path),
                  .source = files};
  std::int64_t elements = 0, bytes = 0;
  for (const SafetensorsFile& file : *files) {
    listing.files.push_back({{"name", file.path()},
                             {"bytes", file.bytes()},
                             {"metadata", Json(file.metadata())}});
    bytes += file.bytes();
    for (const auto& entry : file.entries()) {
      elements += entry.numel;
      listing.tensors.push_back(tensor_of(file, entry));
    }
  }
  listing.summary = {{"format", "safetensors"},
                     {"path", path},
                     {"parameters", listing.tensors.size()},
                     {"elements", elements},
                     {"bytes", bytes}};
  return listing;
}

Listing list_llmc(const std::string& path) {
  const std::shared_ptr<const convert::Weights> weights =
      convert::open_weights(path);
  Listing listing{.summary = {},
                  .files = Json::array(),
                  .tensors = {},
                  .warnings = {},
                  .source = std::const_pointer_cast<convert::Weights>(weights)};
  std::int64_t elements = 0, bytes = 0;
  for (const auto& parameter : weights->parameters()) {
    const std::int64_t numel = parameter.shape.numel();
    elements += numel;
    bytes += bytes_of(parameter.dtype, parameter.shape);
    listing.tensors.push_back(
        {.name = parameter.name,
         .place = parameter.name,
         .dtype = std::string(name_of(parameter.dtype)),
         .type = std::string(checkpoint::safetensors_dtype(parameter.dtype)),
         .shape = extents_of(parameter.shape),
         .elements = numel,
         .bytes = bytes_of(parameter.dtype, parameter.shape),
         .hash = "",
         .held = {{path, 0, numel}},
         .read = [&weights = *weights, &parameter](std::int64_t first,
                                                   std::span<std::byte> out) {
           weights.read(parameter.name, first, out);
         }});
  }
  listing.summary = {{"format", "llmc"},
                     {"path", path},
                     {"parameters", listing.tensors.size()},
                     {"elements", elements},
                     {"bytes", bytes}};
  return listing;
}

}  // namespace quire::tools
