#include "quire/convert/convert.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "quire/convert/detail/side_files.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
namespace fs = std::filesystem;

std::unique_ptr<const Weights> tiny() {
  return open_weights(data_path("gpt2_tiny"));
}

// The refusal of a conversion; nothing is left of it.
std::string refusal(const Weights& weights, const ConvertOptions& options) {
  const TempFolder folder;
  const std::string message =
      usage_error_of([&] { convert(weights, folder / "out", options); });
  EXPECT_TRUE(folder.names().empty()) << folder.names()[0];
  return message;
}

TEST(Convert, LeavesNothingButItsOutput) {
  for (const Format format : {Format::kHuggingFace, Format::kQuire,
                              Format::kDcp, Format::kLlmc, Format::kGguf}) {
    const TempFolder folder;
    convert(*tiny(), folder / "out", {.to = format});
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
  }
}

TEST(Convert, RefusesAnOutputThatIsThere) {
  const TempFolder folder;
  fs::create_directory(folder / "folder");
  write_file(folder / "file", "kept");
  fs::create_symlink("nowhere", folder / "link");
  for (const char* name : {"folder", "folder/", "file", "link"})
    for (const Format format : {Format::kQuire, Format::kGguf})
      expect_mentions(usage_error_of([&] {
                        convert(*tiny(), folder / name, {.to = format});
                      }),
                      {"is there already", "remove it or name another"});
  EXPECT_EQ(read_file(folder / "file"), "kept");
  EXPECT_EQ(folder.names().size(), 3u);
}

TEST(Convert, RefusesAFolderThatIsNot) {
  const TempFolder folder;
  expect_mentions(usage_error_of([&] {
                    convert(*tiny(), folder / "absent/out",
                            {.to = Format::kQuire});
                  }),
                  {"absent", "is no folder"});
}

TEST(Convert, RefusesOptionsThatTheFormatDoesNotHave) {
  expect_mentions(refusal(*tiny(), {.to = Format::kGguf, .shards = 2}),
                  {"gguf has no number of shards"});
  expect_mentions(
      refusal(*tiny(), {.to = Format::kQuire, .max_shard_bytes = 100}),
      {"quire has no size of shards"});
  expect_mentions(refusal(*tiny(), {.to = Format::kDcp, .shards = 0}),
                  {"0 shards"});
  expect_mentions(
      refusal(*tiny(), {.to = Format::kQuire, .dtype = DType::kI32}),
      {"i32", "fp32, bf16 or fp16"});
}

// Gives up in the middle.
class Broken final : public Weights {
 public:
  Format format() const override { return base_->format(); }
  const std::string& path() const override { return base_->path(); }
  const Description& description() const override {
    return base_->description();
  }
  std::span<const StoredParameter> parameters() const override {
    return base_->parameters();
  }
  std::span<const std::string> warnings() const override { return {}; }
  void read(std::string_view parameter, std::int64_t first,
            std::span<std::byte> out) const override {
    if (parameter == "h.1.ln_1.weight") throw SystemError("the disk broke");
    base_->read(parameter, first, out);
  }

 private:
  std::unique_ptr<const Weights> base_ = tiny();
};

// Of 2^58 elements, which no disk has room for.
class Huge final : public Weights {
 public:
  Format format() const override { return base_->format(); }
  const std::string& path() const override { return base_->path(); }
  const Description& description() const override {
    return base_->description();
  }
  std::span<const StoredParameter> parameters() const override { return one_; }
  std::span<const std::string> warnings() const override { return {}; }
  void read(std::string_view, std::int64_t,
            std::span<std::byte>) const override {}

 private:
  std::unique_ptr<const Weights> base_ = tiny();
  std::vector<StoredParameter> one_ = {
      {.name = "wide",
       .shape = {std::int64_t{1} << 29, std::int64_t{1} << 29},
       .dtype = DType::kF32}};
};

