#include "quire/core/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace quire {

std::size_t read_at(const Descriptor& file, std::string_view name,
                    std::int64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto count =
        ::pread(file.number(), out.data() + done, out.size() - done,
                offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error(name, "read", errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void write_at(const Descriptor& file, std::string_view name,
              std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count =
        ::pwrite(file.number(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error(name, "written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

void sync_folder(const std::string& path) {
  const Descriptor folder(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder, and need not.
  if (!folder.is_open() || (::fsync(folder.number()) != 0 && errno != EINVAL))
    throw_system_error(path, "synced", errno);
}

bool is_forbidden(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 &&
         (errno == EACCES || errno == EPERM);
}

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

void throw_system_error(std::string_view name, std::string_view what,
                        int error) {
  throw FileError(
      fmt::format("{} cannot be {}: {}", name, what, reason_of(error)));
}

}  // namespace quire
