#include "tests/checkpoint/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>

namespace quire::test {
namespace {

using Kind = DiskCall::Kind;

struct Watched {
  std::string folder;
  DiskWatcher* watcher;
};
std::atomic<Watched*> watched = nullptr;

// Below the watched folder; none if it is elsewhere, or nothing is watched.
std::optional<std::string> place_of(const std::string& path) {
  const Watched* all = watched;
  if (all == nullptr || !path.starts_with(all->folder)) return std::nullopt;
  const std::string rest = path.substr(all->folder.size());
  if (rest.empty()) return rest;
  if (rest[0] != '/') return std::nullopt;
  return rest.substr(1);
}

std::string path_of(int descriptor) {
  std::array<char, 512> path;
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t count = readlink(link.c_str(), path.data(), path.size());
  return count > 0 ? std::string(path.data(), static_cast<std::size_t>(count))
                   : "";
}

std::string path_at(int folder, const char* path) {
  if (folder == AT_FDCWD || path[0] == '/') return path;
  return path_of(folder) + "/" + path;
}

// make(): the system call, -1 for a failure. Nothing here changes errno after
// it.
template <class Make>
long told(DiskCall call, const Make& make) {
  DiskWatcher& watcher = *watched.load()->watcher;
  if (const int error = watcher.before(call); error != 0) {
    errno = error;
    return -1;
  }
  const long result = make();
  if (result < 0) return result;
  const int error = errno;
  if (call.kind == Kind::kWrite)
    call.data.resize(static_cast<std::size_t>(result));
  watcher.after(call);
  errno = error;
  return result;
}

long write_watched(int descriptor, const void* from, std::size_t bytes,
                   std::int64_t offset) {
  const auto place =
      watched == nullptr ? std::nullopt : place_of(path_of(descriptor));
  const bool here = offset < 0;  // where the descriptor stands
  const auto make = [&] {
    return here ? syscall(SYS_write, descriptor, from, bytes)
                : syscall(SYS_pwrite64, descriptor, from, bytes, offset);
  };
  if (!place) return make();
  if (here) offset = lseek(descriptor, 0, SEEK_CUR);
  return told({.kind = Kind::kWrite,
               .path = *place,
               .offset = offset,
               .data = std::string(static_cast<const char*>(from), bytes)},
              make);
}

long sync_watched(int descriptor, long number) {
  const auto make = [&] { return syscall(number, descriptor); };
  const auto place =
      watched == nullptr ? std::nullopt : place_of(path_of(descriptor));
  if (!place) return make();
  struct stat status {};
  const bool folder =
      fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
  return told(
      {.kind = folder ? Kind::kSyncFolder : Kind::kSync, .path = *place}, make);
}

long rename_watched(const std::string& from, const std::string& to,
                    unsigned flags) {
  const auto make = [&] {
    return syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                   flags);
  };
  const auto place = place_of(from);
  const auto target = place_of(to);
  if (!place || !target) return make();
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  return told({.kind = exchange ? Kind::kExchange : Kind::kRename,
               .path = *place,
               .to = *target},
              make);
}

// Of what is not there, nobody is told.
template <class Make>
long remove_watched(const std::string& path, const Make& make) {
  const auto place = place_of(path);
  if (!place || faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW))
    return make();
  return told({.kind = Kind::kRemove, .path = *place}, make);
}

long open_watched(int folder, const char* path, int flags, mode_t mode) {
  const auto make = [&] {
    return syscall(SYS_openat, folder, path, flags, mode);
  };
  const auto place = (flags & O_CREAT) == 0 || watched == nullptr
                         ? std::nullopt
                         : place_of(path_at(folder, path));
  if (!place) return make();
  return told({.kind = Kind::kCreate, .path = *place}, make);
}

}  // namespace

