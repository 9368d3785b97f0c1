#include "quire/checkpoint/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <random>
#include <system_error>
#include <utility>

#include "quire/core/bytes.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::checkpoint {
namespace {

namespace fs = std::filesystem;

// One system call moves at most this much, so that an observer is heard often.
constexpr std::size_t kMostAtOnce = std::size_t{8} << 20;

// The disk begins while the next bytes come.
constexpr std::int64_t kMostUnstarted = std::int64_t{8} << 20;
constexpr std::int64_t kMostUnsynced = std::int64_t{256} << 20;
constexpr int kAttempts = 100;

void tell(const FileObserver& observer, std::string_view operation,
          const std::string& path) {
  if (observer) observer(operation, path);
}

[[noreturn]] void refuse_open(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR)
    throw UsageError(
        fmt::format("{} does not exist; restore it or name another", path));
  if (error == ELOOP)
    throw UsageError(fmt::format(
        "{} is a symbolic link; expected a regular file in this folder", path));
  if (error == ENAMETOOLONG)
    throw UsageError(fmt::format("{} is too long for a path", path));
  if (error == EACCES || error == EPERM)
    throw UsageError(
        fmt::format("{} cannot be opened: {}", path, reason_of(error)));
  throw_system_error(path, "opened", error);
}

// Not the disk's.
bool is_fault_of_path(int error) {
  constexpr std::array kFaults = {EACCES, EEXIST,  ELOOP, ENAMETOOLONG,
                                  ENOENT, ENOTDIR, EPERM, EROFS};
  return std::ranges::find(kFaults, error) != kFaults.end();
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

std::string joined(std::string_view folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

File File::open(const std::string& path, Links links) {
  const int refuse = links == Links::kRefuse ? O_NOFOLLOW : 0;
  Descriptor descriptor(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | refuse));
  if (!descriptor.is_open()) refuse_open(path, errno);
  File file(std::move(descriptor), path, {});
  struct stat status;
  if (::fstat(file.descriptor_.number(), &status) != 0)
    throw_system_error(path, "opened", errno);
  if (!S_ISREG(status.st_mode))
    throw UsageError(fmt::format("{} is no regular file", path));
  file.bytes_ = status.st_size;
  return file;
}

File File::create(const std::string& path, FileObserver observer) {
  tell(observer, "create", path);
  Descriptor descriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor.is_open()) throw_system_error(path, "created", errno);
  return File(std::move(descriptor), path, std::move(observer));
}

void File::read(std::int64_t offset, std::span<std::byte> out) const {
  const std::size_t got = read_at(descriptor_, path_, offset, out);
  if (got == out.size()) return;
  throw SystemError(
      fmt::format("{} ends at byte {}; it had {} bytes when it was opened",
                  path_, offset + static_cast<std::int64_t>(got), bytes_));
}

void File::will_read(std::int64_t offset, std::int64_t bytes) const {
  // Advice: a system that does not take it reads when it is asked to.
  ::posix_fadvise(descriptor_.number(), offset, bytes, POSIX_FADV_WILLNEED);
}

