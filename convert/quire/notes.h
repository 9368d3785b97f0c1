// What a checkpoint's notes keep of the ecosystem that a model comes from.
#pragma once

#include <map>
#include <string>

#include "quire/convert/weights.h"

namespace quire::convert {

inline constexpr const char* kFamilyNote = "huggingface.family";
inline constexpr const char* kConfigNote = "huggingface.config";

// The notes that describe the model. The inverse fills family and other_keys;
// the family is that of the notes if its keys can say the options, else the
// first that can, else empty. `source` is the file, for messages.
std::map<std::string, std::string> notes_of(const Description& description);
void read_notes(const std::map<std::string, std::string>& notes,
                const std::string& source, Description& description);

}  // namespace quire::convert
