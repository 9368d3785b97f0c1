#include "quire/core/bytes.h"

#include <gtest/gtest.h>

#include <limits>

#include "quire/core/error.h"

namespace quire {
namespace {

TEST(FormatBytes, IsExactBelowOneKiB) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(-64), "-64 B");
}

TEST(FormatBytes, UsesTheLargestUnitThatFits) {
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(24 << 20), "24.0 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::max()), "8.0 EiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::min()), "-8.0 EiB");
}

TEST(ParseBytes, ReadsNumbersAndUnits) {
  EXPECT_EQ(parse_bytes("1000"), 1000);
  EXPECT_EQ(parse_bytes("7B"), 7);
  EXPECT_EQ(parse_bytes("24MiB"), 25165824);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 1610612736);
  EXPECT_EQ(parse_bytes("0.3KiB"), 307);  // 307.2
  EXPECT_EQ(parse_bytes("9223372036854775807"),
            std::numeric_limits<std::int64_t>::max());
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text :
       {"", "MiB", "-1", "1.5", "1.5B", "1MB", "1 mib", "1..5GiB", "1.GiB",
        ".5GiB", "1GiB ", "0x10", "1e3", "none", "1.0000000001GiB", "1  GiB"}) {
    EXPECT_THROW(parse_bytes(text), UsageError) << text;
  }
}

TEST(ParseBytes, RefusesWhatDoesNotFit63Bits) {
  EXPECT_EQ(parse_bytes("8191.999PiB"), 9223370910954868965);
  for (const char* text : {"9223372036854775808", "8192PiB",
                           "99999999999999999999", "9007199254740992KiB"}) {
    EXPECT_THROW(parse_bytes(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace quire
