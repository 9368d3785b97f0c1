#include "quire/data/token_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/data/token_paths.h"

namespace quire::data {

TokenSet::TokenSet(std::string path) : path_(std::move(path)) {
  for (auto& file : find_token_files(path_)) {
    files_.emplace_back(std::move(file));
    starts_.push_back(starts_.back() + files_.back().size());
  }
}

void TokenSet::copy(std::int64_t position, std::int64_t count,
                    std::int32_t* out) const {
  if (position < 0 || count < 0 || count > size() ||
      position > size() - count) {
    throw UsageError(
        fmt::format("{} tokens from {} were asked of {}, which holds {}", count,
                    position, path_, size()));
  }
  auto file = static_cast<std::size_t>(
      std::ranges::upper_bound(starts_, position) - starts_.begin() - 1);
  while (count > 0) {
    const auto n = std::min(count, starts_[file + 1] - position);
    files_[file].copy(position - starts_[file], n, out);
    position += n;
    count -= n;
    out += n;
    ++file;
  }
}

void TokenSet::check_ids(std::int64_t vocabulary) const {
  for (const auto& file : files_) file.check_ids(vocabulary);
}

std::uint64_t TokenSet::content_hash() const {
  Hasher hasher;
  for (const auto& file : files_) file.add_to(hasher);
  return hasher.digest();
}

}  // namespace quire::data
