// What a PATH of inspect and verify stands for.
#pragma once

#include <string>
#include <vector>

namespace quire::tools {

// True for a checkpoint's folder and for a run's, which has steps.
bool is_checkpoint_path(const std::string& path);
// True for a file of llm.c's, by its content. UsageError for a file of another
// kind that is known and not read here: a pickle, GGUF, tokens.
bool is_llmc_file(const std::string& path);
// A safetensors file itself; a folder's model, as convert::weight_file_names
// has it; or else all directly in a folder, by name. UsageError if there is
// none.
std::vector<std::string> safetensors_files(const std::string& path);
// The names of files of the folder that are safetensors and not its model's.
std::vector<std::string> strangers_in(const std::string& folder);

}  // namespace quire::tools
