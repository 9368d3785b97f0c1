// A file that comes into being under a temporary name beside its final one, and
// takes that name when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "quire/core/descriptor.h"

namespace quire::data {

// The calls match: append* [write_at*] sync publish. Dies without publish: the
// file is removed. Failures name `path`: a folder where no file can be made is
// a UsageError, what a disk does a SystemError. Move-only.
class TemporaryFile {
 public:
  // Creates ".NAME.PID-N" in the folder of `path`, which must exist.
  explicit TemporaryFile(std::string path);
  ~TemporaryFile() { remove(); }
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  void append(std::span<const std::byte> bytes);
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // Everything written is on the disk; the file is closed.
  void sync();

  enum class Existing { kRefuse, kReplace };
  // Renames to `path`. With kRefuse an existing file of that name stays as it
  // is and a UsageError is thrown.
  void publish(const std::string& path, Existing existing);

 private:
  void remove() noexcept;

  std::string path_;
  std::string temporary_;  // empty: published or moved from
  Descriptor file_;
  std::int64_t bytes_ = 0;
};

// Makes renames and removals in the folder of `path` durable.
void sync_folder_of(const std::string& path);

}  // namespace quire::data
