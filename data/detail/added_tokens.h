// Texts that are tokens by themselves, found before a pattern sees them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/data/detail/bpe_parts.h"

namespace quire::data {

class AddedTokens {
 public:
  // REQUIRES: no text is empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Hit {
    std::size_t begin;
    std::size_t end;
    std::int32_t id;
  };
  // The leftmost that begins in [from, before), of these the longest.
  std::optional<Hit> find(std::string_view text, std::size_t from,
                          std::size_t before) const;
  // Bytes of the longest; 0: there are none.
  std::size_t longest() const { return longest_; }

 private:
  std::optional<Hit> hit_at(std::string_view text, std::size_t begin) const;

  std::vector<AddedToken> tokens_;  // by first byte, then the longest first
  std::array<std::uint32_t, 257> starts_ = {};  // by first byte
  std::string firsts_;                          // the first bytes
  std::size_t longest_ = 0;
};

}  // namespace quire::data
