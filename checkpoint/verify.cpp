#include "quire/checkpoint/verify.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/shard/part_reader.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

constexpr std::int64_t kMostConfig = std::int64_t{64} << 20;

std::string step_to_verify(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(joined(path, kManifestName), ignored)) return path;
  const auto name = fs::path(path).filename().string();
  if (parse_step_name(name)) return path;
  const auto steps = list_steps(path);
  if (steps.empty())
    throw UsageError(path + " holds no checkpoint (step-NNNNNNNN)");
  return steps.back().path;
}

class Verifier {
 public:
  explicit Verifier(std::string folder) : folder_(std::move(folder)) {}

  std::vector<Damage> run() {
    guarded([&] { manifest_ = read_manifest(folder_); });
    if (!damage_.empty()) return std::move(damage_);
    guarded([&] { check_config(); });
    for (std::size_t i = 0; i < manifest_.files.size(); ++i)
      guarded([&] { check_file(static_cast<int>(i)); });
    for (const auto& parameter : manifest_.parameters)
      for (const auto& state : parameter.states)
        guarded([&] { check_tensor(parameter, state); });
    return std::move(damage_);
  }

 private:
  template <class Fn>
  void guarded(const Fn& fn) {
    try {
      fn();
    } catch (const UsageError& error) {
      damage_.push_back({Damage::Kind::kFormat, error.what()});
    } catch (const SystemError& error) {
      damage_.push_back({Damage::Kind::kHash, error.what()});
    }
  }

  void check_config() const {
    const std::string path = joined(folder_, kConfigName);
    const auto beside = Json::parse(read_text(path, kMostConfig), path).text();
    const auto own = Json::parse(manifest_.config, folder_).text();
    if (beside != own)
      throw UsageError(path + " is not the configuration in the manifest");
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
    for (const auto& part : state.parts) {
      if (unusable_.contains(part.file)) return;
      const auto stored = find_part(shards_.get(folder_, manifest_, part.file),
                                    {state.kind, parameter.name}, state, part);
      const PartReader reader(stored);
      reader.check([&](std::string message) {
        damage_.push_back({Damage::Kind::kHash, std::move(message)});
      });
      add_tiles(whole, reader.tiles());
    }
    if (whole.digest() != state.hash)
      throw SystemError(
          fmt::format("{}: {} has not the hash that the manifest says", folder_,
                      tensor_name(state.kind, parameter.name)));
  }

  std::string folder_;
  Manifest manifest_;
  std::vector<Damage> damage_;
  OpenShards shards_;
  std::set<int> unusable_;  // reported, and not read
};

// The state that holds a parameter's value.
const ManifestState* value_of(const ManifestParameter& parameter) {
  const auto* master = parameter.find("master");
  return master != nullptr ? master : parameter.find("value");
}

class Differences {
 public:
  Differences(const Checkpoint& a, const Checkpoint& b) : a_(a), b_(b) {}

  std::vector<std::string> run(Scope scope) {
    if (scope == Scope::kState) compare_progress();
    for (const auto& parameter : a_.manifest().parameters) {
      const auto* other = b_.manifest().find(parameter.name);
      if (other == nullptr)
        tell("{} is only in {}", parameter.name, a_.folder());
      else if (other->shape != parameter.shape)
        tell("{}: shape {} and {}", parameter.name, parameter.shape.to_string(),
             other->shape.to_string());
      else
        compare(parameter, *other, scope);
    }
    for (const auto& parameter : b_.manifest().parameters)
      if (a_.manifest().find(parameter.name) == nullptr)
        tell("{} is only in {}", parameter.name, b_.folder());
    return std::move(lines_);
  }

 private:
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void compare_progress() {
    const Progress& a = a_.manifest().progress;
    const Progress& b = b_.manifest().progress;
    if (a.step != b.step) tell("step: {} and {}", a.step, b.step);
    if (a.updates != b.updates)
      tell("updates: {} and {}", a.updates, b.updates);
    if (a.position != b.position)
      tell("position: {} and {}", a.position, b.position);
    if (a.seed != b.seed) tell("seed: {} and {}", a.seed, b.seed);
  }

  void compare(const ManifestParameter& a, const ManifestParameter& b,
               Scope scope) {
    if (scope == Scope::kValues) {
      compare(a.name, value_of(a), value_of(b));
      return;
    }
    std::set<std::string> kinds;
    for (const auto& state : a.states) kinds.insert(state.kind);
    for (const auto& state : b.states) kinds.insert(state.kind);
    for (const auto& kind : kinds)
      compare(tensor_name(kind, a.name), a.find(kind), b.find(kind));
  }

  void compare(const std::string& name, const ManifestState* a,
               const ManifestState* b) {
    if (a == nullptr && b == nullptr) return;
    if (a == nullptr || b == nullptr)
      tell("{} is only in {}", name, (b == nullptr ? a_ : b_).folder());
    else if (a->dtype != b->dtype)
      tell("{}: {} and {}", name, name_of(a->dtype), name_of(b->dtype));
    else if (a->hash != b->hash)
      tell("{}: the values differ: {} and {}", name, to_hex(a->hash),
           to_hex(b->hash));
  }

  const Checkpoint& a_;
  const Checkpoint& b_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<Damage> verify(const std::string& path) {
  return Verifier(step_to_verify(path)).run();
}

std::uint64_t fingerprint(const std::string& path) {
  return Checkpoint::open(path).manifest().fingerprint();
}

std::vector<std::string> compare(const std::string& a, const std::string& b,
                                 Scope scope) {
  const Checkpoint first = Checkpoint::open(a);
  const Checkpoint second = Checkpoint::open(b);
  return Differences(first, second).run(scope);
}

}  // namespace quire::checkpoint
