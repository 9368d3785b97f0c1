// Memory that ranks share: a memfd between processes, reserved before use so
// that a later write cannot fail (no SIGBUS), or plain memory between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "quire/core/descriptor.h"
#include "quire/core/tensor.h"

namespace quire::comm::local {

// A mapping of zero bytes, unmapped when it dies.
class Memory {
 public:
  // Each throws SystemError naming the bytes.
  // Seen by this process only.
  static std::shared_ptr<Memory> anonymous(std::int64_t bytes);
  // Can be opened by other processes while the descriptor is open; nothing is
  // reserved.
  static std::shared_ptr<Memory> create(std::int64_t bytes);
  // What another process created, by the path of its descriptor. SystemError
  // too if it is smaller than `bytes`.
  static std::shared_ptr<Memory> open(const std::string& path,
                                      std::int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_.number(); }
  void close_descriptor() { descriptor_.reset(); }
  // Takes the pages of [begin, begin + bytes) now.
  void reserve(std::int64_t begin, std::int64_t bytes) const;

 private:
  Memory(std::byte* data, std::int64_t bytes, Descriptor descriptor)
      : data_(data), bytes_(bytes), descriptor_(std::move(descriptor)) {}
  static std::shared_ptr<Memory> map(std::int64_t bytes, Descriptor descriptor);

  std::byte* data_;
  std::int64_t bytes_;
  Descriptor descriptor_;  // not open: anonymous, or closed
};

// One rank's storage over memory that the ranks of a world may share.
class SharedStorage final : public Storage {
 public:
  struct Options {
    std::shared_ptr<Memory> memory;
    std::int64_t bytes;
    std::shared_ptr<const void> world;  // null: private to this rank
    std::int64_t id;  // of the allocation in its world, from 1
  };
  explicit SharedStorage(Options options)
      : Storage(options.memory->data(), options.bytes, Device::kCpu),
        options_(std::move(options)) {}
  const void* world() const { return options_.world.get(); }
  std::int64_t id() const { return options_.id; }

 private:
  Options options_;
};

// "/proc/PID/fd/NUMBER": readable by the same user on the same host.
std::string descriptor_path(std::int64_t pid, std::int64_t number);

}  // namespace quire::comm::local
