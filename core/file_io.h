// Reads and writes of open files that finish what they begin: what a signal
// interrupts is repeated, what comes in pieces is put together. Every failure
// is a FileError "NAME cannot be WHAT: why", where `name` is what messages call
// the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "quire/core/descriptor.h"
#include "quire/core/error.h"

namespace quire {

// The system failed to do something with a file; of its bytes nothing is known.
class FileError : public SystemError {
 public:
  using SystemError::SystemError;
};

// Bytes from `offset` on until `out` is full or the file ends; returns how
// many.
std::size_t read_at(const Descriptor& file, std::string_view name,
                    std::int64_t offset, std::span<std::byte> out);
// All of `bytes`, from `offset` on.
void write_at(const Descriptor& file, std::string_view name,
              std::int64_t offset, std::span<const std::byte> bytes);

// Renames and removals in the folder are on the disk.
void sync_folder(const std::string& path);

// The system does not let this user read it, whatever else is wrong.
bool is_forbidden(const std::string& path);

// What the system calls an errno: "No space left on device".
std::string reason_of(int error);
// "NAME cannot be WHAT: " and the reason of `error`, an errno.
[[noreturn]] void throw_system_error(std::string_view name,
                                     std::string_view what, int error);

}  // namespace quire
