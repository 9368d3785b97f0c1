// What a checkpoint folder holds: manifest.json, the last file that is written
// into it. docs/checkpoint_format.md has the layout.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quire/core/dtype.h"
#include "quire/core/shape.h"

namespace quire::checkpoint {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kConfigName = "resolved_config.json";
inline constexpr std::int64_t kFormatVersion = 1;

// One safetensors file, written by one rank.
struct ShardFile {
  std::string name;  // plain
  std::int64_t bytes;
  std::uint64_t header_checksum;
};

// Elements [first, first + count) of a tensor, as "KIND:PARAMETER" in a file;
// the hashes of its tiles are "tiles:KIND:PARAMETER" there.
struct ManifestPart {
  int file;            // index in Manifest::files
  std::int64_t first;  // a multiple of kTile
  std::int64_t count;  // up to a multiple of kTile, or the end
  std::uint64_t hash;  // of its tiles
};

// One kind of one parameter, of the parameter's shape.
struct ManifestState {
  std::string kind;  // "master", "value", or a state of the optimizer
  DType dtype;
  std::uint64_t hash;               // of all its tiles
  std::vector<ManifestPart> parts;  // every element once, in order
};

struct ManifestParameter {
  std::string name;
  Shape shape;
  bool trainable;
  std::vector<ManifestState> states;  // sorted by kind

  const ManifestState* find(std::string_view kind) const;
  // Of the parameter's value: its master, of which a value may be a rounding,
  // else its value; nullptr if it has neither.
  const ManifestState* value() const;
};

// How far a run has come.
struct Progress {
  std::int64_t step = 0;      // steps done
  std::int64_t updates = 0;   // accepted updates
  std::int64_t position = 0;  // samples consumed
  std::uint64_t seed = 0;

  friend bool operator==(const Progress&, const Progress&) = default;
};

struct Manifest {
  Progress progress;
  std::string config = "{}";  // the resolved configuration, a JSON object
  std::uint64_t kernels = 0;  // the arithmetic's fingerprint
  int ranks = 0;              // that wrote
  std::map<std::string, std::string> notes;  // the writer's own
  std::vector<ShardFile> files;
  std::vector<ManifestParameter> parameters;

  const ManifestParameter* find(std::string_view parameter) const;
  // XXH3-64 over every (kind, parameter, hash), sorted by kind, then parameter.
  std::uint64_t fingerprint() const;
};

// "KIND:PARAMETER", and "tiles:KIND:PARAMETER".
std::string tensor_name(std::string_view kind, std::string_view parameter);
std::string tiles_name(std::string_view kind, std::string_view parameter);

// Throws UsageError naming what breaks a rule of the format: names, kinds,
// ranges, counts. `source` is the file, for messages.
void check(const Manifest& manifest, const std::string& source);

// What resolved_config.json holds: the configuration, indented by two spaces.
std::string config_text(const std::string& config);

// The text of manifest.json, its own checksum last. REQUIRES: check() passes
// and config is a JSON object; else UsageError.
std::string to_text(const Manifest& manifest);
// The inverse, strict. UsageError naming file and key.
Manifest parse_manifest(std::string_view text, const std::string& source);
// Of the checkpoint in `folder`.
Manifest read_manifest(const std::string& folder);

}  // namespace quire::checkpoint
