#include "quire/convert/detail/look_alikes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/contained.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

namespace fs = std::filesystem;
using checkpoint::joined;

// In order.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// The hub's cache has a folder of folders, one of each commit.
std::string model_below(const std::string& folder) {
  for (const std::string& above : {folder, joined(folder, "snapshots")})
    for (const std::string& name : names_in(above))
      if (stands(joined(joined(above, name), "config.json")))
        return joined(above, name);
  return "";
}

std::string advice_on_safetensors(const std::string& name) {
  if (name.find("-of-") != std::string::npos &&
      name.find("-of-00001.") == std::string::npos)
    return fmt::format(
        "; {} is a part of a model: copy model.safetensors.index.json there, "
        "which names all parts",
        name);
  return fmt::format("; if {} is the whole model, name it model.safetensors",
                     name);
}

std::string advice_on_file(const std::string& name) {
  if (name.ends_with(".safetensors")) return advice_on_safetensors(name);
  if (name.ends_with(".gguf"))
    return fmt::format(
        "; {} is GGUF, which is written and not read: name the model that it "
        "was made of",
        name);
  return "";
}

}  // namespace

std::string advice_on(const std::string& folder) {
  if (holds(folder, "adapter_config.json"))
    return "; it holds an adapter, which is no model: merge it into its model "
           "first (merge_and_unload of peft)";
  if (holds(folder, "params.json") && !holds(folder, "config.json"))
    return "; params.json belongs to its maker's own format: take the same "
           "model's config.json and model.safetensors";
  for (const std::string& name : names_in(folder))
    if (const std::string advice = advice_on_file(name); !advice.empty())
      return advice;
  const std::string below = model_below(folder);
  return below.empty() ? "" : fmt::format("; name {}, which holds one", below);
}

void refuse_hub_name(const std::string& path) {
  const auto slash = path.find('/');
  const bool two = slash != std::string::npos && slash > 0 &&
                   slash + 1 < path.size() && slash == path.rfind('/');
  if (!two || path.starts_with('.') || stands(path.substr(0, slash))) return;
  throw UsageError(fmt::format(
      "{} does not exist; expected a folder or file of this machine: a model "
      "of the hub is to be downloaded first (hf download NAME --local-dir DIR)",
      path));
}

}  // namespace quire::convert
