#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>

#include "quire/checkpoint/safetensors.h"
#include "quire/checkpoint/verify.h"
#include "quire/core/hash.h"
#include "tests/checkpoint/checkpoint_language.h"
#include "tests/support/unopenable.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;
using quire::testing::zeros;
namespace fs = std::filesystem;

// A run with one step of two ranks, to be damaged.
struct Saved {
  Saved() { save_world(run.path(), kSmall, {.step = 3}, 2); }
  std::string shard(int rank) const {
    return step + "/shard-0000" + std::to_string(rank) +
           "-of-00002.safetensors";
  }
  std::string manifest() const { return step + "/manifest.json"; }

  TempFolder run;
  std::string step = run / "step-00000003";
};

std::string text_of(const std::string& path) {
  return read_text(path, 1 << 24);
}
void overwrite(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
void flip_byte(const std::string& path, std::int64_t at) {
  std::string bytes = text_of(path);
  bytes[static_cast<std::size_t>(at)] ^= 1;
  overwrite(path, bytes);
}
// Where the data of a tensor lies in its file.
std::int64_t place_of(const std::string& path, const std::string& name) {
  const SafetensorsFile file(path);
  return file.bytes() - file.entries().back().end + file.at(name).begin;
}
// The manifest with `from` replaced once and a checksum that fits again.
void edit_manifest(const Saved& saved, const std::string& from,
                   const std::string& to) {
  std::string text = text_of(saved.manifest());
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto end = text.rfind(" \"checksum\": ");
  const std::string body = text.substr(0, end);
  overwrite(saved.manifest(),
            body + " \"checksum\": \"" + to_hex(hash64(body)) + "\"\n}\n");
}

std::string open_error(const Saved& saved) {
  return usage_error_of([&] { Checkpoint::open(saved.step); });
}

TEST(Damage, AByteThatChangedIsFoundByEveryReaderOfItsTile) {
  const Saved saved;
  flip_byte(saved.shard(0), place_of(saved.shard(0), "master:p3") + 1024 + 5);
  const auto checkpoint = Checkpoint::open(saved.step);
  checkpoint.load("master", "p3", 0, zeros({256}));
  expect_mentions(system_error_of([&] {
                    checkpoint.load("master", "p3", 300, zeros({2}));
                  }),
                  {"shard-00000-of-00002", "master:p3", "[256, 512)"});
  const auto damage = verify(saved.step);
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_EQ(damage[0].kind, Damage::Kind::kHash);
  expect_mentions(damage[0].message, {"master:p3", "[256, 512)"});
}

TEST(Damage, EveryFlippedByteOfAStepIsReported) {
  const Saved saved;
  for (const auto& path : {saved.shard(1), saved.manifest()}) {
    const std::string whole = text_of(path);
    const std::size_t stride = 1 + whole.size() / 97;
    for (std::size_t at = 0; at < whole.size(); at += stride) {
      flip_byte(path, static_cast<std::int64_t>(at));
      EXPECT_FALSE(verify(saved.step).empty()) << path << " byte " << at;
      overwrite(path, whole);
    }
  }
  EXPECT_TRUE(verify(saved.step).empty());
}

TEST(Damage, AHeaderThatChangedIsCalledOne) {
  const Saved saved;
  const std::string whole = text_of(saved.shard(1));
  for (const std::int64_t at : {0, 8, 9, 40, 400}) {
    flip_byte(saved.shard(1), at);
    expect_mentions(open_error(saved), {"shard-00001-of-00002", "header"});
    overwrite(saved.shard(1), whole);
  }
}

TEST(Damage, OfTheConfigurationIsReportedIfItIsABlank) {
  const Saved saved;
  const std::string path = saved.step + "/resolved_config.json";
  std::string text = text_of(path);
  text[text.find(' ')] = '\t';
  overwrite(path, text);
  const auto damage = verify(saved.step);
  ASSERT_EQ(damage.size(), 1u);
  expect_mentions(damage[0].message, {"resolved_config.json", "manifest"});
}

TEST(Damage, VerifyReportsAllOfIt) {
  const Saved saved;
  flip_byte(saved.shard(0), place_of(saved.shard(0), "master:p0"));
  flip_byte(saved.shard(1), place_of(saved.shard(1), "exp_avg:p5"));
  fs::remove(saved.step + "/resolved_config.json");
  const auto damage = verify(saved.run.path());
  ASSERT_EQ(damage.size(), 3u);
  EXPECT_EQ(damage[0].kind, Damage::Kind::kFormat);
  EXPECT_EQ(damage[1].kind, Damage::Kind::kHash);
}

// Ends the process; on stderr what verify says of the step.
[[noreturn]] void tell_damage(const Saved& saved) {
  for (const auto& [kind, message] : verify(saved.step)) {
    const bool is_hash = kind == Damage::Kind::kHash;
    const bool is_forbidden = kind == Damage::Kind::kForbidden;
    std::cerr << (is_hash        ? "hash"
                  : is_forbidden ? "forbidden"
                                 : "format")
              << ": " << message << "\n";
  }
  ::_exit(0);
}

// As somebody whom permissions hold.
[[noreturn]] void tell_damage_as_another(const Saved& saved) {
  if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
  tell_damage(saved);
}

TEST(Damage, IsNotSaidOfWhatMayNotBeRead) {
  const Saved saved;
  for (const std::string& folder : {saved.run.path(), saved.step})
    ::chmod(folder.c_str(), 0755);
  for (const auto& file : fs::directory_iterator(saved.step))
    ::chmod(file.path().c_str(), 0644);
  ::chmod(saved.shard(1).c_str(), 0);
  flip_byte(saved.shard(0), place_of(saved.shard(0), "master:p0"));
  EXPECT_EXIT(tell_damage_as_another(saved), ::testing::ExitedWithCode(0),
              "^forbidden: .*shard-00001-of-00002.safetensors cannot be "
              "opened: Permission denied\nhash: .*elements .*\n$");
}

TEST(Damage, IsNotSaidOfWhatCannotBeOpened) {
  const Saved saved;
  quire::testing::make_unopenable(saved.shard(1));
  const auto damage = verify(saved.step);
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_EQ(damage[0].kind, Damage::Kind::kUnread);
  expect_mentions(damage[0].message,
                  {"shard-00001-of-00002.safetensors cannot be opened: No "
                   "such device or address"});
}

TEST(Damage, AShardThatIsCutOrGoneIsNamed) {
  for (const std::int64_t bytes : {0, 7, 100, 4000}) {
    const Saved saved;
    fs::resize_file(saved.shard(1), static_cast<std::uintmax_t>(bytes));
    expect_mentions(open_error(saved), {"shard-00001-of-00002"});
    EXPECT_EQ(verify(saved.step).size(), 1u);
  }
  const Saved saved;
  fs::remove(saved.shard(0));
  expect_mentions(open_error(saved), {"shard-00000", "does not exist"});
}

// p5 stands in both shards.
TEST(Damage, OfTheOtherPartsIsNamedWhereAShardIsGone) {
  const Saved saved;
  fs::remove(saved.shard(0));
  flip_byte(saved.shard(1), place_of(saved.shard(1), "master:p5"));
  const auto damage = verify(saved.step);
  ASSERT_EQ(damage.size(), 2u);
  expect_mentions(damage[0].message, {"shard-00000", "does not exist"});
  expect_mentions(damage[1].message, {"shard-00001", "master:p5", "fail"});
}

TEST(Damage, ShardsOfAnotherStepOrRankAreNotTakenForTheirs) {
  const Saved saved;
  fs::rename(saved.shard(0), saved.step + "/x");
  fs::rename(saved.shard(1), saved.shard(0));
  fs::rename(saved.step + "/x", saved.shard(1));
  expect_mentions(open_error(saved), {"shard-0000"});

  // The same sizes and the same header, from another run.
  const Saved mine, other;
  Model changed = kSmall;
  changed.kinds[2].offset = 9.0f;
  save_world(other.run.path(), changed, {.step = 3}, 2);
  fs::copy_file(other.shard(0), mine.shard(0),
                fs::copy_options::overwrite_existing);
  const auto checkpoint = Checkpoint::open(mine.step);
  expect_mentions(
      system_error_of([&] { checkpoint.load("master", "p0", 0, zeros({7})); }),
      {"master:p0", "of another checkpoint"});
  EXPECT_FALSE(verify(mine.step).empty());
}

TEST(Damage, ACutOrChangedManifestIsRefused) {
  const Saved saved;
  const std::string whole = text_of(saved.manifest());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
    overwrite(saved.manifest(), whole.substr(0, size));
    expect_mentions(open_error(saved), {"manifest.json", "cut short"});
  }
  overwrite(saved.manifest(), whole + " ");
  expect_mentions(open_error(saved), {"manifest.json"});
}

