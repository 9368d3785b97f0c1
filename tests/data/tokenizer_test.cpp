#include "quire/data/tokenizer.h"

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

TEST(BytesTokenizer, GivesEveryByteItsOwnId) {
  EXPECT_EQ(BytesTokenizer().encode("aB\n"), (Ids{97, 66, 10}));
  EXPECT_EQ(BytesTokenizer().encode("\xc3\xa9"), (Ids{195, 169}));  // é
  EXPECT_EQ(BytesTokenizer().encode(""), Ids{});
}

TEST(BytesTokenizer, KeepsAllBytesThereAndBack) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  EXPECT_EQ(BytesTokenizer().encode(text), counting(0, 256));
  EXPECT_EQ(BytesTokenizer().decode(counting(0, 256)), text);
}

TEST(BytesTokenizer, RefusesIdsThatAreNoBytes) {
  expect_refused(
      [] {
        BytesTokenizer().decode(Ids{1, 256});
      },
      {"token 1 ", "256", "255"});
  expect_refused([] { BytesTokenizer().decode(Ids{-1}); }, {"token 0 ", "-1"});
}

TEST(MakeTokenizer, KnowsTheBytes) {
  const auto tokenizer = make_tokenizer("bytes");
  EXPECT_EQ(tokenizer->name(), "bytes");
  EXPECT_EQ(tokenizer->vocabulary(), 256);
}

TEST(MakeTokenizer, NamesTheKnownOnes) {
  expect_refused([] { make_tokenizer("byte"); }, {"\"byte\"", "bytes"});
}

}  // namespace
}  // namespace quire::data
