#include "quire/convert/describe.h"

#include <nlohmann/json.hpp>

#include "quire/convert/quire/model_section.h"
#include "quire/convert/quire/notes.h"

namespace quire::convert {

DescriptionText describe(const Description& description,
                         const std::string& from) {
  auto config =
      nlohmann::ordered_json::parse(model_section_of(description.options));
  if (!from.empty()) config["model"]["from"] = from;
  return {.config = config.dump(), .notes = notes_of(description)};
}

}  // namespace quire::convert
