#include "quire/data/detail/nfc.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quire::data {
namespace {

std::string form_of(const std::string& text) {
  return std::string(normal_form(text).text());
}

struct Forms {
  const char* text;
  const char* form;
};

// From Unicode's Standard Annex 15 and its tables.
TEST(Nfc, CombinesCharacters) {
  for (const auto& [text, form] : std::vector<Forms>{
           {"e\u0301", "\u00e9"},
           {"\u212b", "\u00c5"},              // the sign for angstrom
           {"\u2126 \u212a", "\u03a9 K"},     // ohm and kelvin
           {"s\u0323\u0307", "\u1e69"},       // two marks
           {"s\u0307\u0323", "\u1e69"},       // in the other order
           {"a\u0302\u0323x", "\u1eadx"},     // a circumflex, a dot below
           {"\u1100\u1161", "\uac00"},        // Hangul: two letters
           {"\u1112\u1161\u11ab", "\ud55c"},  // and three
           {"\uac00\u11a8", "\uac01"},
           {"\u09c7\u09d7", "\u09cc"},  // vowels of two signs
           {"\u1025\u102e", "\u1026"},
           {"\U00011131\U00011127", "\U0001112e"},
           {"\u0958", "\u0915\u093c"},  // what is never combined
           {"\u0344", "\u0308\u0301"},
           {"\U0001d15e", "\U0001d157\U0001d165"},
       })
    EXPECT_EQ(form_of(text), form) << text;
}

TEST(Nfc, CopiesNothingThatHasItsForm) {
  for (const char* text :
       {"", "plain", "caf\u00e9", "q\u0301",  // no such letter
        "\u0301 at the front", "\u0928\u0940\u094d", "\u65e5\u672c",
        "\uac00\u11a7",  // joins no syllable
        "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U000e0041\U0010ffff"}) {
    EXPECT_EQ(form_of(text), text);
    EXPECT_EQ(normal_form(text).text().data(), text) << text;
  }
}

// 10^10 steps if the time grew with the square.
TEST(Nfc, PutsManyMarksInOrder) {
  std::string text = "x", above, below;
  for (int i = 0; i < 100'000; ++i) {
    text += "\u0302\u0323";
    above += "\u0302", below += "\u0323";
  }
  EXPECT_EQ(form_of(text), "x" + below + above);
}

// a e ' ' b e ' ' are bytes 0 to 7, and 0 to 5 in the form: a é é b é é.
TEST(Nfc, KnowsWhereAPlaceComesFrom) {
  const std::string text = "ae\u0301be\u0301";
  const TextForm normal = normal_form(text);
  const std::vector<std::optional<std::size_t>> origins = {0, 1,  {}, 4,
                                                           5, {}, 8};
  for (std::size_t place = 0; place < origins.size(); ++place)
    EXPECT_EQ(normal.origin(place), origins[place]) << place;
  EXPECT_EQ(normal_form("abc").origin(2), 2u);
}

TEST(Nfc, SettlesNoSegmentThatMayGoOn) {
  EXPECT_EQ(last_segment("abc"), 2u);
  EXPECT_EQ(last_segment("abe\u0301\u0323"), 2u);
  EXPECT_EQ(last_segment("\u0301"), 0u);
  EXPECT_EQ(last_segment(""), 0u);
}

}  // namespace
}  // namespace quire::data
