// Text that comes in pieces, given on in whole characters.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace quire::train {

// Bytes that begin no character of UTF-8 go on as they are.
class Characters {
 public:
  // The whole characters so far that were not given on yet.
  std::string take(std::string_view bytes);
  // What is left when the text ends.
  std::string rest() { return std::exchange(held_, {}); }

 private:
  std::string held_;  // the beginning of one character
};

}  // namespace quire::train
