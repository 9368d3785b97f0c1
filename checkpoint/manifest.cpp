#include "quire/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "quire/checkpoint/files.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "quire/core/tile.h"

namespace quire::checkpoint {
namespace {

constexpr std::string_view kTilesKind = "tiles";

// What a manifest is checked against, and how far the check has come.
class Checker {
 public:
  Checker(const Manifest& manifest, const std::string& source)
      : manifest_(manifest), source_(source) {}

  void run() const {
    require(manifest_.progress.step >= 0 && manifest_.progress.updates >= 0 &&
                manifest_.progress.position >= 0,
            "step, updates and position are at least 0");
    require(manifest_.ranks >= 1, "ranks is at least 1");
    check_files();
    std::set<std::string_view> names;
    for (const auto& parameter : manifest_.parameters) {
      require(!parameter.name.empty() && names.insert(parameter.name).second,
              fmt::format("parameter \"{}\": names are not empty and unique",
                          parameter.name));
      check_states(parameter);
    }
  }

 private:
  void require(bool holds, std::string_view rule) const {
    if (!holds)
      throw UsageError(fmt::format("{} breaks a rule: {}", source_, rule));
  }

  void check_files() const {
    std::set<std::string_view> names;
    for (const auto& file : manifest_.files)
      require(is_plain_name(file.name) && names.insert(file.name).second,
              fmt::format(
                  "files: {:?}: names are plain and unique, without folders",
                  file.name));
  }

  void check_states(const ManifestParameter& parameter) const {
    std::string_view before;
    for (const auto& state : parameter.states) {
      const auto name = tensor_name(state.kind, parameter.name);
      require(!state.kind.empty() && state.kind != kTilesKind &&
                  state.kind.find(':') == std::string::npos &&
                  state.kind > before,
              fmt::format("{}: kinds are sorted, unique, without ':' and not "
                          "\"tiles\"",
                          name));
      before = state.kind;
      check_parts(name, state, parameter.shape.numel());
    }
  }

  void check_parts(const std::string& name, const ManifestState& state,
                   std::int64_t numel) const {
    std::set<int> files;
    std::int64_t end = 0;
    for (const auto& part : state.parts) {
      require(part.file >= 0 &&
                  part.file < static_cast<int>(manifest_.files.size()) &&
                  files.insert(part.file).second,
              name + ": every part lies in a file of its own that is listed");
      require(
          part.first == end && part.first % kTile == 0 && part.count > 0 &&
              part.count <= numel - part.first,
          fmt::format("{}: got the part [{}, {} + {}) of {} elements; "
                      "parts follow one another without hole or overlap "
                      "and start on multiples of {}",
                      name, part.first, part.first, part.count, numel, kTile));
      end = part.first + part.count;
    }
    require(end == numel, fmt::format("{}: the parts cover {} of {} elements",
                                      name, end, numel));
  }

  const Manifest& manifest_;
  const std::string& source_;
};

}  // namespace

std::string tensor_name(std::string_view kind, std::string_view parameter) {
  return fmt::format("{}:{}", kind, parameter);
}

std::string tiles_name(std::string_view kind, std::string_view parameter) {
  return fmt::format("{}:{}:{}", kTilesKind, kind, parameter);
}

const ManifestState* ManifestParameter::find(std::string_view kind) const {
  const auto found = std::ranges::find(states, kind, &ManifestState::kind);
  return found == states.end() ? nullptr : &*found;
}

const ManifestState* ManifestParameter::value() const {
  const ManifestState* master = find("master");
  return master != nullptr ? master : find("value");
}

const ManifestParameter* Manifest::find(std::string_view parameter) const {
  const auto found =
      std::ranges::find(parameters, parameter, &ManifestParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

std::uint64_t Manifest::fingerprint() const {
  using Item = std::tuple<std::string_view, std::string_view, std::uint64_t>;
  std::vector<Item> items;
  for (const auto& parameter : parameters)
    for (const auto& state : parameter.states)
      items.emplace_back(state.kind, parameter.name, state.hash);
  std::ranges::sort(items);
  constexpr std::string_view kEnd("\0", 1);
  Hasher hasher;
  for (const auto& [kind, name, hash] : items) {
    hasher.add(kind);
    hasher.add(kEnd);
    hasher.add(name);
    hasher.add(kEnd);
    hasher.add(hash);
  }
  return hasher.digest();
}

void check(const Manifest& manifest, const std::string& source) {
  Checker(manifest, source).run();
}

}  // namespace quire::checkpoint
