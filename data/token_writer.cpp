#include "quire/data/token_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "quire/core/error.h"
#include "quire/data/detail/temporary_file.h"
#include "quire/data/token_paths.h"

namespace quire::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 31;
constexpr std::size_t kBlockTokens = 1 << 16;

void require_options(const TokenWriter::Options& options) {
  if (options.vocabulary < 1 || options.vocabulary > kMaxVocabulary) {
    throw UsageError(
        fmt::format("{} cannot be written for a vocabulary of {}; expected 1 "
                    "to {}",
                    options.path, options.vocabulary, kMaxVocabulary));
  }
  if (options.shard_tokens < 1 || options.shard_tokens > kMaxFileTokens) {
    throw UsageError(
        fmt::format("{} cannot be written in shards of {} tokens; expected 1 "
                    "to {}",
                    options.path, options.shard_tokens, kMaxFileTokens));
  }
}

template <class Token>
void narrow(std::span<const std::int32_t> ids, std::vector<std::byte>& out) {
  out.resize(ids.size() * sizeof(Token));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto token = static_cast<Token>(ids[i]);
    std::memcpy(out.data() + i * sizeof(Token), &token, sizeof(Token));
  }
}

TokenHeader header_of(TokenWidth width, std::int64_t tokens) {
  TokenHeader header = {};
  const auto format = format_of(width);
  header[0] = format.magic;
  header[1] = format.version;
  header[2] = static_cast<std::int32_t>(tokens);
  return header;
}

void remove_file(const std::string& path) {
  std::error_code error;
  if (fs::remove(path, error); error) {
    throw SystemError(
        fmt::format("{} cannot be removed: {}", path, error.message()));
  }
}

}  // namespace

struct TokenWriter::Part {
  TemporaryFile file;
  std::int64_t tokens = 0;
};

TokenWriter::TokenWriter(Options options)
    : options_(std::move(options)), width_(width_for(options_.vocabulary)) {
  require_options(options_);
  if (!options_.replace) require_absent();
}

TokenWriter::~TokenWriter() = default;

void TokenWriter::require_absent() const {
  auto present = existing_shards(options_.path);
  std::error_code ignored;
  if (fs::exists(options_.path, ignored)) present.push_back(options_.path);
  if (present.empty()) return;
  throw UsageError(
      fmt::format("{} exists and is not overwritten; remove it or name another",
                  present.back()));
}

void TokenWriter::require_ids(std::span<const std::int32_t> ids) const {
  const auto bad = std::ranges::find_if(ids, [&](std::int32_t id) {
    return id < 0 || id >= options_.vocabulary;
  });
  if (bad == ids.end()) return;
  throw UsageError(fmt::format(
      "token {} for {} has id {}; expected 0 to {}, the vocabulary's last",
      tokens_ + (bad - ids.begin()), options_.path, *bad,
      options_.vocabulary - 1));
}

void TokenWriter::write(std::span<const std::int32_t> ids) {
  if (!usable_) {
    throw UsageError(
        fmt::format("{} is finished or has failed; write with a new writer",
                    options_.path));
  }
  require_ids(ids);
  usable_ = false;  // unless all goes well
  while (!ids.empty()) {
    if (parts_.empty() || parts_.back().tokens == options_.shard_tokens)
      open_part();
    const auto room =
        static_cast<std::size_t>(options_.shard_tokens - parts_.back().tokens);
    const auto count = std::min({ids.size(), room, kBlockTokens});
    append(ids.first(count));
    ids = ids.subspan(count);
  }
  usable_ = true;
}

// The header holds its place until the count is known.
void TokenWriter::open_part() {
  if (!parts_.empty()) close_part();
  parts_.push_back({.file = TemporaryFile(options_.path)});
  const TokenHeader header = {};
  parts_.back().file.append(std::as_bytes(std::span(header)));
}

void TokenWriter::append(std::span<const std::int32_t> ids) {
  width_ == TokenWidth::kU16 ? narrow<std::uint16_t>(ids, narrow_)
                             : narrow<std::uint32_t>(ids, narrow_);
  parts_.back().file.append(narrow_);
  parts_.back().tokens += static_cast<std::int64_t>(ids.size());
  tokens_ += static_cast<std::int64_t>(ids.size());
}

void TokenWriter::close_part() {
  Part& part = parts_.back();
  const auto header = header_of(width_, part.tokens);
  part.file.write_at(0, std::as_bytes(std::span(header)));
  part.file.sync();
}

std::vector<std::string> TokenWriter::finish() {
  if (!usable_ || parts_.empty()) {
    throw UsageError(fmt::format(
        "{} cannot be finished: {}", options_.path,
        usable_ ? "no tokens were written" : "it is finished or has failed"));
  }
  usable_ = false;
  close_part();
  const auto paths = final_paths();
  publish(paths);
  sync_folder_of(options_.path);
  return paths;
}

std::vector<std::string> TokenWriter::final_paths() const {
  if (parts_.size() == 1) return {options_.path};
  std::vector<std::string> paths;
  for (std::size_t i = 1; i <= parts_.size(); ++i)
    paths.push_back(shard_path(options_.path, static_cast<std::int64_t>(i)));
  return paths;
}

// The first shard goes first and comes last, so that a set that a crash left
// incomplete lacks it. One file replaces its forerunner in one step.
void TokenWriter::publish(const std::vector<std::string>& paths) {
  const bool single = paths.size() == 1;
  const auto existing = options_.replace ? TemporaryFile::Existing::kReplace
                                         : TemporaryFile::Existing::kRefuse;
  if (options_.replace && !single) remove_old({});
  std::size_t i = paths.size();
  try {
    for (; i > 0; --i) parts_[i - 1].file.publish(paths[i - 1], existing);
  } catch (...) {
    std::error_code ignored;
    for (; i < paths.size(); ++i) fs::remove(paths[i], ignored);
    throw;
  }
  if (options_.replace && single) remove_old(paths);
}

void TokenWriter::remove_old(const std::vector<std::string>& kept) const {
  auto old = existing_shards(options_.path);
  old.push_back(options_.path);
  for (const auto& path : old) {
    if (std::ranges::find(kept, path) == kept.end()) remove_file(path);
  }
}

}  // namespace quire::data
