#include "quire/data/detail/letters.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/data/detail/utf8.h"

namespace quire::data {
namespace {

constexpr char32_t kFirstCharacter = 0x80;  // of several bytes

}  // namespace

void Letters::require_bytes(const std::string& source) const {
  const auto missing = std::ranges::find(bytes_, -1);
  if (missing == bytes_.end()) return;
  throw UsageError(
      fmt::format("{}: no token stands for the byte 0x{:02x}; expected a "
                  "vocabulary that has one for each of the 256",
                  source, missing - bytes_.begin()));
}

void Letters::append(std::string_view piece,
                     std::vector<std::int32_t>& ids) const {
  if (characters_.empty() || piece.size() == 1)
    append_bytes(piece, ids);
  else
    append_characters(piece, ids);
}

void Letters::append_characters(std::string_view piece,
                                std::vector<std::int32_t>& ids) const {
  while (!piece.empty()) {
    std::string_view rest = piece;
    const char32_t c = take_utf8(rest);
    const auto found =
        c < kFirstCharacter ? characters_.end() : characters_.find(c);
    if (found == characters_.end())
      append_bytes(piece.substr(0, piece.size() - rest.size()), ids);
    else
      ids.push_back(found->second);
    piece = rest;
  }
}

void Letters::append_bytes(std::string_view piece,
                           std::vector<std::int32_t>& ids) const {
  for (const char c : piece)
    ids.push_back(bytes_[static_cast<unsigned char>(c)]);
}

}  // namespace quire::data
