#include "tools/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::tools {
namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;

}  // namespace

TextFile::TextFile(const std::string& path) : path_(path) {
  std::error_code error;
  bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (!error) stream_.open(path, std::ios::binary);  // a pipe would wait
  if (error || !stream_) {
    throw UsageError(fmt::format("{} cannot be read: {}; expected a text", path,
                                 error ? error.message() : reason_of(errno)));
  }
}

std::string TextFile::next() {
  std::string block(kBlockBytes, '\0');
  stream_.read(block.data(), kBlockBytes);
  if (stream_.bad()) throw_system_error(path_, "read", errno);
  block.resize(static_cast<std::size_t>(stream_.gcount()));
  return block;
}

}  // namespace quire::tools
