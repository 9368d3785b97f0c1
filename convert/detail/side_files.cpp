#include "quire/convert/detail/side_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/contained.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;
using checkpoint::File;

constexpr std::array kNames = {"added_tokens.json",
                               "chat_template.jinja",
                               "chat_template.json",
                               "generation_config.json",
                               "merges.txt",
                               "special_tokens_map.json",
                               "tokenizer.json",
                               "tokenizer.model",
                               "tokenizer_config.json",
                               "vocab.json"};
constexpr std::int64_t kMost = std::int64_t{1} << 30;
constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;

void copy_file(const std::string& from, const std::string& to) {
  const File source = File::open(from, File::Links::kFollow);
  if (source.bytes() > kMost)
    throw UsageError(fmt::format("{} has {} bytes; expected at most {}", from,
                                 source.bytes(), kMost));
  File copy = File::create(to, {});
  std::vector<std::byte> block(kAtOnce);
  for (std::int64_t at = 0; at < source.bytes(); at += kAtOnce) {
    const auto part = std::span(block).first(
        static_cast<std::size_t>(std::min(kAtOnce, source.bytes() - at)));
    source.read(at, part);
    copy.append(part);
  }
  copy.sync();
}

}  // namespace

std::vector<std::string> side_files(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const char* name : kNames) {
    const fs::path path = checkpoint::joined(folder, name);
    if (fs::is_regular_file(path, ignored) && stays_in(path.string(), folder))
      found.push_back(path.string());
  }
  return found;
}

std::int64_t bytes_in(const std::vector<std::string>& files) {
  std::int64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

void copy_side_files(const std::vector<std::string>& files,
                     const std::string& folder) {
  for (const auto& file : files)
    copy_file(file,
              checkpoint::joined(folder, fs::path(file).filename().string()));
}

}  // namespace quire::convert