void File::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    tell(observer_, "write", path_);
    const auto count = ::write(descriptor_.number(), bytes.data(),
                               std::min(bytes.size(), kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error(path_, "written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    bytes_ += count;
    unsynced_ += count;
    unstarted_ += count;
    if (unstarted_ >= kMostUnstarted) start_writing();
    if (unsynced_ >= kMostUnsynced) sync();
  }
}

void File::skip(std::int64_t bytes) {
  if (::lseek(descriptor_.number(), bytes, SEEK_CUR) < 0)
    throw_system_error(path_, "written", errno);
  unstarted_ += bytes;
  bytes_ += bytes;
}

void File::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    tell(observer_, "write", path_);
    const auto count = ::pwrite(descriptor_.number(), bytes.data(),
                                std::min(bytes.size(), kMostAtOnce), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error(path_, "written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

void File::start_writing() {
  // Advice: what fails here fails when it is synced.
  ::sync_file_range(descriptor_.number(), bytes_ - unstarted_, unstarted_,
                    SYNC_FILE_RANGE_WRITE);
  unstarted_ = 0;
}

void File::sync() {
  tell(observer_, "sync", path_);
  if (::fsync(descriptor_.number()) != 0)
    throw_system_error(path_, "synced", errno);
  unsynced_ = unstarted_ = 0;
}

std::string read_text(const std::string& path, std::int64_t most) {
  const File file = File::open(path, File::Links::kFollow);
  if (file.bytes() > most)
    throw UsageError(fmt::format("{} has {} bytes; expected at most {}", path,
                                 file.bytes(), most));
  std::string text(static_cast<std::size_t>(file.bytes()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_text(const std::string& path, std::string_view text,
                const FileObserver& observer) {
  File file = File::create(path, observer);
  file.append(std::as_bytes(std::span(text)));
  file.sync();
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void make_folders(const std::string& path, const FileObserver& observer) {
  if (is_folder(path)) return;
  tell(observer, "make folder", path);
  std::error_code error;
  fs::create_directories(path, error);
  if (error && is_fault_of_path(error.value())) {
    throw UsageError(fmt::format("{} cannot be made: {}; name another folder",
                                 path, error.message()));
  }
  if (error) throw_system_error(path, "made", error.value());
}

std::string make_temporary_folder(const std::string& folder,
                                  std::string_view name,
                                  const FileObserver& observer) {
  std::random_device random;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string path =
        joined(folder, fmt::format(".{}.tmp-{:08x}", name, random()));
    tell(observer, "make folder", path);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) throw_system_error(path, "made", errno);
  }
  throw_system_error(folder, "given a temporary folder", EEXIST);
}

bool publish_folder(const std::string& from, const std::string& to,
                    const FileObserver& observer) {
  tell(observer, "rename", to);
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_NOREPLACE) == 0)
    return false;
  if (errno == EINVAL || errno == ENOSYS) {  // not known to this file system
    if (::rename(from.c_str(), to.c_str()) == 0) return false;
  }
  if (errno != EEXIST && errno != ENOTEMPTY)
    throw_system_error(to, "published", errno);
  tell(observer, "exchange", to);
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_EXCHANGE) != 0)
    throw_system_error(to, "replaced", errno);
  return true;
}

void rename_path(const std::string& from, const std::string& to,
                 const FileObserver& observer) {
  tell(observer, "rename", to);
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw_system_error(from, "renamed", errno);
}

void remove_folder(const std::string& path, const FileObserver& observer) {
  tell(observer, "remove", path);
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_system_error(path, "removed", error.value());
}

void sync_folder(const std::string& path, const FileObserver& observer) {
  tell(observer, "sync", path);
  quire::sync_folder(path);
}

std::optional<std::int64_t> free_bytes(const std::string& folder) {
  struct statvfs status;
  if (::statvfs(folder.c_str(), &status) != 0)
    throw_system_error(folder, "asked for its free space", errno);
  if (status.f_blocks == 0) return std::nullopt;
  const auto most =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t block = std::max<std::uint64_t>(status.f_frsize, 1);
  const auto blocks = std::min<std::uint64_t>(status.f_bavail, most / block);
  return static_cast<std::int64_t>(blocks * block);
}

void require_space(const std::string& folder, std::int64_t bytes,
                   const FreeSpace& free) {
  const auto available = free ? free(folder) : free_bytes(folder);
  if (!available || *available >= bytes) return;
  throw SystemError(fmt::format(
      "{} has {} bytes ({}) free; {} bytes ({}) are to be written: remove "
      "what is not needed (older checkpoints, for instance) or name a folder "
      "on another disk",
      folder, *available, format_bytes(*available), bytes,
      format_bytes(bytes)));
}

}  // namespace quire::checkpoint
