// Vocabularies that were sentencepiece's, as Llama 2 and Mistral have them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quire/data/bpe_tokenizer.h"
#include "tests/support/token_language.h"
#include "tests/support/tokenizer_language.h"

namespace quire::data {
namespace {

using namespace quire::testing;

constexpr int kByte = 3;  // the id of <0x00>
constexpr int kBlank = 259, kA = 260, kB = 261, kBlankA = 262, kAb = 263,
              kBlankAb = 264, kBlanks = 265, kBlanksA = 266, kSharpS = 267;

Json llama_vocabulary() {
  Json vocabulary = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  const std::string digits = "0123456789ABCDEF";
  for (int b = 0; b < 256; ++b) {
    const std::string hex = {digits[std::size_t(b / 16)],
                             digits[std::size_t(b % 16)]};
    vocabulary["<0x" + hex + ">"] = kByte + b;
  }
  for (const char* token : {"▁", "a", "b", "▁a", "ab", "▁ab", "▁▁", "▁▁a", "ß"})
    vocabulary[token] = vocabulary.size();
  return vocabulary;
}

Json metaspace(const char* scheme) {
  return {{"type", "Metaspace"},
          {"replacement", "▁"},
          {"prepend_scheme", scheme},
          {"split", false}};
}

Json replace(const char* text, const char* by) {
  return {
      {"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", by}};
}

// As newer files spell it, with the blank where `scheme` says.
Json llama_json(const char* scheme = "first") {
  Json json = tokenizer_json();
  json["added_tokens"] = {added_token("<s>", 1, true),
                          added_token("</s>", 2, true)};
  json["pre_tokenizer"] = metaspace(scheme);
  json["decoder"] = {
      {"type", "Sequence"},
      {"decoders",
       {replace("▁", " "),
        {{"type", "ByteFallback"}},
        {{"type", "Fuse"}},
        {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  Json& model = json["model"];
  model["byte_fallback"] = model["fuse_unk"] = true;
  model["unk_token"] = "<unk>";
  model["vocab"] = llama_vocabulary();
  model["merges"] = {"▁ ▁", "▁ a", "a b", "▁a b", "▁ ab", "▁▁ a"};
  return json;
}

// As older files do.
Json prepending_json() {
  Json json = llama_json();
  json["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers",
       {{{"type", "Prepend"}, {"prepend", "▁"}}, replace(" ", "▁")}}};
  json["pre_tokenizer"] = nullptr;
  return json;
}

std::vector<Json> all_spellings() {
  return {prepending_json(), llama_json("first"), llama_json("always"),
          llama_json("never")};
}

// By each of them, in the order of all_spellings().
void expect_ids(const std::string& text, const std::vector<Ids>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto tokenizer = parsed(all_spellings()[i]);
    EXPECT_EQ(tokenizer->encode(text, Specials::kRecognise), ids[i])
        << text << ", spelling " << i;
  }
}

TEST(Metaspace, PutsABlankBeforeAText) {
  expect_ids("", {{}, {}, {}, {}});
  expect_ids("a", {{kBlankA}, {kBlankA}, {kBlankA}, {kA}});
  expect_ids("ab a", {{kBlankAb, kBlankA},
                      {kBlankAb, kBlankA},
                      {kBlankAb, kBlankA},
                      {kAb, kBlankA}});
}

// The older way puts one before a blank as well.
TEST(Metaspace, LetsABlankBegin) {
  expect_ids(" ", {{kBlanks}, {kBlank}, {kBlank}, {kBlank}});
  expect_ids(" a", {{kBlanksA}, {kBlankA}, {kBlankA}, {kBlankA}});
}

TEST(Metaspace, BeginsAgainBehindATokenWhereItIsToldTo) {
  const std::vector<Ids> begun = {{kBlankA, 2, kBlankA},
                                  {kBlankA, 2, kA},
                                  {kBlankA, 2, kBlankA},
                                  {kA, 2, kA}};
  expect_ids("a</s>a", begun);
  expect_ids("<s>", {{1}, {1}, {1}, {1}});
  expect_ids("<s></s>a", {{1, 2, kBlankA}, {1, 2, kA}, {1, 2, kBlankA}});
  expect_ids("</s> a", {{2, kBlanksA}, {2, kBlankA}, {2, kBlankA}});
}

TEST(Metaspace, KeepsBlanksWithTheWordBehindThem) {
  const auto tokenizer = parsed(llama_json("never"));
  EXPECT_EQ(tokenizer->encode("b  a   a  "),
            (Ids{kB, kBlanksA, kBlanks, kBlankA, kBlanks}));
}

TEST(Metaspace, TakesItsOwnSignForABlank) {
  const auto tokenizer = parsed(llama_json());
  EXPECT_EQ(tokenizer->encode("a▁b▁"), tokenizer->encode("a b "));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a▁b")), "a b");
}

TEST(Metaspace, SpellsWhatItDoesNotKnowInBytes) {
  const auto tokenizer = parsed(llama_json("never"));
  EXPECT_EQ(tokenizer->encode("ßü\n"),
            (Ids{kSharpS, kByte + 0xc3, kByte + 0xbc, kByte + 10}));
  EXPECT_EQ(tokenizer->encode("\xe2\xff"), (Ids{kByte + 0xe2, kByte + 0xff}));
  EXPECT_EQ(tokenizer->decode(Ids{kByte + 0xc3, kByte + 0xbc, kByte + 0xe2}),
            "ü\xe2");
}

TEST(Metaspace, TakesTheTextOfAByteForText) {
  const auto tokenizer = parsed(llama_json());
  EXPECT_EQ(tokenizer->encode("<0x0A>").size(), 7u);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<0x0A>")), "<0x0A>");
}

TEST(Metaspace, LosesOneBlankWhereItIsDecoded) {
  const auto tokenizer = parsed(llama_json());
  EXPECT_EQ(tokenizer->decode(Ids{kBlanksA, kBlankA}), " a a");
  EXPECT_EQ(tokenizer->decode(Ids{1, kBlankA}), "<s> a");
  EXPECT_EQ(tokenizer->decode(Ids{}), "");
  Json json = llama_json("never");
  json["decoder"]["decoders"].erase(3);
  EXPECT_EQ(parsed(json)->decode(Ids{kBlankA}), " a");
}

const std::string kAwkward =
    "a ab  a\n\n   b\t ab<s>a</s> <s></s>  b\xff\xe2\x96 aß ▁b▁▁日本 "
    "\xf0\x9f\x99\x82   ";

TEST(Metaspace, GivesAnyBytesBack) {
  const std::string text = " a\xff" + kAwkward.substr(0, kAwkward.find("▁"));
  for (const char* front : {"", " ", "\xff", "  \n", "b"}) {
    const auto tokenizer = parsed(prepending_json());
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(front + text)), front + text);
  }
}

TEST(Metaspace, GivesBlocksTheIdsOfTheWhole) {
  for (Json json : all_spellings()) {
    for (const bool normalized : {false, true}) {
      json["added_tokens"][1]["normalized"] = normalized;
      const auto tokenizer = parsed(json);
      for (const auto specials : {Specials::kAsText, Specials::kRecognise})
        for (const std::size_t block : {1, 2, 3, 5, 7, 11, 40})
          EXPECT_EQ(in_blocks(*tokenizer, kAwkward, block, specials),
                    tokenizer->encode(kAwkward, specials));
    }
  }
}

// 80 billion steps if the time grew with the square.
TEST(Metaspace, EncodesAWordOfManyLetters) {
  const auto tokenizer = parsed(prepending_json());
  for (const char* part : {"a", " ", "ü", "\n", " \n"}) {
    std::string text;
    while (text.size() < 400'000) text += part;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    EXPECT_EQ(in_blocks(*tokenizer, text, 1000), tokenizer->encode(text));
  }
}

// In a form that begins with a blank they begin with one themselves.
TEST(Metaspace, FindsAddedTokensInTheNormalForm) {
  Json json = prepending_json();
  for (Json& token : json["added_tokens"]) token["normalized"] = true;
  const auto tokenizer = parsed(json);
  const auto ids = [&](const char* text) {
    return tokenizer->encode(text, Specials::kRecognise);
  };
  EXPECT_EQ(ids("<s>a"), (Ids{1, kA}));
  EXPECT_EQ(ids("a </s>"), (Ids{kBlankA, 2}));
  EXPECT_EQ(ids("a</s>").size(), 5u);
  EXPECT_EQ(tokenizer->decode(Ids{1, kA, 2}), "<s>a </s>");
}

TEST(Metaspace, JoinsLinesWhereNewlinesAreLetters) {
  Json json = llama_json("never");
  json["model"]["vocab"]["\n"] = 268;
  json["model"]["vocab"]["a\n"] = 269;
  json["model"]["merges"].push_back("a \n");
  EXPECT_EQ(parsed(json)->encode("a\na b"), (Ids{269, kA, kBlank, kB}));
}

TEST(Metaspace, FramesAPromptAndKnowsItsEnd) {
  Json json = llama_json();
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"special_tokens",
       {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}};
  const auto tokenizer = parsed(json);
  EXPECT_EQ(tokenizer->encode_prompt("a a"), (Ids{1, kBlankA, kBlankA}));
  EXPECT_EQ(tokenizer->end_of_text(), 2);
  EXPECT_EQ(tokenizer->vocabulary(), 268);
}

TEST(Metaspace, TakesTheOlderKeyOfThePrefix) {
  Json json = llama_json();
  json["pre_tokenizer"].erase("prepend_scheme");
  json["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(parsed(json)->encode("a</s>a", Specials::kRecognise),
            (Ids{kBlankA, 2, kBlankA}));
}

// ---- what is refused --------------------------------------------------------

struct Change {
  const char* pointer;
  Json value;
  std::vector<std::string> parts;
};

void expect_all_refused(const Json& good, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    Json json = good;
    json[Json::json_pointer(change.pointer)] = change.value;
    expect_refused([&] { parsed(json); }, change.parts);
    expect_refused([&] { parsed(json); }, {"the.json"});
  }
}

TEST(Metaspace, NamesTheKeyOfWhatItCannotDo) {
  expect_all_refused(
      llama_json(),
      {{"/model/byte_fallback", false, {"decoder.type", "ByteLevel"}},
       {"/model/ignore_merges", true, {"ignore_merges", "false"}},
       {"/pre_tokenizer", nullptr, {"pre_tokenizer"}},
       {"/pre_tokenizer", {{"type", "ByteLevel"}}, {"\"Metaspace\""}},
       {"/pre_tokenizer/split", true, {"pre_tokenizer.split", "false"}},
       {"/pre_tokenizer/replacement", "_", {"replacement", "\"_\""}},
       {"/pre_tokenizer/prepend_scheme", "last", {"\"last\"", "\"never\""}},
       {"/pre_tokenizer/add_prefix_space", false, {"add_prefix_space"}},
       {"/normalizer", {{"type", "NFC"}}, {"normalizer.type", "\"NFC\""}},
       {"/normalizer", replace(" ", "▁"), {"pre_tokenizer"}},
       {"/decoder", nullptr, {"decoder"}},
       {"/decoder/type", "Metaspace", {"decoder.type", "\"Sequence\""}},
       {"/decoder/decoders", Json::array(), {"decoders", "ByteFallback"}},
       {"/decoder/decoders/0/content", "", {"decoders[0].content"}},
       {"/decoder/decoders/1/type", "Fuse", {"decoders[1].type"}},
       {"/decoder/decoders/3/start", 2, {"decoders[3].start is 2"}}});
}

TEST(Metaspace, NamesTheKeyOfAnotherNormalizer) {
  const char* const first = "/normalizer/normalizers/0";
  expect_all_refused(
      prepending_json(),
      {{first, {{"type", "NFKC"}}, {"normalizers[0].type", "\"NFKC\""}},
       {first, replace(" ", "▁"), {"normalizers[1].type"}},
       {"/normalizer/normalizers/0/prepend", "x", {"normalizers[0].prepend"}},
       {"/normalizer/normalizers/1/content", "", {"normalizers[1].content"}},
       {"/normalizer/normalizers/1/pattern", {{"Regex", " "}}, {"pattern"}},
       {"/normalizer", {{"type", "Prepend"}, {"prepend", "▁"}}, {"Replace"}}});
}

Json with_merge(const char* left, const char* right) {
  Json json = llama_json();
  json["model"]["vocab"][std::string(left) + right] = 268;
  json["model"]["merges"].push_back({left, right});
  return json;
}

TEST(Metaspace, RefusesMergesOfWordsAndOfBytes) {
  expect_refused([] { parsed(with_merge("a", "▁a")); },
                 {"the.json", "\"a\"", "\" a\"", "U+2581"});
  expect_refused([] { parsed(with_merge("<0x0A>", "a")); },
                 {"the.json", "bytes"});
}

TEST(Metaspace, RefusesAVocabularyThatLacksAByteOrTheBlank) {
  for (const char* missing : {"<0x0A>", "▁"}) {
    Json json = llama_json();
    json["model"]["vocab"].erase(missing);
    json["model"]["merges"] = Json::array();
    expect_refused([&] { parsed(json); }, {"the.json", "no token stands for"});
  }
  Json json = llama_json();
  json["added_tokens"].push_back(added_token("<0x0A>", kByte + 10, false));
  expect_refused([&] { parsed(json); }, {"the.json", "\"<0x0A>\""});
}

}  // namespace
}  // namespace quire::data
