#include "quire/comm/local/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "quire/core/file_io.h"

namespace quire::comm::local {
namespace {

[[noreturn]] void throw_system(std::string_view what, std::int64_t bytes) {
  throw SystemError(fmt::format("cannot {} {} bytes of shared memory: {}", what,
                                bytes, reason_of(errno)));
}

std::byte* map_pages(std::int64_t bytes, int flags, int descriptor) {
  void* data = mmap(nullptr, static_cast<std::size_t>(bytes),
                    PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (data == MAP_FAILED) throw_system("map", bytes);
  // Where the system offers huge pages; otherwise it does nothing.
  madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

}  // namespace

std::shared_ptr<Memory> Memory::map(std::int64_t bytes, Descriptor descriptor) {
  std::byte* data = map_pages(bytes, MAP_SHARED, descriptor.number());
  return std::shared_ptr<Memory>(
      new Memory(data, bytes, std::move(descriptor)));
}

std::shared_ptr<Memory> Memory::anonymous(std::int64_t bytes) {
  bytes = std::max<std::int64_t>(1, bytes);
  std::byte* data = map_pages(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  return std::shared_ptr<Memory>(new Memory(data, bytes, Descriptor()));
}

std::shared_ptr<Memory> Memory::create(std::int64_t bytes) {
  bytes = std::max<std::int64_t>(1, bytes);
  Descriptor descriptor(memfd_create("quire", MFD_CLOEXEC));
  if (!descriptor.is_open() || ftruncate(descriptor.number(), bytes) != 0) {
    throw_system("create", bytes);
  }
  return map(bytes, std::move(descriptor));
}

std::shared_ptr<Memory> Memory::open(const std::string& path,
                                     std::int64_t bytes) {
  bytes = std::max<std::int64_t>(1, bytes);
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!descriptor.is_open()) {
    throw SystemError(fmt::format("cannot open the shared memory {}: {}", path,
                                  reason_of(errno)));
  }
  struct stat status {};
  if (fstat(descriptor.number(), &status) != 0 || status.st_size < bytes) {
    throw SystemError(
        fmt::format("the shared memory {} has {} bytes; expected {}", path,
                    static_cast<std::int64_t>(status.st_size), bytes));
  }
  return map(bytes, std::move(descriptor));
}

Memory::~Memory() { munmap(data_, static_cast<std::size_t>(bytes_)); }

void Memory::reserve(std::int64_t begin, std::int64_t bytes) const {
  if (!descriptor_.is_open() || bytes == 0) return;
  int result = 0;
  do {
    result = fallocate(descriptor_.number(), 0, begin, bytes);
  } while (result != 0 && errno == EINTR);
  if (result != 0) throw_system("reserve", bytes);
}

std::string descriptor_path(std::int64_t pid, std::int64_t number) {
  return fmt::format("/proc/{}/fd/{}", pid, number);
}

}  // namespace quire::comm::local
