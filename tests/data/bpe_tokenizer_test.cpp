#include "quire/data/bpe_tokenizer.h"

#include <random>
#include <thread>

#include "tests/support/token_language.h"
#include "tests/support/tokenizer_language.h"

namespace quire::data {
namespace {

using namespace quire::testing;

const Tokenizer& gpt2() {
  static const auto tokenizer = gpt2_tokenizer();
  return *tokenizer;
}

Json golden() {
  return Json::parse(
      read_text(std::string(QUIRE_TEST_DATA) + "/gpt2_encodings.json"));
}

// Any bytes: runs of letters, of spaces and of what is no UTF-8.
std::string random_bytes(std::size_t count) {
  std::mt19937 random(17);
  std::string text;
  while (text.size() < count) {
    const auto word = random();
    const auto byte = static_cast<char>(word >> 8);
    text += word % 3 == 0
                ? byte
                : static_cast<char>("ab c\n'sé\xe2\x80"[word / 3 % 11]);
  }
  return text;
}

TEST(Gpt2Tokenizer, GivesTheIdsOfOtherEncoders) {
  for (const Json& line : golden()) {
    const auto text = line.at("text").get<std::string>();
    EXPECT_EQ(gpt2().encode(text, Specials::kRecognise),
              line.at("ids").get<Ids>())
        << text;
  }
}

TEST(Gpt2Tokenizer, EncodesASentenceOfManyScripts) {
  const std::string text =
      "In the beginning God created the heaven and the earth.\n\n  Hello  "
      "world! It’s 2026; don't panic — naïve café 日本語 🙂\t\n";
  const Ids ids = {818, 262,   3726,  1793,  2727,  262,   9538,  290,
                   262, 4534,  13,    628,   220,   18435, 220,   995,
                   0,   632,   447,   247,   82,    1160,  2075,  26,
                   836, 470,   13619, 851,   41492, 40304, 10545, 245,
                   98,  17312, 105,   45739, 252,   32485, 197,   198};
  EXPECT_EQ(gpt2().encode(text), ids);
  EXPECT_EQ(gpt2().decode(ids), text);
}

// FNV-1a of every token's bytes and 0xff, in the order of ids, computed from
// the ids that OpenAI published.
TEST(Gpt2Tokenizer, HasThePublishedVocabulary) {
  ASSERT_EQ(gpt2().vocabulary(), 50257);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::int32_t id = 0; id < 50257; ++id) {
    for (const char c : gpt2().decode(std::span(&id, 1)) + "\xff")
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0xfbe7d0f4cd3d8fd2);
}

TEST(Gpt2Tokenizer, TakesASpecialTokenForTextUnlessAsked) {
  EXPECT_EQ(gpt2().end_of_text(), 50256);
  EXPECT_EQ(gpt2().encode("a<|endoftext|>b", Specials::kRecognise),
            (Ids{64, 50256, 65}));
  const Ids as_text = gpt2().encode("<|endoftext|>");
  EXPECT_EQ(std::ranges::count(as_text, 50256), 0);
  EXPECT_EQ(gpt2().decode(as_text), "<|endoftext|>");
  EXPECT_EQ(gpt2().decode(Ids{50256}), "<|endoftext|>");
}

TEST(Gpt2Tokenizer, RefusesIdsThatAreNoTokens) {
  expect_refused(
      [] {
        gpt2().decode(Ids{1, 50257});
      },
      {"token 1 ", "50257", "50256", "gpt2"});
  expect_refused([] { gpt2().decode(Ids{-1}); }, {"token 0 ", "-1"});
}

TEST(BpeTokenizer, GivesAnyBytesBack) {
  const std::string text = random_bytes(20000);
  EXPECT_EQ(gpt2().decode(gpt2().encode(text)), text);
}

// The bytes by themselves; the letters around them as if alone.
TEST(BpeTokenizer, CutsAtBytesThatAreNoText) {
  EXPECT_EQ(each_decoded(gpt2(), gpt2().encode("the\xff\xc3\xe2\x80the")),
            (Texts{"the", "\xff", "\xc3", "\xe2", "\x80", "the"}));
  EXPECT_EQ(each_decoded(gpt2(), gpt2().encode("\xed\xa0\x80")),  // surrogate
            (Texts{"\xed", "\xa0", "\x80"}));
}

TEST(BpeTokenizer, GivesBlocksTheIdsOfTheWhole) {
  std::string text = random_bytes(3000);
  for (const Json& line : golden()) text += line.at("text").get<std::string>();
  for (const std::size_t block : {1, 2, 3, 7, 1000}) {
    EXPECT_EQ(in_blocks(gpt2(), text, block), gpt2().encode(text));
    EXPECT_EQ(in_blocks(gpt2(), text, block, Specials::kRecognise),
              gpt2().encode(text, Specials::kRecognise));
  }
}

// 80 billion steps if the time grew with the square.
TEST(BpeTokenizer, EncodesAWordOfManyLetters) {
  const std::string word(400'000, 'a');
  EXPECT_EQ(gpt2().decode(gpt2().encode(word)), word);
  EXPECT_EQ(in_blocks(gpt2(), word, 1000), gpt2().encode(word));
}

TEST(BpeTokenizer, ServesManyThreads) {
  const std::string text = random_bytes(5000);
  const Ids ids = gpt2().encode(text);
  std::vector<Ids> got(4);
  std::vector<std::jthread> threads;
  for (Ids& mine : got)
    threads.emplace_back([&] { mine = gpt2().encode(text); });
  threads.clear();
  for (const Ids& mine : got) EXPECT_EQ(mine, ids);
}

// ---- tokenizer.json ---------------------------------------------------------

// What a pattern makes of the joined pieces, all of which are tokens.
Texts cut(const char* pattern, const Texts& pieces) {
  Json json = tokenizer_json(pieces);
  json["pre_tokenizer"] = split_by(pattern);
  json["model"]["ignore_merges"] = true;
  const auto tokenizer = parsed(json);
  return each_decoded(*tokenizer, tokenizer->encode(joined(pieces)));
}

TEST(TokenizerJson, CutsAsLlama3) {
  for (const Texts& pieces :
       {Texts{"I", "'LL", " pay", " $", "123", "4", ",", " okay", "?!\n\n", " ",
              " yes"},
        Texts{"\tif", " (", "x", ")\r\n", "  ", " y"},
        Texts{"a", " \n\n", " b", "  "},
        Texts{"naïve", "—café", " 日本語", "。", "٣٤٥", "٦"}})
    EXPECT_EQ(cut(kLlama3Pattern, pieces), pieces);
}

TEST(TokenizerJson, CutsAsQwen) {
  for (const Texts& pieces : {Texts{"It", "'s", " ", "2", "0", "2", "6", ";"},
                              Texts{"x", " =", " ", "1", ".", "5", "\n"}})
    EXPECT_EQ(cut(kQwenPattern, pieces), pieces);
}

// U+180E was a space once; U+0085 is one.
TEST(TokenizerJson, TakesForSpacesWhatUnicodeCallsSo) {
  const Texts pieces = {"!\u180e!", "\u0085", "!"};
  Json json = tokenizer_json(pieces);
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(each_decoded(*parsed(json), parsed(json)->encode(joined(pieces))),
            pieces);
}

TEST(TokenizerJson, GivesBlocksTheIdsOfTheWholeForEveryPattern) {
  const std::string text =
      "I'LL pay $1234, ok?!\n\n  yes\r\n \r\n日本語 12345 \xe2\x80 x\t\tif   ";
  for (const char* pattern :
       {kLlama3Pattern, kQwenPattern, R"(\bok\b|^I|\w+|(?<= )p)"}) {
    Json json = tokenizer_json({"I", "'LL", " pay", "123", "pay", "yes"});
    json["pre_tokenizer"] = split_by(pattern);
    json["model"]["ignore_merges"] = true;
    const auto tokenizer = parsed(json);
    for (const std::size_t block : {1, 2, 3, 7})
      EXPECT_EQ(in_blocks(*tokenizer, text, block), tokenizer->encode(text));
  }
}

TEST(TokenizerJson, TakesBothSpellingsOfMerges) {
  for (const char* merges : {R"(["h e", "l l", "he ll"])",
                             R"([["h", "e"], ["l", "l"], ["he", "ll"]])"}) {
    Json json = tokenizer_json({"he", "ll", "hell"});
    json["model"]["merges"] = Json::parse(merges);
    EXPECT_EQ(parsed(json)->encode("hellhelp"), (Ids{258, 256, 'l', 'p'}));
  }
}

// Ranks decide, not places: b c before a b.
TEST(TokenizerJson, MergesTheLowestRankFirst) {
  Json json = tokenizer_json({"bc", "ab", "aa"});
  json["model"]["merges"] = {"b c", "a b", "a a"};
  EXPECT_EQ(parsed(json)->encode("abcab"), (Ids{'a', 256, 257}));
  EXPECT_EQ(parsed(json)->encode("aaa"), (Ids{258, 'a'}));
  Ids ids(20, 258);  // a piece that is not short
  ids.insert(ids.end(), {256, 257});
  EXPECT_EQ(parsed(json)->encode(std::string(40, 'a') + "bcab"), ids);
}

TEST(TokenizerJson, IgnoresMergesOnlyWhereItSaysSo) {
  Json json = tokenizer_json({"abc"});
  EXPECT_EQ(parsed(json)->encode("abc"), (Ids{'a', 'b', 'c'}));
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(parsed(json)->encode("abc"), (Ids{256}));
}

TEST(TokenizerJson, FindsAddedTokens) {
  Json json = tokenizer_json();
  json["added_tokens"] = {added_token("<s>", 256, true),
                          added_token("ab", 257, false),
                          added_token("abcd", 258, false)};
  const auto tokenizer = parsed(json);
  EXPECT_EQ(tokenizer->vocabulary(), 259);
  EXPECT_EQ(tokenizer->encode("xabcabcd"), (Ids{'x', 257, 'c', 258}));
  EXPECT_EQ(tokenizer->encode("<s>"), (Ids{'<', 's', '>'}));
  EXPECT_EQ(tokenizer->encode("<s>ab", Specials::kRecognise), (Ids{256, 257}));
  for (const std::size_t block : {1, 2, 3})
    EXPECT_EQ(in_blocks(*tokenizer, "xabcabcdab", block),
              (Ids{'x', 257, 'c', 258, 257}));
  EXPECT_EQ(tokenizer->decode(Ids{256, 258}), "<s>abcd");
}

// ---- normalization form C ---------------------------------------------------

// Qwen's, with these tokens; pieces that are tokens are those tokens.
Json nfc_json(const Texts& tokens = {}) {
  Json json = tokenizer_json(tokens);
  json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"] = split_by(kQwenPattern);
  json["model"]["ignore_merges"] = true;
  return json;
}

TEST(TokenizerJson, BringsTextIntoItsForm) {
  const Json one = nfc_json({"é", "Å", "각", " é"});
  Json list = one;
  list["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers", {{{"type", "NFC"}}, {{"type", "NFC"}}}}};
  for (const Json& json : {one, list}) {
    const auto tokenizer = parsed(json);
    EXPECT_EQ(tokenizer->encode("e\u0301"), (Ids{256}));
    EXPECT_EQ(tokenizer->encode("\u212b e\u0301"), (Ids{257, 259}));
    EXPECT_EQ(tokenizer->encode("\u1100\u1161\u11a8"), (Ids{258}));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("e\u0301")), "é");
  }
}

