#include "quire/data/token_set.h"

#include <filesystem>

#include "quire/data/token_paths.h"
#include "tests/support/token_language.h"

namespace quire::data {
namespace {

// 0 1 2 | 3 | 4 5 6 7 8, the middle one 32 bits wide.
void write_three_shards(const TempFolder& folder) {
  write_u16(folder / "train_000001.bin", counting(0, 3));
  write_u32(folder / "train_000002.bin", {3});
  write_u16(folder / "train_000003.bin", counting(4, 5));
}

TEST(TokenPaths, NumberShardsBeforeTheExtension) {
  EXPECT_EQ(shard_path("tokens/train.bin", 1), "tokens/train_000001.bin");
  EXPECT_EQ(shard_path("train", 999999), "train_999999");
  expect_refused([] { shard_path("train.bin", 1000000); }, {"1000000"});
}

TEST(TokenSet, IsOneSequenceOverItsShards) {
  const TempFolder folder;
  write_three_shards(folder);
  const TokenSet tokens(folder / "train.bin");
  EXPECT_EQ(tokens.size(), 9);
  for (std::int64_t begin = 0; begin <= 9; ++begin) {
    for (std::int64_t count = 0; begin + count <= 9; ++count) {
      EXPECT_EQ(read(tokens, begin, count),
                counting(static_cast<int>(begin), static_cast<int>(count)));
    }
  }
}

TEST(TokenSet, RefusesRangesOutsideIt) {
  const TempFolder folder;
  write_three_shards(folder);
  const TokenSet tokens(folder / "train.bin");
  Ids out(16);
  for (const auto& [position, count] :
       {std::pair<std::int64_t, std::int64_t>{0, 10},
        {9, 1},
        {-1, 1},
        {INT64_MAX, 1}}) {
    expect_refused([&] { tokens.copy(position, count, out.data()); },
                   {"train.bin", "holds 9"});
  }
}

TEST(TokenSet, OpensWhatAPatternMatchesInTheOrderOfNames) {
  const TempFolder folder;
  write_u16(folder / "b_train_1.bin", {3, 4});
  write_u16(folder / "a_train_2.bin", {1, 2});
  write_u16(folder / "a_validation_1.bin", {9});
  write_u16(folder / ".a_train_0.bin.7-0", {9});  // another writer's
  const TokenSet tokens(folder / "*_train_*.bin");
  EXPECT_EQ(read(tokens, 0, 4), (Ids{1, 2, 3, 4}));
  expect_refused([&] { TokenSet(folder / "*.tokens"); }, {"*.tokens"});
}

TEST(TokenSet, RefusesAMissingShard) {
  const TempFolder folder;
  write_three_shards(folder);
  std::filesystem::remove(folder / "train_000002.bin");
  expect_refused([&] { TokenSet(folder / "train.bin"); },
                 {"train_000002.bin", "missing"});
  write_three_shards(folder);
  std::filesystem::remove(folder / "train_000001.bin");
  expect_refused([&] { TokenSet(folder / "train.bin"); },
                 {"train_000001.bin", "missing"});
}

TEST(TokenSet, RefusesAFileBesideItsOwnShards) {
  const TempFolder folder;
  write_three_shards(folder);
  write_u16(folder / "train.bin", {1});
  expect_refused([&] { TokenSet(folder / "train.bin"); },
                 {"train.bin", "train_000001.bin", "both"});
}

TEST(TokenSet, NamesThePathThatDoesNotExist) {
  const TempFolder folder;
  write_u16(folder / "training_000001.bin", {1});
  write_u16(folder / "train_00001.bin", {1});  // five digits
  expect_refused([&] { TokenSet(folder / "train.bin"); },
                 {"train.bin", "train_000001.bin", "does not exist"});
  expect_refused([&] { TokenSet(folder / "no/such.bin"); }, {"no/such.bin"});
}

TEST(TokenSet, NamesTheShardOfABadId) {
  const TempFolder folder;
  write_three_shards(folder);
  const TokenSet tokens(folder / "train.bin");
  EXPECT_NO_THROW(tokens.check_ids(9));
  expect_refused([&] { tokens.check_ids(8); },
                 {"train_000003.bin", "token 4 ", "id 8"});
}

TEST(TokenSet, HashesTheTokensAndNotTheirFiles) {
  const TempFolder folder;
  write_three_shards(folder);
  const auto sharded = TokenSet(folder / "train.bin").content_hash();
  EXPECT_EQ(sharded, counting_tokens(folder, 9)->content_hash());
  EXPECT_NE(sharded, counting_tokens(folder, 8)->content_hash());
}

}  // namespace
}  // namespace quire::data
