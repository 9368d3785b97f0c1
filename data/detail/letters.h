// What text is made of before anything is merged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quire::data {

// Every byte is a token; characters of several bytes may be one as well.
class Letters {
 public:
  Letters() { bytes_.fill(-1); }

  void set_byte(unsigned char byte, std::int32_t id) { bytes_[byte] = id; }
  // REQUIRES: `code_point` is 0x80 or above; those below are a byte.
  void set_character(char32_t code_point, std::int32_t id) {
    characters_[code_point] = id;
  }
  // Throws UsageError naming `source` and the first byte that has no token.
  void require_bytes(const std::string& source) const;

  // Appends those of `piece`, which is UTF-8 or a byte that is none.
  void append(std::string_view piece, std::vector<std::int32_t>& ids) const;

 private:
  void append_characters(std::string_view piece,
                         std::vector<std::int32_t>& ids) const;
  void append_bytes(std::string_view piece,
                    std::vector<std::int32_t>& ids) const;

  std::array<std::int32_t, 256> bytes_;
  std::unordered_map<char32_t, std::int32_t> characters_;
};

}  // namespace quire::data
