// How a saved model's tokens are read and written: the tokenizer that belongs
// to it, and the tokens that end a text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quire/convert/weights.h"
#include "quire/data/tokenizer.h"

namespace quire::train {

struct Language {
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::vector<std::int32_t> ends;  // none: nothing ends a text
};

// The tokenizer of the model's side files, or bytes for a vocabulary of 256
// without any. The ends are the eos_token_id of generation_config.json, else of
// config.json. `path` is the model's, for messages. UsageError if there is no
// tokenizer, or a file breaks its format.
Language language_of(const convert::Description& description,
                     const std::string& path);

}  // namespace quire::train
