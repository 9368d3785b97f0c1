#include "quire/data/token_paths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "quire/core/error.h"

namespace quire::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 6;

bool is_shard_name(std::string_view name, const fs::path& whole) {
  const std::string head = whole.stem().string() + "_";
  const std::string tail = whole.extension().string();
  if (name.size() != head.size() + kDigits + tail.size()) return false;
  if (!name.starts_with(head) || !name.ends_with(tail)) return false;
  return std::ranges::all_of(name.substr(head.size(), kDigits),
                             [](char c) { return c >= '0' && c <= '9'; });
}

// Owns what glob(3) allocates.
struct Matches {
  glob_t list = {};
  ~Matches() { ::globfree(&list); }
};

std::vector<std::string> matches_of(const std::string& pattern) {
  Matches matches;
  const int result =
      ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches.list);
  if (result == GLOB_NOMATCH) {
    throw UsageError(
        fmt::format("no token file matches {}; expected at least one; check "
                    "the path and the pattern",
                    pattern));
  }
  if (result != 0)
    throw SystemError(fmt::format("the folders of {} cannot be read", pattern));
  std::vector<std::string> paths(matches.list.gl_pathv,
                                 matches.list.gl_pathv + matches.list.gl_pathc);
  std::ranges::sort(paths);
  return paths;
}

void require_no_gap(const std::vector<std::string>& shards,
                    const std::string& path) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto expected = shard_path(path, static_cast<std::int64_t>(i) + 1);
    if (fs::path(shards[i]).filename() == fs::path(expected).filename())
      continue;
    throw UsageError(
        fmt::format("token file {} is missing among the shards of {}, which "
                    "reach {}; copy it or write them again",
                    expected, path, shards.back()));
  }
}

}  // namespace

std::string shard_path(const std::string& path, std::int64_t number) {
  if (number < 1 || number > kMaxShards) {
    throw UsageError(fmt::format("{} cannot have a shard {}; expected 1 to {}",
                                 path, number, kMaxShards));
  }
  const fs::path whole(path);
  return (whole.parent_path() / fmt::format("{}_{:06}{}", whole.stem().string(),
                                            number, whole.extension().string()))
      .string();
}

std::vector<std::string> existing_shards(const std::string& path) {
  const fs::path whole(path);
  const fs::path parent = whole.parent_path();
  std::vector<std::string> shards;
  std::error_code error;
  fs::directory_iterator entry(parent.empty() ? fs::path(".") : parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto name = entry->path().filename();
    if (is_shard_name(name.string(), whole))
      shards.push_back((parent / name).string());
  }
  std::ranges::sort(shards);
  return shards;
}

std::vector<std::string> find_token_files(const std::string& path) {
  std::error_code ignored;
  const bool exists = fs::exists(path, ignored);
  if (!exists && path.find_first_of("*?[") != std::string::npos)
    return matches_of(path);
  auto shards = existing_shards(path);
  if (exists && !shards.empty()) {
    throw UsageError(fmt::format(
        "both {} and its shard {} exist; remove what is out of date", path,
        shards.front()));
  }
  if (exists) return {path};
  if (shards.empty()) {
    throw UsageError(
        fmt::format("token file {} does not exist, nor does its first shard "
                    "{}; check the path, or write one with tokenize",
                    path, shard_path(path, 1)));
  }
  require_no_gap(shards, path);
  return shards;
}

}  // namespace quire::data
