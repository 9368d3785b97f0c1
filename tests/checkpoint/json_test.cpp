#include "quire/checkpoint/json.h"

#include <gtest/gtest.h>

#include "tests/support/tensors.h"

namespace quire::checkpoint {
namespace {

using namespace quire::testing;

Json parse(std::string_view text) { return Json::parse(text, "a.json"); }

TEST(Json, SaysFileAndKeyOfWhatIsNotAsAsked) {
  const Json json = parse(R"({"files": [{"name": 3}]})");
  expect_mentions(
      usage_error_of([&] { json.at("files").items()[0].at("name").string(); }),
      {"a.json", "files[0].name", "3", "string"});
  expect_mentions(usage_error_of([&] { json.at("step"); }),
                  {"a.json", "\"step\"", "missing"});
}

TEST(Json, RefusesAKeyTwiceInOneObject) {
  expect_mentions(usage_error_of([] { parse(R"({"a": 1, "a": 2})"); }),
                  {"a.json", "\"a\"", "twice"});
  EXPECT_EQ(parse(R"({"a": {"b": 1}, "b": 2})").at("b").integer(), 2);
}

TEST(Json, RefusesNestingThatWouldEndTheStack) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 200000; ++i) text += open;
    expect_mentions(usage_error_of([&] { parse(text); }), {"nested deeper"});
  }
}

TEST(Json, RefusesWhatIsNoWholeNumber) {
  for (const char* text : {"1.0", "1e3", "18446744073709551616", "-1", "\"1\"",
                           "true", "null", "[]"})
    usage_error_of([&] { parse(text).integer(); });
  EXPECT_EQ(parse("9223372036854775807").integer(), 9223372036854775807);
  EXPECT_EQ(parse("18446744073709551615").unsigned_integer(),
            18446744073709551615u);
  usage_error_of([] { parse("9223372036854775808").integer(); });
}

TEST(Json, RefusesBrokenText) {
  for (const char* text : {"", "{", "{} {}", "nan", "{\"a\": }", "\"\xff\"",
                           "{'a': 1}", "[1,]", "1e999"})
    expect_mentions(usage_error_of([&] { parse(text); }), {"a.json"});
}

TEST(Json, KeepsOrderAndNumbersInItsText) {
  const std::string text = R"({"b":0.1,"a":[1,2.0,18446744073709551615,null]})";
  const Json again = parse(parse(text).text());
  EXPECT_EQ(again.text(), parse(text).text());
  EXPECT_EQ(again.members()[0].first, "b");
  EXPECT_EQ(again.at("b").real(), 0.1);
  EXPECT_EQ(again.at("a").items()[1].kind(), Json::Kind::kReal);
}

}  // namespace
}  // namespace quire::checkpoint