TEST(TokenizerJson, LeavesTextAsItIsWithoutANormalizer) {
  Json json = nfc_json({"é"});
  for (const Json& none :
       {Json(), Json{{"type", "Sequence"}, {"normalizers", Json::array()}}}) {
    json["normalizer"] = none;
    EXPECT_EQ(parsed(json)->decode(parsed(json)->encode("e\u0301")), "e\u0301");
  }
}

// A mark behind a byte that is no text has nothing to join.
TEST(TokenizerJson, LeavesBytesThatAreNoTextAsTheyAre) {
  const auto tokenizer = parsed(nfc_json({"é"}));
  EXPECT_EQ(tokenizer->encode("\xff"
                              "e\u0301\xcc"),
            (Ids{255, 256, 0xcc}));
  EXPECT_EQ(each_decoded(*tokenizer, tokenizer->encode("e\xff\u0301")),
            (Texts{"e", "\xff", "\xcc", "\x81"}));
}

TEST(TokenizerJson, FindsAddedTokensBeforeOrInTheForm) {
  Json json = nfc_json({"é"});
  json["model"]["merges"] = {spelled("\xc3") + " " + spelled("\xa9")};
  json["added_tokens"] = {added_token("<e", 257, true),
                          added_token("e\u0301t\u00e9", 258, false)};
  const auto raw = parsed(json);
  EXPECT_EQ(raw->encode("<e\u0301", Specials::kRecognise),
            (Ids{257, 0xcc, 0x81}));
  EXPECT_EQ(raw->encode("<e\u0301"), (Ids{'<', 256}));
  EXPECT_EQ(raw->encode("e\u0301t\u00e9"), (Ids{258}));
  EXPECT_EQ(raw->encode("\u00e9te\u0301"), (Ids{256, 't', 256}));
  for (Json& token : json["added_tokens"]) token["normalized"] = true;
  const auto formed = parsed(json);
  EXPECT_EQ(formed->encode("<e\u0301", Specials::kRecognise), (Ids{'<', 256}));
  EXPECT_EQ(formed->encode("\u00e9te\u0301"), (Ids{258}));
  EXPECT_EQ(formed->decode(Ids{258}), "e\u0301t\u00e9");
}

