#include "quire/train/detail/token_text.h"

#include <array>
#include <span>

namespace quire::train {

std::string added_text(const data::Tokenizer& tokenizer,
                       std::optional<std::int32_t> before, std::int32_t id) {
  if (!before) return tokenizer.decode(std::span(&id, 1));
  const std::array both = {*before, id};
  const std::string known = tokenizer.decode(std::span(both).first(1));
  return tokenizer.decode(both).substr(known.size());
}

}  // namespace quire::train