std::string to_string(const DiskCall& call) {
  constexpr std::array kNames = {"make folder", "create", "write",    "sync",
                                 "sync folder", "rename", "exchange", "remove"};
  return std::string(kNames[static_cast<std::size_t>(call.kind)]) + " " +
         (call.to.empty() ? call.path : call.to);
}

DiskWatch::DiskWatch(const std::string& folder, DiskWatcher& watcher) {
  watched = new Watched{folder, &watcher};
}
DiskWatch::~DiskWatch() { delete watched.exchange(nullptr); }

// ---- the log: records in shared memory, each a head and its texts

struct DiskLog::Memory {
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  struct Head {
    std::size_t path, to, data;
    std::int64_t offset;
    int rank;
    Kind kind;
  };

  std::atomic<std::size_t> used;
  std::byte records[kBytes];
};

DiskLog::DiskLog() {
  void* memory = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  memory_ = static_cast<Memory*>(memory);  // zeros are an empty log
}
DiskLog::~DiskLog() { munmap(memory_, sizeof(Memory)); }

void DiskLog::add(const DiskCall& call) {
  const Memory::Head head{.path = call.path.size(),
                          .to = call.to.size(),
                          .data = call.data.size(),
                          .offset = call.offset,
                          .rank = call.rank,
                          .kind = call.kind};
  const std::string text = call.path + call.to + call.data;
  const std::size_t at = memory_->used.fetch_add(sizeof(head) + text.size());
  if (at + sizeof(head) + text.size() > Memory::kBytes)
    throw std::runtime_error("the log of calls is full");
  std::memcpy(memory_->records + at, &head, sizeof(head));
  std::memcpy(memory_->records + at + sizeof(head), text.data(), text.size());
}

std::vector<DiskCall> DiskLog::calls() const {
  std::vector<DiskCall> calls;
  const std::byte* at = memory_->records;
  const auto take = [&](std::size_t bytes) {
    std::string text(reinterpret_cast<const char*>(at), bytes);
    at += bytes;
    return text;
  };
  while (at < memory_->records + memory_->used) {
    Memory::Head head;
    std::memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    DiskCall call{.kind = head.kind, .path = take(head.path)};
    call.to = take(head.to);
    call.data = take(head.data);
    call.offset = head.offset;
    call.rank = head.rank;
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace quire::test

// In the place of the C library's in this program.
extern "C" {

ssize_t write(int descriptor, const void* from, size_t bytes) {
  return quire::test::write_watched(descriptor, from, bytes, -1);
}
ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t offset) {
  return quire::test::write_watched(descriptor, from, bytes, offset);
}

int fsync(int descriptor) {
  return static_cast<int>(quire::test::sync_watched(descriptor, SYS_fsync));
}
int fdatasync(int descriptor) {
  return static_cast<int>(quire::test::sync_watched(descriptor, SYS_fdatasync));
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return static_cast<int>(
      quire::test::open_watched(AT_FDCWD, path, flags, mode));
}
int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return static_cast<int>(quire::test::open_watched(folder, path, flags, mode));
}

int mkdir(const char* path, mode_t mode) noexcept {
  using quire::test::DiskCall;
  const auto make = [&] { return syscall(SYS_mkdir, path, mode); };
  const auto place = quire::test::place_of(path);
  if (!place) return static_cast<int>(make());
  return static_cast<int>(quire::test::told(
      {.kind = DiskCall::Kind::kMakeFolder, .path = *place}, make));
}

int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(quire::test::rename_watched(from, to, 0));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return static_cast<int>(
      quire::test::rename_watched(quire::test::path_at(from_folder, from),
                                  quire::test::path_at(to_folder, to), flags));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return static_cast<int>(quire::test::remove_watched(
      quire::test::path_at(folder, path),
      [&] { return syscall(SYS_unlinkat, folder, path, flags); }));
}
int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
int remove(const char* path) noexcept {
  struct stat status {};
  const bool folder = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
  return unlinkat(AT_FDCWD, path, folder ? AT_REMOVEDIR : 0);
}
}
