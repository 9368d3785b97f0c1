#include "quire/convert/detail/contained.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "quire/checkpoint/files.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end())
             .first == folder.end();
}

// A folder of the hub's cache that was copied without its blobs is full of
// links.
[[noreturn]] void refuse_absent(const std::string& path,
                                const std::string& said_by) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  if (error)
    throw UsageError(
        fmt::format("{} does not exist; {} names it", path, said_by));
  throw UsageError(fmt::format(
      "{} is a link to {}, which does not exist; expected the file: copy a "
      "folder of links with what they lead to (cp -rL)",
      path, target.string()));
}

}  // namespace

bool stands(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool holds(const std::string& folder, std::string_view name) {
  return stands(checkpoint::joined(folder, name));
}

bool stays_in(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) return false;
  const fs::path home = fs::canonical(folder, error);
  const bool cached = home.parent_path().filename() == "snapshots";
  const fs::path blobs = home.parent_path().parent_path() / "blobs";
  return !error &&
         (lies_in(target, home) || (cached && lies_in(target, blobs)));
}

std::string contained(const std::string& folder, const std::string& name,
                      const std::string& said_by) {
  if (!checkpoint::is_plain_name(name))
    throw UsageError(
        fmt::format("{}: {:?} is no plain file name; expected one in this "
                    "folder",
                    said_by, name));
  const std::string path = checkpoint::joined(folder, name);
  std::error_code error;
  if (!fs::exists(path, error)) refuse_absent(path, said_by);
  if (!stays_in(path, folder))
    throw UsageError(fmt::format(
        "{} is a link out of its folder; expected a file in it: copy what it "
        "leads to there",
        path));
  return fs::canonical(path, error).string();
}

}  // namespace quire::convert
