#include "quire/data/token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::data {
namespace {

constexpr std::int64_t kBlockTokens = 4096;
constexpr std::int64_t kPassTokens = 1 << 16;

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw UsageError(fmt::format("token file {}: {}", path, what));
}

[[noreturn]] void refuse_open(const std::string& path, int error) {
  const auto what = fmt::format("token file {}: it cannot be opened: {}", path,
                                reason_of(error));
  const bool of_system =
      error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO;
  if (of_system) throw SystemError(what);
  throw UsageError(what);
}

// Not blocking, so that a pipe is refused rather than waited for.
Descriptor open_to_read(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) refuse_open(path, errno);
  return file;
}

std::int64_t regular_file_bytes(const Descriptor& file,
                                const std::string& path) {
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) refuse_open(path, errno);
  if (S_ISDIR(status.st_mode))
    refuse(path,
           "it is a directory; expected a file, or a pattern of files in it");
  if (!S_ISREG(status.st_mode))
    refuse(path, "it is no regular file; expected one written by tokenize");
  return status.st_size;
}

// All of `out`, from byte `offset` on.
void read_exactly(const Descriptor& file, const std::string& path,
                  std::int64_t offset, std::span<std::byte> out) {
  const auto got = static_cast<std::int64_t>(
      read_at(file, "token file " + path, offset, out));
  if (got == std::ssize(out)) return;
  throw SystemError(fmt::format(
      "token file {}: it ends at byte {}; the file has become shorter since it "
      "was opened",
      path, offset + got));
}

TokenFormat known_format(const TokenHeader& header, const std::string& path) {
  for (const auto& format : {kU16Format, kU32Format}) {
    if (header[0] != format.magic) continue;
    if (header[1] == format.version) return format;
    refuse(path, fmt::format("it has version {}; expected {} under magic {}; "
                             "write it again with tokenize",
                             header[1], format.version, format.magic));
  }
  refuse(path,
         fmt::format("it starts with {}, as no token file does; expected {} "
                     "(16-bit tokens) or {} (32-bit); write one with tokenize",
                     header[0], kU16Format.magic, kU32Format.magic));
}

struct Sizes {
  std::int64_t tokens;  // as the header says
  std::int64_t bytes;   // of the file
  TokenWidth width;
};

void require_sizes(const Sizes& sizes, const std::string& path) {
  if (sizes.tokens < 0)
    refuse(path, fmt::format("its header counts {} tokens; expected at least "
                             "1; write it again with tokenize",
                             sizes.tokens));
  if (sizes.tokens == 0)
    refuse(path,
           "it holds no tokens; expected at least 1; write it again with "
           "tokenize");
  const auto expected = kTokenHeaderBytes + sizes.tokens * size_of(sizes.width);
  if (sizes.bytes == expected) return;
  refuse(path,
         fmt::format("it has {} bytes where {} tokens of {} bytes and the "
                     "header take {}: {}",
                     sizes.bytes, sizes.tokens, size_of(sizes.width), expected,
                     sizes.bytes < expected
                         ? "it is truncated; copy it again"
                         : "bytes trail the last token; write it again"));
}

}  // namespace

TokenFile::TokenFile(std::string path)
    : path_(std::move(path)), file_(open_to_read(path_)) {
  read_header();
}

void TokenFile::read_header() {
  const std::int64_t bytes = regular_file_bytes(file_, path_);
  if (bytes < kTokenHeaderBytes) {
    refuse(path_,
           fmt::format("it has {} bytes, which is no token file; "
                       "expected a header of {} bytes; write one with tokenize",
                       bytes, kTokenHeaderBytes));
  }
  TokenHeader header;
  read_exactly(file_, path_, 0, std::as_writable_bytes(std::span(header)));
  width_ = known_format(header, path_).width;
  require_sizes({.tokens = header[2], .bytes = bytes, .width = width_}, path_);
  tokens_ = header[2];
}

void TokenFile::copy(std::int64_t position, std::int64_t count,
                     std::int32_t* out) const {
  if (position < 0 || count < 0 || count > tokens_ ||
      position > tokens_ - count) {
    refuse(path_, fmt::format("{} tokens from {} were asked for; it holds {}",
                              count, position, tokens_));
  }
  width_ == TokenWidth::kU16 ? copy_as<std::uint16_t>(position, count, out)
                             : copy_as<std::uint32_t>(position, count, out);
}

template <class Token>
void TokenFile::copy_as(std::int64_t position, std::int64_t count,
                        std::int32_t* out) const {
  constexpr auto size = static_cast<std::int64_t>(sizeof(Token));
  constexpr std::uint32_t largest = std::numeric_limits<std::int32_t>::max();
  std::array<Token, kBlockTokens> block;
  for (std::int64_t done = 0; done < count; done += kBlockTokens) {
    const auto n = std::min(kBlockTokens, count - done);
    const auto offset = kTokenHeaderBytes + (position + done) * size;
    const auto tokens = std::span(block).first(static_cast<std::size_t>(n));
    read_exactly(file_, path_, offset, std::as_writable_bytes(tokens));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t id = tokens[static_cast<std::size_t>(i)];
      if (id > largest) {
        refuse(path_, fmt::format("token {} has id {}; expected at most {}",
                                  position + done + i, id, largest));
      }
      out[done + i] = static_cast<std::int32_t>(id);
    }
  }
}

template <class Visit>
void TokenFile::visit_blocks(Visit visit) const {
  std::vector<std::int32_t> block(
      static_cast<std::size_t>(std::min(kPassTokens, tokens_)));
  for (std::int64_t begin = 0; begin < tokens_; begin += kPassTokens) {
    const auto count = std::min(kPassTokens, tokens_ - begin);
    copy(begin, count, block.data());
    visit(begin, std::span<const std::int32_t>(
                     block.data(), static_cast<std::size_t>(count)));
  }
}

void TokenFile::check_ids(std::int64_t vocabulary) const {
  visit_blocks([&](std::int64_t begin, std::span<const std::int32_t> ids) {
    const auto bad = std::ranges::find_if(
        ids, [&](std::int32_t id) { return id >= vocabulary; });
    if (bad == ids.end()) return;
    refuse(path_, fmt::format("token {} has id {}; expected ids below the "
                              "vocabulary of {}; use the tokenizer's own "
                              "vocabulary or write the file again",
                              begin + (bad - ids.begin()), *bad, vocabulary));
  });
}

void TokenFile::add_to(Hasher& hasher) const {
  visit_blocks([&](std::int64_t, std::span<const std::int32_t> ids) {
    hasher.add(std::as_bytes(ids));
  });
}

}  // namespace quire::data
