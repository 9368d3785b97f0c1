// What a checkpoint of Quire's keeps besides tensors, so that open_weights
// knows the model that it is of.
#pragma once

#include <map>
#include <string>

#include "quire/convert/weights.h"

namespace quire::convert {

// For SaveRequest::config and ::notes.
struct DescriptionText {
  std::string config;  // its model section alone
  std::map<std::string, std::string> notes;
};

// `from`: where the model came from, whose tokenizer and generation files stay
// the model's; empty: none.
DescriptionText describe(const Description& description,
                         const std::string& from = {});

}  // namespace quire::convert
