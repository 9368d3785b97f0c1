// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quire::tools {

using Json = nlohmann::ordered_json;

// One line; bytes that are no UTF-8 become U+FFFD.
inline std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quire::tools
