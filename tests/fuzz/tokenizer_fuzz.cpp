// tokenizer.json: what is accepted gives every text that has its normal form
// back from its ids, or refuses to encode it; and blocks the ids of the whole.
#include <algorithm>

#include "quire/data/bpe_tokenizer.h"
#include "quire/data/text_encoder.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using data::Specials;
using data::Tokenizer;

void require_known(const Tokenizer& tokenizer,
                   const std::vector<std::int32_t>& ids) {
  for (const auto id : ids) require(id >= 0 && id < tokenizer.vocabulary());
}

using Ids = std::vector<std::int32_t>;

Ids in_blocks(const Tokenizer& tokenizer, std::string_view text,
              Specials specials) {
  constexpr std::size_t kBlock = 5;
  data::TextEncoder encoder(tokenizer, specials);
  Ids all;
  const auto take = [&](std::span<const std::int32_t> ids) {
    all.insert(all.end(), ids.begin(), ids.end());
  };
  for (; !text.empty(); text.remove_prefix(std::min(kBlock, text.size())))
    take(encoder.add(text.substr(0, kBlock)));
  take(encoder.finish());
  return all;
}

// A vocabulary in which blanks are letters puts some before words.
std::string comparable(std::string text, std::string_view json) {
  const bool may_add_blanks =
      json.find("\u2581") != json.npos || json.find("2581") != json.npos;
  if (may_add_blanks) std::erase(text, ' ');
  return text;
}

void check(const Tokenizer& tokenizer, const std::string& text,
           std::string_view json) {
  for (const auto specials : {Specials::kAsText, Specials::kRecognise}) {
    const Ids ids = tokenizer.encode(text, specials);
    require_known(tokenizer, ids);
    require(comparable(tokenizer.decode(ids), json) == comparable(text, json));
    require(in_blocks(tokenizer, text, specials) == ids);
  }
}

// In a prompt, and where the text may get another form.
void check_prompt(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode_prompt(text);
  require_known(tokenizer, ids);
  tokenizer.decode(ids);
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  accept_or_refuse([&] {
    const std::string_view json = text_of(data, size);
    const auto tokenizer = quire::data::parse_tokenizer_json(
        {.text = json, .source = "tokenizer.json"});
    check(*tokenizer, "In the beginning, it's 1984.\n\n <|end|> \xc3\x9f\xff!",
          json);
    check_prompt(*tokenizer, "e\u0301 \u1100\u1161\u11a8<|end|>\u0338\xcc");
  });
  return 0;
}
