// Files that run code when they are read: recognised, and never read.
#pragma once

#include <string>
#include <string_view>

namespace quire::convert {

// By the first bytes of a file, or by its name where they say nothing.
bool is_pickle(const std::string& path, std::string_view start);
// UsageError with the one command that turns it into safetensors.
[[noreturn]] void refuse_pickle(const std::string& path);
// Throws the same if the folder holds one: weights (.bin, .pt, .pth), or a
// distributed checkpoint of torch's own format.
void refuse_pickles_in(const std::string& folder);

}  // namespace quire::convert
