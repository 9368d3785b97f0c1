#include "quire/train/detail/characters.h"

#include <gtest/gtest.h>

namespace quire::train {
namespace {

TEST(Characters, AreGivenOnWhenTheyAreWhole) {
  Characters characters;
  EXPECT_EQ(characters.take("a\xe2\x82"), "a");
  EXPECT_EQ(characters.take("\xac\xf0"), "\xe2\x82\xac");
  EXPECT_EQ(characters.take("\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(characters.rest(), "");
}

TEST(Characters, HoldNothingBackThatCannotBecomeOne) {
  Characters characters;
  EXPECT_EQ(characters.take("\x80\xff\xc0"), "\x80\xff\xc0");
  EXPECT_EQ(characters.take("\xe2\x82"), "");
  EXPECT_EQ(characters.take("b"),
            "\xe2\x82"
            "b");
}

TEST(Characters, EndWithWhatIsLeft) {
  Characters characters;
  EXPECT_EQ(characters.take("\xc3"), "");
  EXPECT_EQ(characters.rest(), "\xc3");
}

}  // namespace
}  // namespace quire::train
