#include "quire/data/detail/tokenizer_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <span>

#include "quire/core/descriptor.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::data {
namespace {

// Not blocking, so that a pipe is refused rather than waited for.
Descriptor open_to_read(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open()) return file;
  throw UsageError(
      fmt::format("{} cannot be opened: {}; expected a file of a "
                  "tokenizer",
                  path, reason_of(errno)));
}

std::int64_t bytes_of(const Descriptor& file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0)
    throw_system_error(path, "read", errno);
  if (S_ISREG(status.st_mode) && status.st_size > 0 &&
      status.st_size <= kMostTokenizerBytes)
    return status.st_size;
  throw UsageError(fmt::format(
      "{} is no regular file or has {} bytes; expected a file of a tokenizer "
      "with 1 to {}",
      path, status.st_size, kMostTokenizerBytes));
}

}  // namespace

std::string read_tokenizer_file(const std::string& path) {
  const Descriptor file = open_to_read(path);
  std::string text(static_cast<std::size_t>(bytes_of(file, path)), '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  const std::size_t got = read_at(file, path, 0, bytes);
  if (got == text.size()) return text;
  throw SystemError(fmt::format("{} has {} bytes where {} were at opening",
                                path, got, text.size()));
}

}  // namespace quire::data
