#include "quire/checkpoint/verify.h"

#include <fmt/format.h>

#include <set>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/shard/part_reader.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::checkpoint {
namespace {

constexpr std::int64_t kMostConfig = std::int64_t{64} << 20;

class Verifier {
 public:
  explicit Verifier(std::string folder) : folder_(std::move(folder)) {}

  std::vector<Damage> run() {
    guarded(kManifestName, [&] { manifest_ = read_manifest(folder_); });
    if (!damage_.empty()) return std::move(damage_);
    guarded("", [&] { check_name(folder_, manifest_); });
    guarded(kConfigName, [&] { check_config(); });
    for (std::size_t i = 0; i < manifest_.files.size(); ++i)
      guarded(manifest_.files[i].name,
              [&] { check_file(static_cast<int>(i)); });
    for (const auto& parameter : manifest_.parameters)
      for (const auto& state : parameter.states) check_tensor(parameter, state);
    return std::move(damage_);
  }

 private:
  // True if it throws nothing. `opened`: the name of a file that may not be
  // open to us, or "".
  template <class Fn>
  bool guarded(std::string_view opened, const Fn& fn) {
    try {
      fn();
      return true;
    } catch (const UsageError& error) {
      report(!opened.empty() && is_forbidden(joined(folder_, opened))
                 ? Damage::Kind::kForbidden
                 : Damage::Kind::kFormat,
             error.what());
    } catch (const FileError& error) {
      // Once, of whichever of its tensors.
      if (unread_.insert(error.what()).second)
        report(Damage::Kind::kUnread, error.what());
    } catch (const SystemError& error) {
      report(Damage::Kind::kHash, error.what());
    }
    return false;
  }

  void report(Damage::Kind kind, std::string message) {
    damage_.push_back({kind, std::move(message)});
  }

  void check_config() const {
    const std::string path = joined(folder_, kConfigName);
    if (read_text(path, kMostConfig) != config_text(manifest_.config))
      throw UsageError(path +
                       " is not, byte for byte, the configuration in the "
                       "manifest: it was changed; resuming reads the manifest");
  }

  // No tensor but those of the manifest.
  void check_file(int index) {
    unusable_.insert(index);  // unless the next line gets past
    const auto& file = shards_.get(folder_, manifest_, index);
    unusable_.erase(index);
    std::set<std::string> known;
    for (const auto& parameter : manifest_.parameters)
      for (const auto& state : parameter.states)
        for (const auto& part : state.parts)
          if (part.file == index) {
            known.insert(tensor_name(state.kind, parameter.name));
            known.insert(tiles_name(state.kind, parameter.name));
          }
    for (const auto& entry : file.entries())
      if (!known.contains(entry.name))
        throw UsageError(fmt::format(
            "{}: holds the tensor \"{}\", which the manifest does not list",
            file.path(), entry.name));
  }

  void check_tensor(const ManifestParameter& parameter,
                    const ManifestState& state) {
    Hasher whole;
    bool all = true;
    for (const auto& part : state.parts) {
      if (unusable_.contains(part.file))
        all = false;
      else if (!guarded("", [&] {
                 check_part({state.kind, parameter.name}, state, part, whole);
               }))
        all = false;
    }
    if (all && whole.digest() != state.hash)
      report(Damage::Kind::kHash,
             fmt::format("{}: {} has not the hash that the manifest says",
                         folder_, tensor_name(state.kind, parameter.name)));
  }

  void check_part(const PartName& name, const ManifestState& state,
                  const ManifestPart& part, Hasher& whole) {
    const auto stored = find_part(shards_.get(folder_, manifest_, part.file),
                                  name, state, part);
    const auto tiles = checked_tiles(stored);
    PartReader(stored, tiles).check([&](std::string message) {
      report(Damage::Kind::kHash, std::move(message));
    });
    add_tiles(whole, tiles);
  }

  std::string folder_;
  Manifest manifest_;
  std::vector<Damage> damage_;
  OpenShards shards_;
  std::set<std::string> unread_;  // what was said of files
  std::set<int> unusable_;        // reported, and not read
};

}  // namespace

std::vector<Damage> verify(const std::string& path) {
  return Verifier(step_or_newest(path)).run();
}

}  // namespace quire::checkpoint
