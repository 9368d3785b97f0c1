// What Hugging Face calls a model's parameters, and how it lays them out.
#pragma once

#include <string>
#include <string_view>

#include "quire/models/options.h"

namespace quire::convert {

// "transformer." or "model.": what stands before most names, and may be
// missing.
std::string_view prefix_of(const models::Options& options);
// "embed.wte.weight" -> "wte.weight", "head.lm_head.weight" ->
// "lm_head.weight".
std::string plain_name(std::string_view parameter);
// As transformers writes it: "transformer.wte.weight", "lm_head.weight".
std::string full_name(const models::Options& options,
                      std::string_view parameter);

inline constexpr std::string_view kHead = "lm_head.weight";
// Plain name of the table that the head is tied to; empty if it is not.
std::string_view tied_table(const models::Options& options);

// GPT-2's projections are Conv1D there, kept [in, out].
bool is_transposed(const models::Options& options, std::string_view parameter);
// Masks and frequencies that older versions wrote as if they were weights.
bool is_buffer(const models::Options& options, std::string_view plain);

}  // namespace quire::convert
