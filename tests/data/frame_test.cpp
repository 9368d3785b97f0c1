// What files of a tokenizer say is put around a text.
#include <gtest/gtest.h>

#include "quire/data/tokenizer.h"
#include "tests/support/token_language.h"
#include "tests/support/tokenizer_language.h"

namespace quire::data {
namespace {

using namespace quire::testing;

Json special(const char* token) {
  return {{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
}

Json sequence(const char* name) {
  return {{"Sequence", {{"id", name}, {"type_id", 0}}}};
}

Json entry(const char* name, const Ids& ids, const Texts& tokens) {
  return {{"id", name}, {"ids", ids}, {"tokens", tokens}};
}

// Llama 3's, as it is published, with its first token as 256.
Json framed_json() {
  Json json = tokenizer_json();
  json["added_tokens"] = {added_token("<|begin_of_text|>", 256, true),
                          added_token("<|eot_id|>", 257, true)};
  const Json bytes = {{"type", "ByteLevel"}, {"trim_offsets", false}};
  const Json begin = special("<|begin_of_text|>");
  const Json frame = {{"type", "TemplateProcessing"},
                      {"single", {begin, sequence("A")}},
                      {"pair", {begin, sequence("A"), begin, sequence("B")}},
                      {"special_tokens",
                       {{"<|begin_of_text|>", entry("<|begin_of_text|>", {256},
                                                    {"<|begin_of_text|>"})}}}};
  json["post_processor"] = {{"type", "Sequence"},
                            {"processors", {bytes, frame}}};
  return json;
}

const Json::json_pointer kTemplate("/post_processor/processors/1");

TEST(Frame, BeginsAPromptAsItsTemplateSays) {
  const auto tokenizer = parsed(framed_json());
  EXPECT_EQ(tokenizer->encode_prompt("ab<|eot_id|>"),
            (Ids{256, 'a', 'b', 257}));
  EXPECT_EQ(tokenizer->encode_prompt(""), (Ids{256}));
  EXPECT_EQ(tokenizer->encode("ab"), (Ids{'a', 'b'}));  // no frame
}

// As the original does, one that is there already does not count.
TEST(Frame, IsPutAroundAFrame) {
  EXPECT_EQ(parsed(framed_json())->encode_prompt("<|begin_of_text|>a"),
            (Ids{256, 256, 'a'}));
}

TEST(Frame, HasTwoSidesAndEntriesOfManyIds) {
  Json json = framed_json();
  Json& frame = json[kTemplate];
  frame["single"] = {special("x"), special("y"), sequence("A"), special("y")};
  frame["special_tokens"] = {{"x", entry("x", {257, 'b'}, {"<|eot_id|>", "b"})},
                             {"y", entry("y", {' '}, {"\u0120"})}};
  EXPECT_EQ(parsed(json)->encode_prompt("a"), (Ids{257, 'b', ' ', 'a', ' '}));
}

TEST(Frame, IsEmptyWhereNothingIsSaid) {
  Json json = tokenizer_json();
  for (const Json& said :
       {Json(), Json{{"type", "ByteLevel"}},
        Json{{"type", "Sequence"}, {"processors", Json::array()}}}) {
    json["post_processor"] = said;
    EXPECT_EQ(parsed(json)->encode_prompt("a"), (Ids{'a'}));
  }
  EXPECT_EQ(BytesTokenizer().encode_prompt("a"), (Ids{'a'}));
  EXPECT_EQ(make_tokenizer("gpt2")->encode_prompt("a"), (Ids{64}));
}

struct Change {
  const char* pointer;  // within the template
  Json value;
  std::vector<std::string> parts;
};

TEST(Frame, NamesTheKeyOfWhatIsWrong) {
  const char* const name = "/special_tokens/<|begin_of_text|>";
  const auto of_entry = [&](const char* key) {
    return name + std::string(key);
  };
  const std::string ids = of_entry("/ids"), tokens = of_entry("/tokens");
  const Json twice = {sequence("A"), sequence("A")};
  for (const Change& change : std::vector<Change>{
           {"/type", "BertProcessing", {"processors[1].type", "Bert"}},
           {"/single", nullptr, {"single is null", "an array"}},
           {"/single", "<s> $A", {"single", "an array"}},
           {"/single", Json::array(), {"single", "sequence \"A\""}},
           {"/single", {sequence("B")}, {"single[0].Sequence.id", "\"B\""}},
           {"/single", twice, {"single[1].Sequence.id", "once"}},
           {"/single", {"A"}, {"single[0]", "an object"}},
           {"/single", {special("z")}, {"single[0].SpecialToken.id", "\"z\""}},
           {"/single", Json(65, special("<|begin_of_text|>")), {"64 tokens"}},
           {"/special_tokens", nullptr, {"special_tokens is null"}},
           {ids.c_str(), {-1}, {"ids[0] is -1", "begin_of_text"}},
           {ids.c_str(), {258}, {"ids[0] is 258"}},
           {ids.c_str(), {257}, {"ids[0] is 257"}},
           {ids.c_str(), {~0ull}, {"ids[0]", "whole number"}},
           {ids.c_str(), {256, 256}, {"ids", "1 ids, as many as tokens"}},
           {tokens.c_str(), {"other"}, {"ids[0] is 256", "\"other\""}},
           {tokens.c_str(), {7}, {"tokens[0] is 7"}},
       }) {
    Json json = framed_json();
    json[kTemplate][Json::json_pointer(change.pointer)] = change.value;
    expect_refused([&] { parsed(json); }, change.parts);
    expect_refused([&] { parsed(json); }, {"the.json: post_processor"});
  }
}

TEST(Frame, IsSaidOnce) {
  Json json = framed_json();
  Json& list = json["post_processor"]["processors"];
  list.push_back(list[1]);
  expect_refused([&] { parsed(json); }, {"processors[2]", "one template"});
  for (int i = 0; i < 9; ++i)
    json["post_processor"] = {{"type", "Sequence"},
                              {"processors", {json["post_processor"]}}};
  expect_refused([&] { parsed(json); }, {"processors[0].type", "Sequence"});
}

// ---- tokenizer_config.json --------------------------------------------------

// vocab.json and merges.txt, which say no frame, with <|endoftext|> as 256 and
// <s> as 257.
class FrameOfAFolder : public ::testing::Test {
 protected:
  FrameOfAFolder() {
    Json vocabulary = byte_vocabulary();
    vocabulary["<|endoftext|>"] = 256;
    vocabulary["<s>"] = 257;
    write_text(folder_ / "vocab.json", vocabulary.dump());
    write_text(folder_ / "merges.txt", "#version: 0.2\n");
  }
  Ids prompt(const Json& config) const {
    write_text(folder_ / "tokenizer_config.json", config.dump());
    return make_tokenizer(folder_.path())->encode_prompt("a");
  }
  TempFolder folder_;
};

TEST_F(FrameOfAFolder, IsThatOfItsConfiguration) {
  EXPECT_EQ(prompt({{"model_max_length", 1024}}), (Ids{'a'}));
  EXPECT_EQ(prompt({{"add_bos_token", false}}), (Ids{'a'}));
  EXPECT_EQ(prompt({{"add_bos_token", true}}), (Ids{256, 'a'}));
  EXPECT_EQ(prompt({{"add_eos_token", true}}), (Ids{'a', 256}));
  EXPECT_EQ(prompt({{"add_bos_token", true}, {"bos_token", "<s>"}}),
            (Ids{257, 'a'}));
  EXPECT_EQ(prompt({{"add_bos_token", true}, {"bos_token", nullptr}}),
            (Ids{'a'}));
  EXPECT_EQ(prompt({{"add_bos_token", true},
                    {"bos_token", {{"content", "<s>"}, {"lstrip", false}}},
                    {"add_eos_token", true}}),
            (Ids{257, 'a', 256}));
}

TEST_F(FrameOfAFolder, NamesTheKeyOfWhatIsWrong) {
  const auto refuse = [&](const Json& config, const char* part) {
    expect_refused([&] { prompt(config); }, {"tokenizer_config.json", part});
  };
  refuse({{"add_bos_token", 1}}, "add_bos_token is 1");
  refuse({{"add_bos_token", true}, {"bos_token", "<b>"}}, "\"<b>\"");
  refuse({{"add_bos_token", true}, {"bos_token", 3}}, "bos_token is 3");
  refuse({{"add_bos_token", true}, {"bos_token", ""}}, "bos_token is \"\"");
  refuse({{"add_eos_token", true}, {"eos_token", Json::object()}}, "content");
  refuse(Json::array(), "is an array");
}

// As with the model's own tools.
TEST_F(FrameOfAFolder, IsThatOfTheOneFileWhereThereIsOne) {
  write_text(folder_ / "tokenizer.json", framed_json().dump());
  EXPECT_EQ(prompt({{"add_bos_token", false}}), (Ids{256, 'a'}));
}

}  // namespace
}  // namespace quire::data
