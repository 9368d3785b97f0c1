// How far the tensors of two checkpoints are apart.
#pragma once

#include <string>
#include <vector>

#include "quire/checkpoint/verify.h"

namespace quire::tools {

// One line for each of the first few tensors of the scope that both have in one
// shape and whose hashes differ: how many elements do, the first, and the
// largest difference. Those alone are read.
std::vector<std::string> state_differences(const std::string& a,
                                           const std::string& b,
                                           checkpoint::Scope scope);

}  // namespace quire::tools