TEST(Convert, SaysWhatIsFreeAndWhatIsWritten) {
  const TempFolder folder;
  std::string said;
  try {
    convert(Huge(), folder / "out", {.to = Format::kLlmc});
  } catch (const SystemError& error) {
    said = error.what();
  }
  expect_mentions(said, {folder.path() + " has ", " free; ",
                         "; 1152921504606846976 bytes ", " are to be written"});
  EXPECT_TRUE(folder.names().empty());
}

std::int64_t bytes_below(const std::string& path) {
  if (!fs::is_directory(path))
    return static_cast<std::int64_t>(fs::file_size(path));
  std::int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      bytes += static_cast<std::int64_t>(entry.file_size());
  return bytes;
}

// So that no conversion is refused that has room.
TEST(Convert, WritesNoLessThanItAskedRoomFor) {
  const auto weights = open_weights(data_path("llama3_small"));
  for (const Format format :
       {Format::kHuggingFace, Format::kQuire, Format::kDcp}) {
    const TempFolder folder;
    const auto done = convert(*weights, folder / "out", {.to = format});
    EXPECT_GE(bytes_below(folder / "out"),
              done.bytes + bytes_in(weights->description().side_files));
  }
}

TEST(Convert, LeavesNothingOfAFailure) {
  for (const Format format : {Format::kHuggingFace, Format::kQuire,
                              Format::kDcp, Format::kLlmc, Format::kGguf}) {
    const TempFolder folder;
    EXPECT_THROW(convert(Broken(), folder / "out", {.to = format}),
                 SystemError);
    EXPECT_TRUE(folder.names().empty());
  }
}

// As somebody whom permissions hold.
TEST(Convert, RefusesAFolderThatCannotBeWrittenInto) {
  const TempFolder folder;
  const auto weights = tiny();
  ::chmod(folder.path().c_str(), 0555);
  const auto refused = [&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    const std::string said = usage_error_of(
        [&] { convert(*weights, folder / "out", {.to = Format::kLlmc}); });
    std::fputs(said.c_str(), stderr);
    ::_exit(0);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0),
              "cannot be written into: Permission denied; name another");
}

TEST(Convert, RemovesWhatAKillLeftAndNothingElse) {
  const TempFolder folder;
  const std::vector<std::string> others = {
      ".out.tmp-note", ".out2.tmp-01234567", "out.tmp-01234567"};
  for (const auto& name : others)
    std::filesystem::create_directory(folder / name);
  std::filesystem::create_directory(folder / ".out.tmp-01234567");
  write_file(folder / ".out.tmp-01234567/model.safetensors", "half");
  convert(*tiny(), folder / "out", {.to = Format::kLlmc});
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{others[0], others[1], "out", others[2]}));
}

TEST(Convert, LetsAConversionToTheSamePlaceLive) {
  const TempFolder folder;
  bool tried = false;
  const auto meanwhile = [&](std::int64_t, std::int64_t) {
    if (std::exchange(tried, true)) return;
    EXPECT_THROW(convert(Broken(), folder / "out", {.to = Format::kLlmc}),
                 SystemError);
  };
  convert(*tiny(), folder / "out", {.to = Format::kLlmc}, meanwhile);
  EXPECT_TRUE(tried);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
}

TEST(Convert, TellsProgressUpToAllBytes) {
  const std::int64_t bytes =
      4 * models::build(tiny()->description().options).numel();
  for (const Format format : {Format::kQuire, Format::kLlmc, Format::kGguf}) {
    const TempFolder folder;
    std::int64_t last = 0;
    convert(*tiny(), folder / "out", {.to = format},
            [&](std::int64_t done, std::int64_t total) {
              EXPECT_GE(done, last);
              EXPECT_EQ(total, bytes);
              last = done;
            });
    EXPECT_EQ(last, bytes);
  }
}

// What is left after each report.
std::vector<std::int64_t> reports_of(const std::string& golden,
                                     const ConvertOptions& options) {
  const TempFolder folder;
  std::vector<std::int64_t> left;
  convert(*open_weights(data_path(golden)), folder / "out", options,
          [&](std::int64_t done, std::int64_t total) {
            left.push_back(total - done);
          });
  return left;
}

