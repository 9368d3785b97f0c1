// What a PATH of inspect and verify stands for.
#pragma once

#include <string>
#include <vector>

namespace quire::tools {

// True for a checkpoint's folder and for a run's, which has steps.
bool is_checkpoint_path(const std::string& path);
// A safetensors file itself, or those directly in a folder, by name. UsageError
// if there is none.
std::vector<std::string> safetensors_files(const std::string& path);

}  // namespace quire::tools
