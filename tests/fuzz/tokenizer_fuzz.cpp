// tokenizer.json: what is accepted gives every text back from its ids, or
// refuses to encode it.
#include "quire/data/bpe_tokenizer.h"
#include "tests/fuzz/input.h"

namespace quire::fuzz {
namespace {

using data::Specials;
using data::Tokenizer;

void check(const Tokenizer& tokenizer, std::string_view text) {
  for (const auto specials : {Specials::kAsText, Specials::kRecognise}) {
    const auto ids = tokenizer.encode(text, specials);
    for (const auto id : ids) require(id >= 0 && id < tokenizer.vocabulary());
    require(tokenizer.decode(ids) == text);
  }
}

}  // namespace
}  // namespace quire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace quire::fuzz;
  accept_or_refuse([&] {
    const auto tokenizer = quire::data::parse_tokenizer_json(
        {.text = text_of(data, size), .source = "tokenizer.json"});
    check(*tokenizer, "In the beginning, it's 1984.\n\n <|end|> \xc3\xa9\xff!");
  });
  return 0;
}
