#include "quire/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "quire/checkpoint/json.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::checkpoint {
namespace {

using namespace quire::testing;

const std::string kHostile = std::string(QUIRE_TEST_DATA) + "/hostile/";

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A file of this header and so many bytes behind it.
std::string with_header(const TempFolder& folder, const std::string& header,
                        std::size_t body) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i));
  const std::string path = folder / "x.safetensors";
  write_bytes(path, bytes + header + std::string(body, '\0'));
  return path;
}

// Refused with a message that names file and tensor.
void expect_refused(const std::string& header, std::size_t body,
                    const std::string& about = "") {
  const TempFolder folder;
  const std::string path = with_header(folder, header, body);
  expect_mentions(usage_error_of([&] { SafetensorsFile{path}; }),
                  {path, about});
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

SafetensorsTensor tensor(std::string name, std::string dtype,
                         std::vector<std::int64_t> shape, std::string bytes) {
  return {.name = std::move(name),
          .dtype = std::move(dtype),
          .shape = std::move(shape),
          .give = [bytes](const ByteSink& sink) { sink(bytes_of(bytes)); }};
}

std::string read_all(const SafetensorsFile& file, const std::string& name) {
  const auto& entry = file.at(name);
  std::string bytes(static_cast<std::size_t>(entry.end - entry.begin), ' ');
  file.read(entry, 0, entry.numel, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

TEST(Safetensors, KeepsTheVerdictsOnHostileFiles) {
  const Json verdicts = Json::parse(
      read_text(kHostile + "verdicts.json", 1 << 20), "verdicts.json");
  for (const auto& [name, verdict] : verdicts.members()) {
    const std::string path = kHostile + name + ".safetensors";
    if (verdict.at("open").string() == "ok")
      EXPECT_NO_THROW(SafetensorsFile{path}) << name;
    else
      expect_mentions(usage_error_of([&] { SafetensorsFile{path}; }), {path});
  }
}

// 1.5e9 numbers are more than 2^32 bytes; but for the last, the file is a hole.
TEST(Safetensors, ReadsBehindFourGigabytes) {
  const TempFolder folder;
  const std::string path = with_header(
      folder,
      R"({"a":{"dtype":"F32","shape":[1500000000],"data_offsets":[0,6000000000]}})",
      0);
  const auto head = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, head + 6000000000 - 4);
  std::ofstream(path, std::ios::binary | std::ios::app)
      << std::string("\0\0\xc0\x3f", 4);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.at("a").numel, 1500000000);
  float last[2] = {};
  file.read(file.at("a"), 1499999998, 2,
            std::as_writable_bytes(std::span(last)));
  EXPECT_EQ(last[0], 0.0f);
  EXPECT_EQ(last[1], 1.5f);
}

// Its header stands before the first tensor is asked for its bytes.
TEST(Safetensors, WritesOffsetsBeyondFourGigabytes) {
  const TempFolder folder;
  EXPECT_THROW(write_safetensors(folder / "x.safetensors",
                                 {tensor("a", "F32", {65536, 32769}, ""),
                                  tensor("b", "F32", {1}, "")},
                                 {}),
               UsageError);
  expect_mentions(read_text(folder / "x.safetensors", 1 << 20),
                  {"[0,8590196736]", "[8590196736,8590196740]"});
}

TEST(Safetensors, ReadsAnUnalignedElement) {
  const SafetensorsFile file(kHostile + "ok_unaligned.safetensors");
  float value = 0.0f;
  file.read(file.at("b"), 0, 1, std::as_writable_bytes(std::span(&value, 1)));
  EXPECT_EQ(value, 1.5f);
}

TEST(Safetensors, RefusesOffsetsThatDoNotFit) {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  expect_refused(entry("[2]", "[8,0]"), 8, "t.data_offsets[1]");
  expect_refused(entry("[2]", "[0,9223372036854775807]"), 8, "t");
  expect_refused(entry("[2]", "[-8,0]"), 8, "t.data_offsets[0]");
  expect_refused(entry("[2]", "[0,1e3]"), 1000, "t.data_offsets[1]");
  expect_refused(entry("[2]", "[0,18446744073709551616]"), 8, "t");
  expect_refused(entry("[2]", "[0]"), 8, "t");
  expect_refused(entry("[2]", "[0,4,8]"), 8, "t");
  expect_refused(entry("[2]", "{}"), 8, "t.data_offsets");
  expect_refused(entry("[1000,1000]", "[0,4]"), 4, "t");
  expect_refused(entry("[4294967296,4294967296,4]", "[0,0]"), 0, "t");
  expect_refused(entry("[2]", "[4,12]"), 12, "t");
  expect_refused(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2);
  expect_refused(R"({"t":[]})", 0, "t");
  expect_refused(R"({"t":{"dtype":"F32","shape":[]}})", 0, "data_offsets");
}

TEST(Safetensors, RefusesNamesThatStandTwice) {
  expect_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2, "twice");
  expect_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, "twice");
  expect_refused(R"({"__metadata__":{"a":"","a":""}})", 0, "twice");
}

TEST(Safetensors, RefusesAHeaderThatIsPaddedInFront) {
  expect_refused(" {}", 0, "'{'");
}

TEST(Safetensors, KnowsWhatGitLfsKeepsInPlaceOfAFile) {
  const TempFolder folder;
  write_bytes(folder / "x",
              "version https://git-lfs.github.com/spec/v1\n"
              "oid sha256:1a2b\nsize 548105171\n");
  expect_mentions(usage_error_of([&] { SafetensorsFile file(folder / "x"); }),
                  {"/x", "git lfs pull"});
}

