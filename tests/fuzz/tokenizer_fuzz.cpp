// tokenizer.json: what is accepted gives every text that has its normal form
// back from its ids, or refuses to encode it.
#include "quire/data/bpe_tokenizer.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using data::Specials;
using data::Tokenizer;

void require_known(const Tokenizer& tokenizer,
                   const std::vector<std::int32_t>& ids) {
  for (const auto id : ids) require(id >= 0 && id < tokenizer.vocabulary());
}

void check(const Tokenizer& tokenizer, std::string_view text) {
  for (const auto specials : {Specials::kAsText, Specials::kRecognise}) {
    const auto ids = tokenizer.encode(text, specials);
    require_known(tokenizer, ids);
    require(tokenizer.decode(ids) == text);
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
    const auto tokenizer = quire::data::parse_tokenizer_json(
        {.text = text_of(data, size), .source = "tokenizer.json"});
    check(*tokenizer, "In the beginning, it's 1984.\n\n <|end|> \xc3\x9f\xff!");
    check_prompt(*tokenizer, "e\u0301 \u1100\u1161\u11a8<|end|>\u0338\xcc");
  });
  return 0;
}
