// A tokenizer's keys in a GGUF file, from tokenizer.json or from vocab.json and
// merges.txt.
#pragma once

#include <string>
#include <vector>

#include "quire/convert/gguf/gguf_file.h"
#include "quire/convert/weights.h"

namespace quire::convert {

// Puts "tokenizer.ggml...." if the side files have a byte-level BPE tokenizer
// whose ids lie below the model's vocab. What is not written, and why, comes
// back as one line each. UsageError for files that break their format.
std::vector<std::string> put_tokenizer_keys(const Description& description,
                                            GgufKeys& keys);

}  // namespace quire::convert
