#include "quire/data/token_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

void expect_file_refused(const std::string& path,
                         std::vector<std::string> parts) {
  parts.push_back(path);
  expect_refused([&] { TokenFile file(path); }, parts);
}

TEST(TokenFile, ReadsSixteenBitTokensWithoutASign) {
  const TempFolder folder;
  const TokenFile file(write_u16(folder / "a.bin", {0, 1, 50256, 65535}));
  EXPECT_EQ(file.size(), 4);
  EXPECT_EQ(file.width(), TokenWidth::kU16);
  EXPECT_EQ(read(file, 0, 4), (Ids{0, 1, 50256, 65535}));
  EXPECT_EQ(read(file, 2, 1), Ids{50256});
  EXPECT_EQ(read(file, 4, 0), Ids{});
}

TEST(TokenFile, ReadsThirtyTwoBitTokens) {
  const TempFolder folder;
  const TokenFile file(
      write_u32(folder / "a.bin", {70000, 128255, 2147483647}));
  EXPECT_EQ(file.width(), TokenWidth::kU32);
  EXPECT_EQ(read(file, 0, 3), (Ids{70000, 128255, 2147483647}));
}

TEST(TokenFile, ReadsAcrossItsBlocks) {
  const TempFolder folder;
  const TokenFile file(write_u16(folder / "a.bin", counting(0, 20000)));
  EXPECT_EQ(read(file, 0, 20000), counting(0, 20000));
  EXPECT_EQ(read(file, 4095, 8195), counting(4095, 8195));
}

TEST(TokenFile, RefusesAnIdThatNeedsTheSignBit) {
  const TempFolder folder;
  const TokenFile file(write_u32(folder / "a.bin", {7, 2147483648u}));
  EXPECT_EQ(read(file, 0, 1), Ids{7});
  expect_refused([&] { read(file, 0, 2); },
                 {file.path(), "token 1 ", "2147483648"});
}

TEST(TokenFile, RefusesRangesOutsideIt) {
  const TempFolder folder;
  const TokenFile file(write_u16(folder / "a.bin", {1, 2, 3}));
  Ids out(8);
  for (const auto& [position, count] :
       {std::pair<std::int64_t, std::int64_t>{0, 4},
        {3, 1},
        {-1, 1},
        {0, -1},
        {INT64_MAX, 2},
        {1, INT64_MAX}}) {
    expect_refused([&] { file.copy(position, count, out.data()); },
                   {file.path(), "it holds 3"});
  }
}

TEST(TokenFile, RefusesWhatIsNotARegularFile) {
  const TempFolder folder;
  expect_file_refused(folder / "missing.bin", {"No such file"});
  expect_file_refused(folder.path(), {"directory"});
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_file_refused(folder / "pipe", {"no regular file"});
}

TEST(TokenFile, RefusesOtherFiles) {
  const TempFolder folder;
  write_text(folder / "short.bin", std::string(1023, 'x'));
  expect_file_refused(folder / "short.bin", {"1023 bytes", "1024"});
  write_text(folder / "empty.bin", "");
  expect_file_refused(folder / "empty.bin", {"0 bytes", "1024"});
  // A model file of the same family.
  write_raw(folder / "model.bin", {.magic = 20240326, .version = 3});
  expect_file_refused(folder / "model.bin",
                      {"20240326", "20240520", "20240801"});
}

TEST(TokenFile, RefusesVersionsOfTheOtherWidth) {
  const TempFolder folder;
  write_raw(folder / "a.bin", {.version = 7, .count = 1, .body = "xy"});
  expect_file_refused(folder / "a.bin", {"version 7", "expected 1"});
  write_raw(folder / "b.bin",
            {.magic = 20240801, .version = 1, .count = 1, .body = "wxyz"});
  expect_file_refused(folder / "b.bin", {"version 1", "expected 7"});
}

TEST(TokenFile, RefusesSizesThatDisagreeWithTheHeader) {
  const TempFolder folder;
  write_raw(folder / "a.bin", {.count = 2, .body = "xyz"});  // half a token
  expect_file_refused(folder / "a.bin", {"1027 bytes", "1028", "truncated"});
  write_raw(folder / "b.bin", {.count = 1, .body = "xyz"});
  expect_file_refused(folder / "b.bin", {"1027 bytes", "1026", "trail"});
  write_raw(folder / "c.bin", {.count = 2147483647, .body = "xy"});
  expect_file_refused(folder / "c.bin", {"4294968318", "truncated"});
}

TEST(TokenFile, RefusesCountsThatAreNotPositive) {
  const TempFolder folder;
  write_raw(folder / "a.bin", {.count = -1, .body = "xy"});
  expect_file_refused(folder / "a.bin", {"-1 tokens"});
  write_raw(folder / "b.bin", {.count = 0});
  expect_file_refused(folder / "b.bin", {"no tokens"});
}

TEST(TokenFile, ReportsAFileThatShrankWhileOpen) {
  const TempFolder folder;
  const TokenFile file(write_u16(folder / "a.bin", counting(0, 100)));
  ASSERT_EQ(::truncate(file.path().c_str(), 1024 + 100), 0);
  EXPECT_EQ(read(file, 0, 50), counting(0, 50));
  expect_refused<SystemError>([&] { read(file, 0, 51); },
                              {file.path(), "shorter"});
}

TEST(TokenFile, NamesTheFirstIdOutsideTheVocabulary) {
  const TempFolder folder;
  Ids ids(70000, 5);  // more than one block of the pass
  ids[66000] = 256;
  ids[69000] = 300;
  const TokenFile file(write_u16(folder / "a.bin", ids));
  EXPECT_NO_THROW(file.check_ids(301));
  expect_refused([&] { file.check_ids(256); },
                 {file.path(), "token 66000 ", "id 256", "vocabulary of 256"});
}

TEST(TokenFile, HashesAlikeInBothWidths) {
  const TempFolder folder;
  Hasher narrow, wide, other;
  TokenFile(write_u16(folder / "a.bin", {1, 2, 3})).add_to(narrow);
  TokenFile(write_u32(folder / "b.bin", {1, 2, 3})).add_to(wide);
  TokenFile(write_u16(folder / "c.bin", {1, 3, 2})).add_to(other);
  EXPECT_EQ(narrow.digest(), wide.digest());
  EXPECT_NE(narrow.digest(), other.digest());
}

}  // namespace
}  // namespace quire::data
