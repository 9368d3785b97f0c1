#include "quire/convert/quire/notes.h"

#include <nlohmann/json.hpp>

#include "quire/checkpoint/json.h"
#include "quire/convert/huggingface/config.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

// Options that no family of theirs has are Quire's alone.
std::string family_or_none(const models::Options& options,
                           std::string_view wanted) {
  try {
    return family_of(options, wanted);
  } catch (const UsageError&) {
    return "";
  }
}

}  // namespace

std::map<std::string, std::string> notes_of(const Description& description) {
  std::string config = "{";
  for (const auto& [key, value] : description.other_keys)
    config += (config.size() == 1 ? "" : ", ") + nlohmann::json(key).dump() +
              ": " + value;
  return {{kFamilyNote, description.family}, {kConfigNote, config + "}"}};
}

void read_notes(const std::map<std::string, std::string>& notes,
                const std::string& source, Description& description) {
  const auto family = notes.find(kFamilyNote);
  description.family = family_or_none(
      description.options, family == notes.end() ? "" : family->second);
  const auto config = notes.find(kConfigNote);
  if (config == notes.end()) return;
  const auto keys = checkpoint::Json::parse(config->second,
                                            source + ": notes." + kConfigNote);
  for (const auto& [key, value] : keys.members())
    description.other_keys[key] = value.text();
}

}  // namespace quire::convert