// Blocks may end within a character and between a letter and its marks.
TEST(TokenizerJson, GivesBlocksTheFormOfTheWhole) {
  Json json = nfc_json({"é", "Å", "각", "q\u0301", "\u1ead"});
  json["added_tokens"] = {added_token("<e", 261, false),
                          added_token("te\u0301", 262, false)};
  json["added_tokens"][1]["normalized"] = true;
  std::string text = "\u0301<e\u0301te\u0301 a\u0302\u0323\xcc q\u0301e";
  text += "\u1100\u1161\u11a8x\u0302\u0323y tte\u0301\xff\u212b e\u0301\xcc";
  for (const char* pattern : {kQwenPattern, R"(\bok\b|.)", R"(.)"}) {
    json["pre_tokenizer"] = split_by(pattern);
    const auto tokenizer = parsed(json);
    for (const std::size_t block : {1, 2, 3, 5, 7, 11})
      EXPECT_EQ(in_blocks(*tokenizer, text, block), tokenizer->encode(text));
  }
}

// ---- names ------------------------------------------------------------------

TEST(TokenizerJson, KnowsWhatEndsATextByItsName) {
  Json json = tokenizer_json();
  EXPECT_EQ(parsed(json)->end_of_text(), std::nullopt);
  json["added_tokens"] = {added_token("<|im_end|>", 256, true),
                          added_token("<|endoftext|>", 257, true)};
  EXPECT_EQ(parsed(json)->end_of_text(), 257);
}

