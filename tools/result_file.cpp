#include "tools/result_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "quire/core/error.h"

namespace quire::tools {
namespace {

[[noreturn]] void fail(const char* what) {
  throw SystemError(fmt::format("the result of rank 0 cannot be {}: {}", what,
                                std::strerror(errno)));
}

}  // namespace

ResultFile::ResultFile()
    : descriptor_(memfd_create("quire-result", MFD_CLOEXEC)) {
  if (!descriptor_.is_open()) fail("passed on");
}

// The JSON is one line; the text follows.
void ResultFile::write(const Result& result) const {
  const std::string bytes = result.json + "\n" + result.text;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::write(descriptor_.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR) fail("written");
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

Result ResultFile::read() const {
  std::string bytes;
  std::array<char, 1 << 16> block;
  for (;;) {
    const ssize_t count = pread(descriptor_.number(), block.data(),
                                block.size(), static_cast<off_t>(bytes.size()));
    if (count < 0 && errno != EINTR) fail("read");
    if (count == 0) break;
    if (count > 0) bytes.append(block.data(), static_cast<std::size_t>(count));
  }
  const auto line = bytes.find('\n');
  if (line == std::string::npos) return {};
  return {.json = bytes.substr(0, line), .text = bytes.substr(line + 1)};
}

}  // namespace quire::tools
