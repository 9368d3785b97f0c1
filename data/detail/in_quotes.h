// Text from a file within a message.
#pragma once

#include <string>
#include <string_view>

namespace quire::data {

// In quotes, cut after 40 bytes, with bytes that do not print as \xHH.
std::string in_quotes(std::string_view text);

}  // namespace quire::data