// ---- what is refused --------------------------------------------------------

// One value of a good file is another: the message names file and key.
struct Change {
  const char* pointer;
  Json value;
  std::vector<std::string> parts;
};

TEST(TokenizerJson, NamesTheKeyOfWhatItCannotDo) {
  const Json dots = {{"type", "Metaspace"}, {"replacement", "."}};
  for (const Change& change : std::vector<Change>{
           {"/model/type", "Unigram", {"model.type", "\"Unigram\"", "BPE"}},
           {"/model/byte_fallback", 1, {"model.byte_fallback", "true"}},
           {"/model/dropout", 0.1, {"model.dropout", "0.1"}},
           {"/model/end_of_word_suffix", "</w>", {"end_of_word_suffix"}},
           {"/normalizer", {{"type", "Lowercase"}}, {"normalizer.type"}},
           {"/normalizer", {{"type", "NFD"}}, {"normalizer.type", "\"NFD\""}},
           {"/normalizer", {{"type", "Sequence"}}, {"normalizers is null"}},
           {"/normalizer",
            {{"type", "Sequence"}, {"normalizers", {{{"type", "NFKC"}}}}},
            {"normalizer.normalizers[0].type", "\"NFKC\""}},
           {"/pre_tokenizer", dots, {"pre_tokenizer.type", "Metaspace"}},
           {"/pre_tokenizer", nullptr, {"pre_tokenizer is null"}},
           {"/pre_tokenizer/add_prefix_space", true, {"add_prefix_space"}},
           {"/decoder/type", "WordPiece", {"decoder.type"}},
           {"/model/vocab", Json::array(), {"model.vocab"}},
           {"/model/vocab/a", 256.5, {"model.vocab.\"a\"", "256.5"}},
           {"/model/vocab/a", -1, {"\"a\"", "-1"}},
           {"/model/vocab/a", 98, {"98", "twice"}},
           {"/model/vocab/a", 1 << 22, {"\"a\"", "4194304"}},
           {"/model/vocab/a", ~0ull, {"model.vocab.\"a\""}},
           {"/model/vocab/日", 256, {"\"日\"", "byte"}},
           {"/model/merges", nullptr, {"model.merges"}},
           {"/model/merges", {"ab"}, {"model.merges[0]"}},
           {"/model/merges", {"a b c"}, {"model.merges[0]"}},
           {"/model/merges", {{"a"}}, {"model.merges[0]"}},
           {"/model/merges", {"a b"}, {"model.merges[0]", "\"ab\""}},
           {"/added_tokens", {added_token("x<", 97, true)}, {"\"x<\"", "97"}},
           {"/added_tokens", {added_token("a", 300, true)}, {"300", "97"}},
           {"/added_tokens", {added_token("", 300, true)}, {"300", "empty"}},
           {"/added_tokens", {added_token("<s>", -5, true)}, {"[0].id", "-5"}},
       }) {
    Json json = tokenizer_json();
    json[Json::json_pointer(change.pointer)] = change.value;
    expect_refused([&] { parsed(json); }, change.parts);
    expect_refused([&] { parsed(json); }, {"the.json"});
  }
}