TEST(Damage, AManifestMustKeepTheRulesEvenIfItsChecksumFits) {
  const auto refusal = [](const std::string& from, const std::string& to) {
    const Saved saved;
    edit_manifest(saved, from, to);
    return open_error(saved);
  };
  expect_mentions(refusal("\"version\": 1", "\"version\": 2"),
                  {"version 2", "version 1"});
  expect_mentions(refusal("\"step\": 3", "\"step\": -3"), {"step", "-3"});
  expect_mentions(refusal("\"step\": 3,", ""), {"\"step\"", "missing"});
  expect_mentions(refusal("\"step\": 3", "\"step\": 3, \"step\": 3"),
                  {"twice"});
  expect_mentions(refusal("\"name\": \"p1\"", "\"name\": \"p0\""),
                  {"p0", "unique"});
  expect_mentions(refusal("\"first\": 0", "\"first\": 256"), {"hole"});
  expect_mentions(refusal("\"count\": 7", "\"count\": 8"), {"exp_avg:p0"});
  expect_mentions(refusal("\"count\": 7", "\"count\": 6"), {"6 of 7"});
  expect_mentions(refusal("\"file\": 0", "\"file\": 2"), {"listed"});
  expect_mentions(refusal("\"shape\": [\n    7\n   ]", "\"shape\": [-7]"),
                  {"parameters[0].shape[0]", "-7"});
  expect_mentions(refusal("\"fp32\"", "\"fp33\""), {"fp33", "dtype"});
  expect_mentions(refusal("\"kind\": \"exp_avg\"", "\"kind\": \"momentum\""),
                  {"p0", "sorted"});
  expect_mentions(refusal("\"kernels\": \"0", "\"kernels\": \"x"),
                  {"kernels", "hexadecimal"});
  expect_mentions(refusal("\"config\": {", "\"config\": [], \"x\": {"),
                  {"config"});
}

TEST(Damage, FileNamesThatLeaveTheFolderAreNeverOpened) {
  for (const std::string name :
       {"../x", "/etc/passwd", "a/../../x", "", ".", "..", "x\\u0000y"}) {
    const Saved saved;
    edit_manifest(saved, "shard-00000-of-00002.safetensors", name);
    expect_mentions(open_error(saved), {"manifest.json", "plain"});
  }
}

TEST(Damage, OnlyRegularFilesAreShards) {
  const Saved saved;
  fs::rename(saved.shard(0), saved.run / "outside");
  fs::create_symlink(saved.run / "outside", saved.shard(0));
  expect_mentions(open_error(saved), {"shard-00000", "symbolic link"});
  fs::remove(saved.shard(0));
  ASSERT_EQ(::mkfifo(saved.shard(0).c_str(), 0600), 0);
  expect_mentions(open_error(saved), {"shard-00000", "no regular file"});
  fs::remove(saved.shard(0));
  fs::create_directory(saved.shard(0));
  expect_mentions(open_error(saved), {"shard-00000", "no regular file"});
}

}  // namespace
}  // namespace quire::checkpoint
