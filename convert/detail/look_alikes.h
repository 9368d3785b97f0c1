// What people name for a model's folder that is none, and what to name instead.
#pragma once

#include <string>

namespace quire::convert {

// The end of a message that refuses the folder, from "; " on; empty if it
// resembles nothing that is known. Reads names alone.
std::string advice_on(const std::string& folder);

// UsageError if the path leads nowhere and could be a model's name in the hub,
// "org/name".
void refuse_hub_name(const std::string& path);

}  // namespace quire::convert