TEST(TokenizerJson, RefusesHalfAVocabulary) {
  Json json = tokenizer_json();
  json["model"]["vocab"].erase("a");
  expect_refused([&] { parsed(json); }, {"the.json", "0x61"});
}

TEST(TokenizerJson, RefusesAMergeTwice) {
  Json json = tokenizer_json({"ab"});
  json["model"]["merges"] = {"a b", "a b"};
  expect_refused([&] { parsed(json); }, {"the.json", "merge 1", "twice"});
}

TEST(TokenizerJson, RefusesOtherSplits) {
  Json json = tokenizer_json();
  json["pre_tokenizer"] = split_by("(");
  expect_refused([&] { parsed(json); }, {"the.json", "\"(\"", "compile"});
  json["pre_tokenizer"] = split_by(R"(\C)");
  expect_refused([&] { parsed(json); }, {"the.json", "compile"});
  for (const char* other : {R"(\Qa\E)", "[a[b]]", "[a&&b]", "(?m).", R"(\h)"}) {
    json["pre_tokenizer"] = split_by(other);
    expect_refused([&] { parsed(json); }, {"the.json", "same sense"});
  }
  json["pre_tokenizer"] = split_by("a");
  json["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
  expect_refused([&] { parsed(json); }, {"pretokenizers[0].behavior"});
}

TEST(TokenizerJson, EndsAPatternThatRunsAway) {
  Json json = tokenizer_json();
  json["pre_tokenizer"] = split_by("(?:a|aa|aaa)+[bc]");
  const auto tokenizer = parsed(json);
  expect_refused([&] { tokenizer->encode(std::string(200, 'a')); },
                 {"the.json", "\"aaa", "limit"});
}

void expect_text_refused(const std::string& text,
                         const std::vector<std::string>& parts) {
  expect_refused(
      [&] { parse_tokenizer_json({.text = text, .source = "the.json"}); },
      parts);
}

TEST(TokenizerJson, RefusesWhatIsNoJson) {
  expect_text_refused("", {"the.json", "JSON"});
  expect_text_refused("{\"model\": ", {"the.json", "byte"});
  expect_text_refused("[]", {"the.json", "array"});
  expect_text_refused("{}", {"the.json: model"});
  expect_text_refused(R"({"a": 1, "a": 2})", {"the.json", "\"a\"", "twice"});
  expect_text_refused(std::string(100'000, '['), {"the.json", "deeper"});
}

// ---- folders ----------------------------------------------------------------

TEST(OpenTokenizer, ReadsVocabularyAndMerges) {
  const TempFolder folder;
  Json vocabulary = byte_vocabulary({"he", " he"});
  vocabulary["<|endoftext|>"] = 258;
  const std::string merges = "#version: 0.2\nh e\n\u0120 he\n";
  for (const auto& [ids, ranks] :
       {std::pair{"encoder.json", "vocab.bpe"}, {"vocab.json", "merges.txt"}}) {
    write_text(folder / ids, vocabulary.dump());
    write_text(folder / ranks, merges);
    const auto tokenizer = make_tokenizer(folder.path());
    EXPECT_EQ(tokenizer->encode("he he<|endoftext|>", Specials::kRecognise),
              (Ids{256, 257, 258}));
    EXPECT_EQ(tokenizer->name(), folder.path());
    EXPECT_EQ(tokenizer->end_of_text(), 258);
    std::filesystem::remove(folder / ids);
  }
}

TEST(OpenTokenizer, PrefersTheOneFile) {
  const TempFolder folder;
  write_text(folder / "vocab.json", "broken");
  write_text(folder / "merges.txt", "broken");
  write_text(folder / "tokenizer.json", tokenizer_json().dump());
  EXPECT_EQ(make_tokenizer(folder.path())->vocabulary(), 256);
}

TEST(OpenTokenizer, NamesTheLineOfABrokenMerge) {
  const TempFolder folder;
  write_text(folder / "vocab.json", byte_vocabulary({"he"}).dump());
  for (const char* merges :
       {"h e\nhe\n", "h e\nh e x\n", "h e\n\nh e\n", "h e\nh x\n"}) {
    write_text(folder / "merges.txt", merges);
    expect_refused([&] { open_tokenizer(folder.path()); },
                   {"merges.txt: line 2"});
  }
}

TEST(OpenTokenizer, SaysWhatAFolderLacks) {
  const TempFolder folder;
  expect_refused([&] { open_tokenizer(folder.path()); },
                 {folder.path(), "tokenizer.json", "vocab.json"});
  write_text(folder / "tokenizer.model", "x");
  expect_refused([&] { open_tokenizer(folder.path()); },
                 {"tokenizer.model", "sentencepiece"});
  std::filesystem::create_directory(folder / "tokenizer.json");
  expect_refused([&] { open_tokenizer(folder.path()); },
                 {"tokenizer.json", "regular file"});
}

}  // namespace
}  // namespace quire::data
