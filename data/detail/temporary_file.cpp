#include "quire/data/detail/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::data {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 1000;

[[noreturn]] void refuse_existing(const std::string& path) {
  throw UsageError(fmt::format(
      "{} exists and is not overwritten; remove it or name another", path));
}

// A disk or a table of the system that is full may have room again; a place
// where nobody may write stays one.
[[noreturn]] void fail_to_create(const std::string& path, int error) {
  constexpr std::array kOfSystem = {ENOSPC, EDQUOT, EMFILE,
                                    ENFILE, ENOMEM, EIO};
  if (std::ranges::find(kOfSystem, error) != kOfSystem.end())
    throw_system_error(path, "written", error);
  throw UsageError(
      fmt::format("{} cannot be written: {}; give a folder in which you may "
                  "make files",
                  path, reason_of(error)));
}

std::string temporary_name(const fs::path& path, int attempt) {
  return (path.parent_path() / fmt::format(".{}.{}-{}",
                                           path.filename().string(), ::getpid(),
                                           attempt))
      .string();
}

// Plain rename where the file system cannot refuse by itself.
void rename_unless_exists(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_NOREPLACE) == 0)
    return;
  if (errno == EEXIST) refuse_existing(to);
  if (errno != EINVAL && errno != ENOSYS)
    throw_system_error(to, "written", errno);
  std::error_code ignored;
  if (fs::exists(to, ignored)) refuse_existing(to);
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw_system_error(to, "written", errno);
}

}  // namespace

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary_ = temporary_name(path_, attempt);
    file_ = Descriptor(::open(temporary_.c_str(),
                              O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file_.is_open()) return;
    if (errno != EEXIST) break;
  }
  fail_to_create(path_, errno);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      bytes_(other.bytes_) {}

void TemporaryFile::append(std::span<const std::byte> bytes) {
  write_at(bytes_, bytes);
  bytes_ += static_cast<std::int64_t>(bytes.size());
}

void TemporaryFile::write_at(std::int64_t offset,
                             std::span<const std::byte> bytes) {
  quire::write_at(file_, path_, offset, bytes);
}

void TemporaryFile::sync() {
  if (::fsync(file_.number()) != 0) throw_system_error(path_, "synced", errno);
  file_.reset();
}

void TemporaryFile::publish(const std::string& path, Existing existing) {
  if (existing == Existing::kRefuse)
    rename_unless_exists(temporary_, path);
  else if (::rename(temporary_.c_str(), path.c_str()) != 0)
    throw_system_error(path, "written", errno);
  temporary_.clear();
}

void TemporaryFile::remove() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void sync_folder_of(const std::string& path) {
  const auto parent = fs::path(path).parent_path();
  sync_folder(parent.empty() ? "." : parent.string());
}

}  // namespace quire::data
