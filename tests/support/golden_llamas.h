// Checkpoints of the Llama family as transformers writes them, in tests/data:
// their options by hand, their names for our parameters, their training.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quire/models/llama.h"
#include "tests/support/golden.h"

namespace quire::testing {

struct GoldenLlama {
  std::string folder;
  models::LlamaOptions options;
  // Ten steps of AdamW (NAME/golden.json), and the loss after them.
  struct Step {
    double loss, norm;
  };
  std::vector<Step> steps;
  double final_loss;
};
std::span<const GoldenLlama> golden_llamas();
const GoldenLlama& golden_llama(const std::string& folder);

// "layers.0.mlp.up_proj.weight" as transformers writes it:
// "model.layers.0.mlp.up_proj.weight".
std::string foreign_name(const std::string& name);

// Its tensor for our parameter: with `prefix` "grad." or "after.", of a golden
// file.
inline Tensor foreign(const Golden& file, const std::string& prefix,
                      const std::string& name) {
  return file.tensor(prefix + foreign_name(name));
}

}  // namespace quire::testing
