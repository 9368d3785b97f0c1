#include "tools/result_file.h"

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <span>

#include "quire/core/file_io.h"

namespace quire::tools {
namespace {

constexpr std::string_view kName = "the result of rank 0";

}  // namespace

ResultFile::ResultFile()
    : descriptor_(memfd_create("quire-result", MFD_CLOEXEC)) {
  if (!descriptor_.is_open()) throw_system_error(kName, "passed on", errno);
}

// The JSON is one line; the text follows.
void ResultFile::write(const Result& result) const {
  const std::string bytes = result.json + "\n" + result.text;
  write_at(descriptor_, kName, 0, std::as_bytes(std::span(bytes)));
}

Result ResultFile::read() const {
  std::string bytes;
  std::array<char, 1 << 16> block;
  for (std::size_t count = block.size(); count == block.size();) {
    count = read_at(descriptor_, kName, std::ssize(bytes),
                    std::as_writable_bytes(std::span(block)));
    bytes.append(block.data(), count);
  }
  const auto line = bytes.find('\n');
  if (line == std::string::npos) return {};
  return {.json = bytes.substr(0, line), .text = bytes.substr(line + 1)};
}

}  // namespace quire::tools
