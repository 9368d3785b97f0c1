#include "quire/convert/detail/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// A dangling link is there, too.
void require_absent(const std::string& path) {
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() == fs::file_type::not_found)
    return;
  throw UsageError(fmt::format(
      "{} is there already; expected a name that is free: remove it or name "
      "another",
      path));
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  if (folder.empty()) return ".";
  if (!checkpoint::is_folder(folder))
    throw UsageError(fmt::format(
        "{} is no folder; expected one that {} can be made in", folder, path));
  return folder;
}

// Before a word about its space: what is read-only is mostly full, too.
void require_writable(const std::string& folder) {
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw UsageError(
      fmt::format("{} cannot be written into: {}; name another folder", folder,
                  std::error_code(errno, std::generic_category()).message()));
}

// Without a lock where somebody else has it or the file system has none.
Descriptor lock_folder(const std::string& path) {
  Descriptor folder(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open() || ::flock(folder.number(), LOCK_EX | LOCK_NB) != 0)
    return Descriptor(-1);
  return folder;
}

// What conversions to the same place left that were killed.
void remove_leftovers(const std::string& folder, const std::string& name) {
  const std::string start = fmt::format(".{}.tmp-", name);
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string each = entry.path().filename().string();
    if (each.starts_with(start) && each.size() == start.size() + 8)
      found.push_back(entry.path().string());
  }
  for (const std::string& each : found)
    if (const Descriptor held = lock_folder(each); held.is_open())
      fs::remove_all(each, ignored);
}

}  // namespace

Output::Output(const std::string& path, Kind kind, std::int64_t bytes)
    : place_(without_slashes(path)) {
  require_absent(place_);
  const std::string name = fs::path(place_).filename().string();
  if (!checkpoint::is_plain_name(name))
    throw UsageError(fmt::format(
        "got \"{}\"; expected the name of what is to be made", path));
  beside_ = folder_of(place_);
  require_writable(beside_);
  remove_leftovers(beside_, name);
  checkpoint::require_space(beside_, bytes);
  temporary_ = checkpoint::make_temporary_folder(beside_, name, {});
  held_ = lock_folder(temporary_);
  inside_ =
      kind == Kind::kFolder ? temporary_ : checkpoint::joined(temporary_, name);
}

Output::~Output() {
  if (temporary_.empty()) return;
  try {
    checkpoint::remove_folder(temporary_, {});
  } catch (const std::exception&) {
    // A name with a dot stays behind.
  }
}

FileError Output::of_place(const FileError& error) const {
  if (temporary_.empty()) return error;  // it stands in its place
  std::string message = error.what();
  if (const auto at = message.find(inside_); at != std::string::npos)
    message.replace(at, inside_.size(), place_);
  return FileError(message + "; nothing is left of what was written");
}

void Output::publish() {
  checkpoint::sync_folder(temporary_, {});
  if (checkpoint::publish_folder(inside_, place_, {})) {
    checkpoint::publish_folder(inside_, place_, {});  // back again
    require_absent(place_);
  }
  if (inside_ == temporary_)
    temporary_.clear();
  else
    checkpoint::remove_folder(temporary_, {});
  temporary_.clear();
  checkpoint::sync_folder(beside_, {});
}

}  // namespace quire::convert
