// manifest.json as text, both ways.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::checkpoint {
namespace {

using Out = nlohmann::ordered_json;

constexpr std::string_view kFormat = "quire-checkpoint";
constexpr std::int64_t kMostText = std::int64_t{256} << 20;
constexpr std::int64_t kMostRanks = 1 << 20;

// The end of the text: what stands before it is what the checksum is of.
std::string ending(std::uint64_t checksum) {
  return fmt::format(" \"checksum\": \"{}\"\n}}\n", to_hex(checksum));
}

Out to_json(const ManifestState& state) {
  Out parts = Out::array();
  for (const auto& part : state.parts)
    parts.push_back({{"file", part.file},
                     {"first", part.first},
                     {"count", part.count},
                     {"hash", to_hex(part.hash)}});
  return {{"kind", state.kind},
          {"dtype", name_of(state.dtype)},
          {"hash", to_hex(state.hash)},
          {"parts", std::move(parts)}};
}

Out to_json(const ManifestParameter& parameter) {
  Out shape = Out::array();
  for (const std::int64_t dim : parameter.shape.extents()) shape.push_back(dim);
  Out states = Out::array();
  for (const auto& state : parameter.states) states.push_back(to_json(state));
  return {{"name", parameter.name},
          {"shape", std::move(shape)},
          {"trainable", parameter.trainable},
          {"states", std::move(states)}};
}

Out to_json(const Manifest& manifest) {
  Out files = Out::array();
  for (const auto& file : manifest.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"header_checksum", to_hex(file.header_checksum)}});
  Out parameters = Out::array();
  for (const auto& parameter : manifest.parameters)
    parameters.push_back(to_json(parameter));
  return {{"format", kFormat},
          {"version", kFormatVersion},
          {"step", manifest.progress.step},
          {"updates", manifest.progress.updates},
          {"position", manifest.progress.position},
          {"seed", manifest.progress.seed},
          {"fingerprint", to_hex(manifest.fingerprint())},
          {"kernels", to_hex(manifest.kernels)},
          {"ranks", manifest.ranks},
          {"config", Out::parse(manifest.config)},
          {"notes", manifest.notes},
          {"files", std::move(files)},
          {"parameters", std::move(parameters)}};
}

std::uint64_t hash_at(const Json& json) {
  try {
    return parse_hex(json.string());
  } catch (const UsageError&) {
    json.refuse("16 hexadecimal digits");
  }
}

Shape shape_at(const Json& json) {
  std::vector<std::int64_t> extents;
  for (const Json& dim : json.items()) extents.push_back(dim.integer());
  try {
    return Shape(std::span<const std::int64_t>(extents));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", json.where(), error.what()));
  }
}

DType dtype_at(const Json& json) {
  try {
    return parse_dtype(json.string());
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", json.where(), error.what()));
  }
}

ManifestState state_at(const Json& json) {
  ManifestState state{.kind = json.at("kind").string(),
                      .dtype = dtype_at(json.at("dtype")),
                      .hash = hash_at(json.at("hash")),
                      .parts = {}};
  for (const Json& part : json.at("parts").items())
    state.parts.push_back(
        {.file = static_cast<int>(part.at("file").integer(0, kMostRanks)),
         .first = part.at("first").integer(),
         .count = part.at("count").integer(1),
         .hash = hash_at(part.at("hash"))});
  return state;
}

ManifestParameter parameter_at(const Json& json) {
  ManifestParameter parameter{.name = json.at("name").string(),
                              .shape = shape_at(json.at("shape")),
                              .trainable = json.at("trainable").boolean(),
                              .states = {}};
  for (const Json& state : json.at("states").items())
    parameter.states.push_back(state_at(state));
  return parameter;
}

Manifest manifest_at(const Json& json) {
  Manifest manifest;
  manifest.progress = {.step = json.at("step").integer(),
                       .updates = json.at("updates").integer(),
                       .position = json.at("position").integer(),
                       .seed = json.at("seed").unsigned_integer()};
  json.at("config").members();  // an object
  manifest.config = json.at("config").text();
  manifest.kernels = hash_at(json.at("kernels"));
  manifest.ranks = static_cast<int>(json.at("ranks").integer(1, kMostRanks));
  for (const auto& [key, note] : json.at("notes").members())
    manifest.notes[key] = note.string();
  for (const Json& file : json.at("files").items())
    manifest.files.push_back(
        {.name = file.at("name").string(),
         .bytes = file.at("bytes").integer(),
         .header_checksum = hash_at(file.at("header_checksum"))});
  for (const Json& parameter : json.at("parameters").items())
    manifest.parameters.push_back(parameter_at(parameter));
  return manifest;
}

void check_ending(std::string_view text, const std::string& source) {
  const std::size_t size = ending(0).size();
  const bool whole =
      text.size() > size &&
      text.ends_with(ending(hash64(text.substr(0, text.size() - size))));
  if (!whole)
    throw UsageError(
        source +
        " does not end with the checksum of what it says: it was cut short or "
        "changed; use another step");
}

void check_format(const Json& json) {
  if (json.at("format").string() != kFormat)
    json.at("format").refuse(fmt::format("\"{}\"", kFormat));
  const auto version = json.at("version").integer(1);
  if (version != kFormatVersion)
    throw UsageError(fmt::format(
        "{}: got version {}; this build reads version {}; use the build that "
        "wrote it, or a newer one",
        json.where(), version, kFormatVersion));
}

}  // namespace

std::string config_text(const std::string& config) {
  return Json::parse(config, "the configuration").text() + "\n";
}

std::string to_text(const Manifest& manifest) {
  check(manifest, std::string(kManifestName));
  Json::parse(manifest.config, "the configuration").members();
  std::string text;
  try {
    text = to_json(manifest).dump(1);
  } catch (const nlohmann::json::exception&) {
    throw UsageError("a name, kind or note of the checkpoint is no UTF-8");
  }
  text.resize(text.size() - 2);  // the last "\n}"
  text += ",\n";
  return text + ending(hash64(text));
}

Manifest parse_manifest(std::string_view text, const std::string& source) {
  check_ending(text, source);
  const Json json = Json::parse(text, source);
  check_format(json);
  Manifest manifest = manifest_at(json);
  check(manifest, source);
  if (hash_at(json.at("fingerprint")) != manifest.fingerprint())
    json.at("fingerprint").refuse(to_hex(manifest.fingerprint()));
  return manifest;
}

Manifest read_manifest(const std::string& folder) {
  const std::string path = joined(folder, kManifestName);
  return parse_manifest(read_text(path, kMostText), path);
}

}  // namespace quire::checkpoint
