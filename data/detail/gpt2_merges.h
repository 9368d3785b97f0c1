// data/gpt2/merges.txt, in a source that CMake makes.
#pragma once

#include <string_view>

namespace quire::data {

extern const std::string_view kGpt2Merges;

}  // namespace quire::data
