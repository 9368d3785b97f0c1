// Files that were made to harm whoever opens them, besides those of
// tests/data/hostile.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "quire/checkpoint/json.h"
#include "quire/checkpoint/safetensors.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;
using quire::testing::zeros;
namespace fs = std::filesystem;

// A length field, `header`, and a hole up to `size` bytes.
std::string file_of(const TempFolder& folder, std::uint64_t length,
                    const std::string& header, std::uintmax_t size) {
  const std::string path = folder / "x.safetensors";
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i)));
  out << header;
  out.close();
  fs::resize_file(path, size);
  return path;
}

TEST(Hostile, AHeaderBeyondTheLimitIsRefusedUnread) {
  const TempFolder folder;
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 40,
        ~std::uint64_t{0}}) {
    const auto path = file_of(folder, length, "{", std::uintmax_t{1} << 41);
    expect_mentions(usage_error_of([&] { SafetensorsFile{path}; }),
                    {path, std::to_string(length), "at most 100000000"});
  }
}

// A value takes 40 bytes, and two of the header.
TEST(Hostile, AHeaderOfTooManyValuesIsRefusedBeforeTheyFillTheMemory) {
  std::string text = "[";
  for (std::int64_t i = 0; i < Json::kMostValues; ++i) text += "0,";
  text += "0]";
  expect_mentions(usage_error_of([&] { Json::parse(text, "x.safetensors"); }),
                  {"x.safetensors", "more than 4194304 values"});
}

TEST(Hostile, AFileThatShrinksWhileItIsReadIsAnErrorAndNoSignal) {
  const TempFolder folder;
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[100000],"data_offsets":[0,400000]}})";
  const auto path =
      file_of(folder, header.size(), header, 8 + header.size() + 400000);
  const SafetensorsFile file(path);
  fs::resize_file(path, 5000);
  std::vector<std::byte> out(400000);
  expect_mentions(
      system_error_of([&] { file.read(file.at("a"), 0, 100000, out); }),
      {path, "ends at byte 5000"});
}

// Of either kind; "" if nothing is thrown.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Hostile, AShardThatShrinksAfterOpeningIsNamed) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 3}, 1);
  const auto checkpoint = Checkpoint::open(run.path());
  const auto shard = run / "step-00000003/shard-00000-of-00001.safetensors";
  fs::resize_file(shard, 4000);
  for (const char* parameter : {"p3", "p4", "p5"})
    expect_mentions(
        error_of([&] { checkpoint.load("master", parameter, 0, zeros({1})); }),
        {"shard-00000-of-00001"});
}

TEST(Hostile, AManifestThatIsNoRegularFileIsRefusedAndNotWaitedFor) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 3}, 1);
  const std::string step = run / "step-00000003";
  const std::string manifest = step + "/manifest.json";
  fs::remove(manifest);
  ASSERT_EQ(::mkfifo(manifest.c_str(), 0600), 0);
  const auto error_of_open = [&] {
    return usage_error_of([&] { Checkpoint::open(step); });
  };
  expect_mentions(error_of_open(), {manifest, "no regular file"});
  fs::remove(manifest);
  fs::create_directory(manifest);
  expect_mentions(error_of_open(), {manifest, "no regular file"});
  fs::remove(manifest);
  fs::create_symlink("/dev/zero", manifest);
  expect_mentions(error_of_open(), {manifest, "no regular file"});
}

// Names are never paths: what is saved lies in three files of the step.
TEST(Hostile, TensorNamesLeadNowhere) {
  const TempFolder outer;
  const std::string run = outer / "run";
  const std::vector<std::string> names = {
      "../../x", "/etc/x", "a/../../x", ".", "..", "shard/x", "a\\b", "\n"};
  const auto errors = run_world(2, [&](comm::Communicator& communicator,
                                       Stream& stream) {
    SaveRequest request{.parts = {}, .parameters = {}, .progress = {.step = 1}};
    for (const auto& name : names) {
      request.parameters.push_back({name, Shape{3}, true});
      if (communicator.rank() == 0)
        request.parts.push_back({"master", name, 0, zeros({3})});
    }
    save(run, request, communicator, stream);
  });
  expect_no_errors(errors);
  EXPECT_EQ(outer.names(), (std::vector<std::string>{"run"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(run + "/step-00000001"), {}),
            4);
  const auto checkpoint = Checkpoint::open(run);
  for (const auto& name : names) checkpoint.load("master", name, 0, zeros({3}));
}

TEST(Hostile, AnEmptyTensorOfHugeExtentsIsRefused) {
  for (const char* shape :
       {"0,9223372036854775807,9", "9223372036854775807,9,0",
        "4294967296,0,4294967296"}) {
    const TempFolder folder;
    const std::string header = std::string(R"({"a":{"dtype":"F32","shape":[)") +
                               shape + R"(],"data_offsets":[0,0]}})";
    const auto path = file_of(folder, header.size(), header, 8 + header.size());
    expect_mentions(usage_error_of([&] { SafetensorsFile{path}; }),
                    {path, "a"});
  }
}

}  // namespace
}  // namespace quire::checkpoint
