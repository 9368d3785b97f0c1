#include "quire/train/detail/fingerprint.h"

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"

namespace quire::train {
namespace {

struct TensorKey {
  int parameter;
  std::string kind;

  auto operator<=>(const TensorKey&) const = default;
};
// Tiles' hashes by the first element of their range.
using Ranges = std::map<std::int64_t, std::vector<std::uint64_t>>;
using Tensors = std::map<TensorKey, Ranges>;

// Of a record: what follows it is the kind and the hashes.
struct RecordHead {
  std::int64_t parameter;
  std::int64_t first;
  std::uint64_t kind_bytes;
  std::uint64_t tiles;
};

void append(std::string& text, const void* data, std::size_t bytes) {
  text.append(static_cast<const char*>(data), bytes);
}

std::string records_of(const engine::Engine& engine) {
  std::string text;
  for (const engine::StateRange& range : engine.owned_state()) {
    const auto hashes = checkpoint::tile_hashes(
        {range.data.raw(), static_cast<std::size_t>(range.data.bytes())},
        size_of(range.data.dtype()));
    const RecordHead head{range.parameter, range.first, range.kind.size(),
                          hashes.size()};
    append(text, &head, sizeof(head));
    append(text, range.kind.data(), range.kind.size());
    append(text, hashes.data(), hashes.size() * sizeof(hashes[0]));
  }
  return text;
}

// Takes bytes off the front.
std::string_view take(std::string_view& text, std::uint64_t bytes) {
  if (bytes > text.size())
    throw SystemError("a peer's hashes end within a record");
  const std::string_view taken = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return taken;
}

void read_records(std::string_view text, Tensors& tensors) {
  while (!text.empty()) {
    RecordHead head{};
    std::memcpy(&head, take(text, sizeof(head)).data(), sizeof(head));
    const std::string kind(take(text, head.kind_bytes));
    if (head.tiles > text.size() / sizeof(std::uint64_t))
      throw SystemError("a peer's hashes end within a record");
    std::vector<std::uint64_t> hashes(head.tiles);
    const auto bytes = take(text, head.tiles * sizeof(std::uint64_t));
    std::memcpy(hashes.data(), bytes.data(), bytes.size());
    tensors[{static_cast<int>(head.parameter), kind}][head.first] =
        std::move(hashes);
  }
}

std::uint64_t hash_of(const Ranges& ranges) {
  Hasher hasher;
  for (const auto& [first, hashes] : ranges)
    checkpoint::add_tiles(hasher, hashes);
  return hasher.digest();
}

std::uint64_t fingerprint_of(const Tensors& tensors, const nn::Model& model) {
  checkpoint::Manifest manifest;
  for (const nn::ParameterInfo& parameter : model.parameters()) {
    manifest.parameters.push_back({.name = parameter.name,
                                   .shape = parameter.shape,
                                   .trainable = parameter.trainable,
                                   .states = {}});
  }
  for (const auto& [key, ranges] : tensors) {
    manifest.parameters.at(static_cast<std::size_t>(key.parameter))
        .states.push_back({.kind = key.kind,
                           .dtype = DType::kF32,
                           .hash = hash_of(ranges),
                           .parts = {}});
  }
  return manifest.fingerprint();
}

}  // namespace

std::uint64_t fingerprint(const RankState& state) {
  Tensors tensors;
  for (const std::string& records :
       state.together->texts(records_of(*state.engine)))
    read_records(records, tensors);
  return fingerprint_of(tensors, *state.model);
}

}  // namespace quire::train