TEST(Safetensors, OpensOnlyRegularFiles) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const auto& path : {folder / "fifo", folder.path()})
    expect_mentions(usage_error_of([&] { SafetensorsFile{path}; }),
                    {path, "no regular file"});
  expect_mentions(usage_error_of([&] { SafetensorsFile{folder / "none"}; }),
                  {"does not exist"});
  std::filesystem::create_symlink(kHostile + "ok_minimal.safetensors",
                                  folder / "link");
  SafetensorsFile{folder / "link"};
  expect_mentions(usage_error_of([&] {
                    SafetensorsFile(folder / "link", File::Links::kRefuse);
                  }),
                  {"symbolic link"});
}

TEST(Safetensors, WritesWidestFirstThenByName) {
  const TempFolder folder;
  write_safetensors(
      folder / "x",
      {tensor("b", "U8", {3}, "abc"), tensor("d", "F32", {1}, "1234"),
       tensor("c", "I64", {1}, "12345678"), tensor("a", "F32", {1}, "5678")},
      {{"who", "a\nb"}});
  const SafetensorsFile file(folder / "x");
  std::string order;
  for (const auto& entry : file.entries()) order += entry.name;
  EXPECT_EQ(order, "cadb");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.metadata().at("who"), "a\nb");
  EXPECT_EQ((file.bytes() - 19) % 8, 0);
}

// One is made of what another gives, and stands before it.
TEST(Safetensors, AsksATensorBehindAnotherAndPutsItInItsPlace) {
  const TempFolder folder;
  std::string given;
  auto first = tensor("b", "U8", {3}, "");
  first.give = [&](const ByteSink& sink) { sink(bytes_of(given = "abc")); };
  auto second = tensor("a", "I64", {1}, "");
  second.give = [&](const ByteSink& sink) { sink(bytes_of(given + "defgh")); };
  second.behind = "b";
  write_safetensors(folder / "x", {first, second}, {});
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(file.entries().front().name, "a");
  EXPECT_EQ(read_all(file, "a"), "abcdefgh");
  EXPECT_EQ(read_all(file, "b"), "abc");
  second.give = [&](const ByteSink& sink) {
    sink(bytes_of("more than eight"));
  };
  expect_mentions(usage_error_of([&] {
                    write_safetensors(folder / "y", {first, second}, {});
                  }),
                  {"\"a\"", "15", "8"});
  expect_mentions(
      usage_error_of([&] { write_safetensors(folder / "z", {second}, {}); }),
      {"\"a\"", "\"b\"", "not there"});
}

TEST(Safetensors, KeepsAnyNameShapeAndType) {
  const TempFolder folder;
  const std::vector<std::string> names = {"a b", "ü", "\"q\"", "back\\slash"};
  std::vector<SafetensorsTensor> tensors = {
      tensor("scalar", "F32", {}, "1234"), tensor("none", "F32", {0}, ""),
      tensor("flat", "BF16", {0, 4}, ""), tensor("bool", "BOOL", {2}, "\1")};
  tensors.back().give = [](const ByteSink& sink) {
    sink(bytes_of("\1"));
    sink(bytes_of(std::string_view("\0", 1)));
  };
  for (const auto& name : names)
    tensors.push_back(tensor(name, "F16", {1, 2, 1}, name.substr(0, 2) + "xy"));
  write_safetensors(folder / "x", tensors, {});
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(file.entries().size(), 8u);
  EXPECT_EQ(file.at("flat").shape, (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(read_all(file, "bool"), std::string("\1\0", 2));
  EXPECT_EQ(read_all(file, "scalar"), "1234");
  for (const auto& name : names)
    EXPECT_EQ(read_all(file, name), name.substr(0, 2) + "xy");
}

TEST(Safetensors, RefusesToWriteWhatNobodyCouldRead) {
  const TempFolder folder;
  const auto write = [&](std::vector<SafetensorsTensor> tensors) {
    return usage_error_of(
        [&] { write_safetensors(folder / "x", std::move(tensors), {}); });
  };
  expect_mentions(
      write({tensor("a", "U8", {1}, "1"), tensor("a", "F32", {1}, "1234")}),
      {"\"a\"", "twice"});
  expect_mentions(write({tensor("a", "F33", {1}, "1")}), {"F33"});
  expect_mentions(write({tensor("\xff", "U8", {1}, "1")}), {"UTF-8"});
  expect_mentions(write({tensor("a", "U8", {-1}, "")}), {"\"a\""});
  expect_mentions(write({tensor("a", "F32", {2}, "1234")}),
                  {"\"a\"", "4", "8"});
}

TEST(Safetensors, RefusesToReadOutsideATensor) {
  const TempFolder folder;
  write_safetensors(folder / "x", {tensor("a", "F32", {2}, "12345678")}, {});
  const SafetensorsFile file(folder / "x");
  std::vector<std::byte> out(8);
  for (const auto& [first, count] :
       std::vector<std::pair<int, int>>{{1, 2}, {-1, 2}, {3, 0}, {0, 1}})
    expect_mentions(
        usage_error_of([&] { file.read(file.at("a"), first, count, out); }),
        {"\"a\""});
}

TEST(Safetensors, ChecksumSeesEveryByteOfTheHeader) {
  const TempFolder folder;
  const auto a = write_safetensors(folder / "a", {tensor("t", "U8", {1}, "1")},
                                   {{"k", "1"}});
  const auto b = write_safetensors(folder / "b", {tensor("t", "U8", {1}, "1")},
                                   {{"k", "2"}});
  EXPECT_NE(a.header_checksum, b.header_checksum);
  EXPECT_EQ(SafetensorsFile(folder / "a").header_checksum(), a.header_checksum);
}

}  // namespace
}  // namespace quire::checkpoint