// A matrix that is transposed is read for every shard; heads are turned.
TEST(Convert, TellsOfAllBytesWithTheLastOfThem) {
  for (const auto& left :
       {reports_of("gpt2_tiny", {.to = Format::kDcp, .shards = 3}),
        reports_of("llama_tiny", {.to = Format::kGguf})}) {
    EXPECT_EQ(std::ranges::adjacent_find(left, std::less_equal()), left.end());
    EXPECT_EQ(left.back(), 0);
  }
}

TEST(Convert, TakesTokenizerFilesAlong) {
  ModelFolder model;
  write_file(model.folder / "tokenizer.json", "{}");
  write_file(model.folder / "generation_config.json", "{\"a\": 1}");
  write_file(model.folder / "secret", "no");
  fs::create_symlink("/etc/hostname", model.folder / "merges.txt");
  const TempFolder folder;
  convert(*model.open(), folder / "quire", {.to = Format::kQuire});
  convert(*open_weights(folder / "quire"), folder / "hf",
          {.to = Format::kHuggingFace});
  for (const char* name : {"quire", "hf"}) {
    const std::string at = folder / name;
    EXPECT_EQ(read_file(at + "/tokenizer.json"), "{}");
    EXPECT_EQ(read_file(at + "/generation_config.json"), "{\"a\": 1}");
    EXPECT_FALSE(fs::exists(at + "/secret"));
    EXPECT_FALSE(fs::exists(at + "/merges.txt"));
  }
}

TEST(Convert, SaysWhatBecameInfinite) {
  ModelFolder model;
  model.tensors.at("transformer.ln_f.weight").data<float>()[3] = 1e6f;
  const TempFolder folder;
  const auto weights = model.open();
  const auto to_half = convert(*weights, folder / "half",
                               {.to = Format::kQuire, .dtype = DType::kF16});
  ASSERT_EQ(to_half.warnings.size(), 1u);
  expect_mentions(to_half.warnings[0], {"head.ln_f.weight", "infinite"});
  EXPECT_TRUE(convert(*weights, folder / "bf16",
                      {.to = Format::kQuire, .dtype = DType::kBF16})
                  .warnings.empty());
}

TEST(Compare, NamesEveryParameterThatDiffers) {
  ModelFolder changed;
  auto* values = changed.tensors.at("transformer.wpe.weight").data<float>();
  values[7] += 0.25f;
  values[9] += 0.5f;
  changed.tensors.at("transformer.ln_f.bias").data<float>()[0] = 100.0f;
  const auto lines = compare(*changed.open(), *tiny());
  ASSERT_EQ(lines.size(), 2u);
  expect_mentions(lines[0], {"embed.wpe.weight", "2 of 1440", "element 7",
                             "largest difference is 0.5"});
  expect_mentions(lines[1], {"head.ln_f.bias", "1 of 36", "element 0", "100"});
}

TEST(Compare, TakesNumbersOfAnyTypeAsEqual) {
  const TempFolder folder;
  const auto golden = tiny();
  convert(*golden, folder / "bf16",
          {.to = Format::kQuire, .dtype = DType::kBF16});
  const auto rounded = open_weights(folder / "bf16");
  EXPECT_FALSE(compare(*rounded, *golden).empty());
  convert(*rounded, folder / "wide",
          {.to = Format::kHuggingFace, .dtype = DType::kF32});
  EXPECT_TRUE(compare(*rounded, *open_weights(folder / "wide")).empty());
}

TEST(Compare, NamesParametersThatOneSideHasAndOtherShapes) {
  const auto lines = compare(*tiny(), *open_weights(data_path("llama_tiny")));
  EXPECT_EQ(lines.size(),
            tiny()->parameters().size() +
                open_weights(data_path("llama_tiny"))->parameters().size());
  expect_mentions(lines[0], {"embed.wte.weight is only in", "gpt2_tiny"});
  const auto other = compare(*open_weights(data_path("mistral_small")),
                             *open_weights(data_path("llama_tiny")));
  expect_mentions(other[0],
                  {"embed.embed_tokens.weight: shape [127, 48] and [197, 48]"});
}

}  // namespace
}  // namespace quire::convert
