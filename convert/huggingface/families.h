// What the families of the Llama kind have in common and what each has of its
// own, as transformers has it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "quire/models/options.h"

namespace quire::convert {

// Far above any model; with these no product of a model's sizes leaves 63 bits.
inline constexpr std::int64_t kMostLayers = std::int64_t{1} << 14;
inline constexpr std::int64_t kMostWidth = std::int64_t{1} << 18;
inline constexpr std::int64_t kMostHidden = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostVocab = std::int64_t{1} << 28;
inline constexpr std::int64_t kMostContext = std::int64_t{1} << 31;

struct Family {
  std::string_view name;          // model_type
  std::string_view architecture;  // of its language model
  // Values of keys that are missing. kv_heads 0: as many as heads; head_width
  // 0: width / heads.
  std::int64_t hidden, context, vocab, kv_heads, head_width;
  bool qkv_bias;        // always there
  bool qk_norm;         // always there
  bool attention_bias;  // the key says whether q, k, v and o have one
  bool mlp_bias;        // the key is one
  // Which layers see a window only: none; all, by sliding_window alone; or
  // those that use_sliding_window and layer_types or max_window_layers say.
  enum class Window : std::uint8_t { kNone, kAll, kByLayer };
  Window window;
};

std::span<const Family> llama_families();
// nullptr if it is none of them.
const Family* find_family(std::string_view name);

// True if the family's keys can say the options.
bool can_say(const Family& family, const models::LlamaOptions& options);

}  // namespace quire::convert
