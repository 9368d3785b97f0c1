#include "quire/data/token_writer.h"

#include <sys/resource.h>

#include <csignal>

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

using Names = std::vector<std::string>;

std::vector<std::string> write_all(const TokenWriter::Options& options,
                                   const Ids& ids) {
  TokenWriter writer(options);
  writer.write(ids);
  return writer.finish();
}

// Beyond `bytes` every write of this process fails, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes)
      : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

TEST(TokenWriter, WritesTheLayoutByteByByte) {
  const TempFolder folder;
  const auto path = folder / "a.bin";
  write_u16(folder / "expected.bin", {1, 65535});
  EXPECT_EQ(write_all({.path = path, .vocabulary = 65536}, {1, 65535}),
            Names{path});
  EXPECT_EQ(read_text(path), read_text(folder / "expected.bin"));
}

TEST(TokenWriter, ChoosesTheWidthByTheVocabulary) {
  const TempFolder folder;
  const auto narrow = folder / "a.bin";
  const auto wide = folder / "b.bin";
  write_all({.path = narrow, .vocabulary = 65536}, {0});
  write_all({.path = wide, .vocabulary = 65537}, {65536});
  EXPECT_EQ(TokenFile(narrow).width(), TokenWidth::kU16);
  EXPECT_EQ(TokenFile(wide).width(), TokenWidth::kU32);
  EXPECT_EQ(read(TokenFile(wide), 0, 1), Ids{65536});
}

TEST(TokenWriter, KeepsLargeIdsOrRefusesThem) {
  const TempFolder folder;
  write_all({.path = folder / "a.bin", .vocabulary = 128256}, {70000});
  EXPECT_EQ(read(TokenFile(folder / "a.bin"), 0, 1), Ids{70000});
  expect_refused(
      [&] {
        write_all({.path = folder / "b.bin", .vocabulary = 65536}, {70000});
      },
      {"b.bin", "token 0 ", "70000", "65535"});
}

TEST(TokenWriter, WritesNothingOfARefusedSpan) {
  const TempFolder folder;
  TokenWriter writer({.path = folder / "a.bin", .vocabulary = 256});
  writer.write(Ids{1, 2});
  expect_refused(
      [&] {
        writer.write(Ids{3, 256});
      },
      {"a.bin", "token 3 ", "256"});
  expect_refused([&] { writer.write(Ids{-1}); }, {"token 2 ", "-1"});
  writer.write(Ids{4});
  EXPECT_EQ(writer.tokens(), 3);
  writer.finish();
  EXPECT_EQ(read(TokenSet(folder / "a.bin"), 0, 3), (Ids{1, 2, 4}));
}

TEST(TokenWriter, CutsShardsAtTheirLimit) {
  const TempFolder folder;
  TokenWriter writer(
      {.path = folder / "a.bin", .vocabulary = 256, .shard_tokens = 3});
  writer.write(counting(0, 2));
  writer.write(counting(2, 6));
  EXPECT_EQ(writer.finish().size(), 3u);
  EXPECT_EQ(folder.names(),
            (Names{"a_000001.bin", "a_000002.bin", "a_000003.bin"}));
  EXPECT_EQ(read(TokenFile(folder / "a_000003.bin"), 0, 2), (Ids{6, 7}));
  EXPECT_EQ(read(TokenSet(folder / "a.bin"), 0, 8), counting(0, 8));
}

TEST(TokenWriter, KeepsOneNameWhereOneFileIsFull) {
  const TempFolder folder;
  write_all({.path = folder / "a.bin", .vocabulary = 256, .shard_tokens = 3},
            counting(0, 3));
  EXPECT_EQ(folder.names(), Names{"a.bin"});
}

TEST(TokenWriter, NeverOverwritesUnlessTold) {
  const TempFolder folder;
  write_u16(folder / "a.bin", {9});
  expect_refused(
      [&] { TokenWriter({.path = folder / "a.bin", .vocabulary = 256}); },
      {"a.bin", "exists"});
  write_u16(folder / "b_000001.bin", {9});
  expect_refused(
      [&] { TokenWriter({.path = folder / "b.bin", .vocabulary = 256}); },
      {"b_000001.bin", "exists"});
}

