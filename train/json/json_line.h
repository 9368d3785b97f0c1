// A JSON value as one line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quire::train {

// Numbers that are not finite become null, bytes that are no UTF-8 U+FFFD.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace quire::train
