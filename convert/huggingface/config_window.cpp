#include <fmt/format.h>

#include <optional>

#include "quire/convert/huggingface/config_read.h"

namespace quire::convert {
namespace {

using checkpoint::Json;

// Missing counts as 4096 in every family that has the key, null as none.
std::int64_t sliding_window(ConfigKeys& keys) {
  constexpr std::string_view kKey = "sliding_window";
  const auto value = keys.given(kKey);
  if (value) return value->integer(1, kMostContext);
  return keys.stands(kKey) ? 0 : 4096;
}

// True if all layers are of the sliding kind, false if none is; none if the key
// is missing. A mixture is refused.
std::optional<bool> all_slide(ConfigKeys& keys, std::int64_t layers) {
  const auto types = keys.given("layer_types");
  if (!types) return std::nullopt;
  const auto items = types->items();
  if (static_cast<std::int64_t>(items.size()) != layers)
    types->refuse(fmt::format("as many entries as layers, {}; it has {}",
                              layers, items.size()));
  const std::string& first = items.front().string();
  if (first != "full_attention" && first != "sliding_attention")
    items.front().refuse("\"full_attention\" or \"sliding_attention\"");
  for (const Json& item : items)
    if (item.string() != first)
      item.refuse(fmt::format(
          "\"{}\", as in the first layer: mixed layers are not supported",
          first));
  return first == "sliding_attention";
}

// Layers from max_window_layers on have the window.
std::int64_t window_by_count(ConfigKeys& keys, std::int64_t window,
                             std::int64_t layers) {
  const auto from = keys.given("max_window_layers");
  const std::int64_t first = from ? from->integer() : 28;
  if (window == 0 || first >= layers) return 0;
  if (first > 0)
    (from ? *from : keys.json().at("use_sliding_window"))
        .refuse(fmt::format("max_window_layers {} to be 0 or at least {}: a "
                            "window in a part of the layers is not supported",
                            first, layers));
  return window;
}

std::int64_t window_by_layer(ConfigKeys& keys, std::int64_t layers) {
  const std::int64_t given = sliding_window(keys);
  const std::int64_t window =
      keys.flag("use_sliding_window", false) ? given : 0;
  const auto slide = all_slide(keys, layers);
  const std::int64_t counted =
      slide ? 0 : window_by_count(keys, window, layers);
  keys.pass({"max_window_layers"});
  if (!slide) return counted;
  if (*slide && window == 0)
    keys.json()
        .at("layer_types")
        .refuse("full_attention where no sliding_window is in use");
  return *slide ? window : 0;
}

}  // namespace

std::int64_t read_window(ConfigKeys& keys, const Family& family,
                         std::int64_t layers) {
  if (family.window == Family::Window::kByLayer)
    return window_by_layer(keys, layers);
  const bool all = family.window == Family::Window::kAll;
  const std::int64_t window = all ? sliding_window(keys) : 0;
  const auto slide = all_slide(keys, layers);
  if (slide && *slide != (window > 0))
    keys.json()
        .at("layer_types")
        .refuse(window > 0 ? "sliding_attention, as sliding_window says"
                           : "full_attention, as there is no sliding window");
  return window;
}

}  // namespace quire::convert