TEST(TokenWriter, NeverOverwritesWhatAppearsMeanwhile) {
  const TempFolder folder;
  TokenWriter writer(
      {.path = folder / "a.bin", .vocabulary = 256, .shard_tokens = 1});
  writer.write(Ids{1, 2, 3});
  write_u16(folder / "a_000002.bin", {9});
  expect_refused([&] { writer.finish(); }, {"a_000002.bin", "exists"});
  EXPECT_EQ(read(TokenFile(folder / "a_000002.bin"), 0, 1), Ids{9});
}

TEST(TokenWriter, LeavesNothingBehindOfARefusedFinish) {
  const TempFolder folder;
  {
    TokenWriter writer(
        {.path = folder / "a.bin", .vocabulary = 256, .shard_tokens = 1});
    writer.write(Ids{1, 2, 3});
    write_u16(folder / "a_000002.bin", {9});
    EXPECT_THROW(writer.finish(), UsageError);
  }
  EXPECT_EQ(folder.names(), Names{"a_000002.bin"});
}

TEST(TokenWriter, ReplacesOldShardsWhenTold) {
  const TempFolder folder;
  const auto path = folder / "a.bin";
  write_all({.path = path, .vocabulary = 256, .shard_tokens = 1}, {1, 2, 3});
  write_all(
      {.path = path, .vocabulary = 256, .shard_tokens = 2, .replace = true},
      {4, 5, 6});
  EXPECT_EQ(folder.names(), (Names{"a_000001.bin", "a_000002.bin"}));
  EXPECT_EQ(read(TokenSet(path), 0, 3), (Ids{4, 5, 6}));
  write_all({.path = path, .vocabulary = 256, .replace = true}, {7});
  EXPECT_EQ(folder.names(), Names{"a.bin"});
  write_all(
      {.path = path, .vocabulary = 256, .shard_tokens = 1, .replace = true},
      {8, 9});
  EXPECT_EQ(read(TokenSet(path), 0, 2), (Ids{8, 9}));
}

TEST(TokenWriter, ShowsNothingUnderItsNameBeforeFinish) {
  const TempFolder folder;
  {
    TokenWriter writer({.path = folder / "a.bin", .vocabulary = 256});
    writer.write(Ids{1});
    ASSERT_EQ(folder.names().size(), 1u);
    EXPECT_EQ(folder.names()[0].front(), '.');
  }
  EXPECT_EQ(folder.names(), Names{});
}

TEST(TokenWriter, LeavesNothingBehindWhenTheDiskIsFull) {
  const TempFolder folder;
  {
    TokenWriter writer({.path = folder / "a.bin", .vocabulary = 256});
    const FileSizeLimit full(1024 + 10);
    expect_refused<SystemError>([&] { writer.write(counting(0, 100)); },
                                {"a.bin", "written"});
    expect_refused([&] { writer.finish(); }, {"a.bin", "failed"});
    expect_refused([&] { writer.write(Ids{1}); }, {"a.bin", "failed"});
  }
  EXPECT_EQ(folder.names(), Names{});
}

TEST(TokenWriter, TwoWritersOfOnePathDoNotMix) {
  const TempFolder folder;
  TokenWriter one({.path = folder / "a.bin", .vocabulary = 256});
  TokenWriter two({.path = folder / "a.bin", .vocabulary = 256});
  one.write(Ids{1});
  two.write(Ids{2});
  two.finish();
  EXPECT_THROW(one.finish(), UsageError);
  EXPECT_EQ(read(TokenFile(folder / "a.bin"), 0, 1), Ids{2});
}

TEST(TokenWriter, RefusesToFinishWithoutTokens) {
  const TempFolder folder;
  TokenWriter writer({.path = folder / "a.bin", .vocabulary = 256});
  writer.write(Ids{});
  expect_refused([&] { writer.finish(); }, {"a.bin", "no tokens"});
}

TEST(TokenWriter, NamesAFolderThatDoesNotExist) {
  const TempFolder folder;
  expect_refused(
      [&] { write_all({.path = folder / "no/a.bin", .vocabulary = 256}, {1}); },
      {"no/a.bin", "No such file"});
}

TEST(TokenWriter, RefusesImpossibleOptions) {
  expect_refused([] { TokenWriter({.path = "a.bin", .vocabulary = 0}); },
                 {"vocabulary of 0"});
  expect_refused(
      [] { TokenWriter({.path = "a.bin", .vocabulary = 2147483649}); },
      {"2147483649"});
  expect_refused(
      [] {
        TokenWriter(
            {.path = "a.bin", .vocabulary = 9, .shard_tokens = 2147483648});
      },
      {"2147483648", "2147483647"});
}

}  // namespace
}  // namespace quire::data
