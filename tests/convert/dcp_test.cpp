#include <gtest/gtest.h>

#include <filesystem>

#include "quire/convert/detail/writers.h"
#include "tests/convert/model_folder.h"
#include "tests/support/many_files.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
namespace fs = std::filesystem;

const std::string kConfig = data_path("llama_tiny/config.json");

std::string shard_name(int shard) {
  return "shard-0000" + std::to_string(shard) +
         "-model-00001-of-00001.safetensors";
}

TEST(Dcp, ReadsWhatTwoRanksOfTorchSaved) {
  const auto weights = open_weights(data_path("dcp_hf"), {.config = kConfig});
  EXPECT_EQ(weights->format(), Format::kDcp);
  EXPECT_TRUE(weights->warnings().empty());
  expect_same_weights(*weights, *open_weights(data_path("llama_tiny")));
}

TEST(Dcp, ReadsRangesAcrossShards) {
  const auto weights = open_weights(data_path("dcp_hf"), {.config = kConfig});
  const std::string name = "head.lm_head.weight";  // cut before row 99 of 48
  const Tensor all = whole(*weights, name);
  for (const std::int64_t first : {0, 4751, 4752, 4700, 9455})
    for (const std::int64_t count : {0, 1, 2, 200}) {
      if (first + count > 197 * 48) continue;
      const Tensor part = zeros({count});
      read_floats(*weights, name, first,
                  {part.data<float>(), static_cast<std::size_t>(count)});
      expect_same_bits(part, all.range(first, count));
    }
}

// Of 211 rows, three in a file.
TEST(Dcp, HoldsAFewFilesOpenHoweverManyThereAre) {
  const TempFolder folder;
  const auto tiny = open_weights(data_path("gpt2_tiny"));
  convert(*tiny, folder / "out", {.to = Format::kDcp, .shards = 100});
  const std::int64_t before = open_descriptors();
  const auto weights = open_weights(folder / "out");
  expect_same_weights(*weights, *tiny);
  EXPECT_EQ(open_descriptors() - before, 64);
}

TEST(Dcp, TheFoldersOwnConfigurationCountsBeforeTheOneNamed) {
  const TempFolder folder;
  fs::copy(data_path("dcp_hf"), folder.path());
  expect_mentions(usage_error_of([&] { open_weights(folder.path()); }),
                  {folder.path(), "config.json", "--config FILE"});
  expect_mentions(usage_error_of([&] {
                    open_weights(folder.path(), {.config = "/no/file"});
                  }),
                  {"/no/file"});
  fs::copy(kConfig, folder / "config.json");
  expect_same_weights(*open_weights(folder.path(), {.config = "/no/file"}),
                      *open_weights(data_path("llama_tiny")));
}

// Shards of one tensor each, "x", and what the folder is refused for.
struct Part {
  Tensor tensor;
  std::string info;
};
std::string refusal(const std::vector<Part>& parts) {
  const TempFolder folder;
  std::string name = "s0.safetensors";
  for (const Part& part : parts) {
    save_tensors(folder / name, {{"x", part.tensor}},
                 {{"DCP_SHARDING_INFO", part.info}});
    ++name[1];
  }
  return usage_error_of(
      [&] { open_weights(folder.path(), {.config = kConfig}); });
}
std::string at(const std::string& offsets) {
  return R"({"x":{"saved_offsets":)" + offsets + "}}";
}

TEST(Dcp, ShardsThatDoNotMakeATensorAreRefusedByFileAndName) {
  const Tensor rows = zeros({2, 3});
  expect_mentions(refusal({{rows, at("[0,0]")}, {rows, at("[3,0]")}}),
                  {"s1", "\"x\"", "row 3", "row 2"});
  expect_mentions(refusal({{rows, at("[0,0]")}, {rows, at("[1,0]")}}),
                  {"s1", "\"x\"", "row 1", "row 2"});
  expect_mentions(refusal({{rows, at("[0,0]")}, {rows, at("[0,0]")}}),
                  {"\"x\"", "row 0", "overlap"});
  expect_mentions(refusal({{rows, at("[2,0]")}}), {"\"x\"", "row 2", "row 0"});
  expect_mentions(refusal({{rows, at("[0,0]")},
                           {zeros({2, 3}, DType::kBF16), at("[2,0]")}}),
                  {"s1", "\"x\"", "BF16", "F32"});
  expect_mentions(refusal({{rows, at("[0,0]")}, {zeros({2, 4}), at("[2,0]")}}),
                  {"s1", "\"x\"", "[2, 4]", "[2, 3]"});
  expect_mentions(refusal({{rows, at("[0,0]")}, {zeros({6}), at("[2]")}}),
                  {"\"x\"", "[6]", "[2, 3]"});
  expect_mentions(refusal({{rows, at("[0,0]")}, {rows, at("[0,3]")}}),
                  {"x.saved_offsets[1]", "3", "rows"});
}

TEST(Dcp, OffsetsThatAreNoneAreRefused) {
  const Tensor rows = zeros({2, 3});
  for (const char* offsets :
       {"[0]", "[0,0,0]", "[-1,0]", "[0.5,0]", "0", "[9223372036854775807,0]"})
    expect_mentions(refusal({{rows, at(offsets)}}), {"s0", "saved_offsets"});
  expect_mentions(refusal({{rows, "{}"}}), {"s0", "\"x\"", "does not name"});
  expect_mentions(refusal({{rows, R"({"x":{}})"}}), {"s0", "saved_offsets"});
  expect_mentions(refusal({{rows, R"({"x":{"saved_offsets":[0,0]},"y":{}})"}}),
                  {"s0", "y"});
  expect_mentions(refusal({{rows, "broken"}}), {"s0", "DCP_SHARDING_INFO"});
}

TEST(Dcp, AShardWithoutItsNoteOrByALinkIsRefused) {
  const TempFolder folder;
  fs::copy(data_path("dcp_hf"), folder.path());
  save_tensors(folder / "other.safetensors", {{"x", zeros({1})}});
  const auto refused = [&] {
    return usage_error_of(
        [&] { open_weights(folder.path(), {.config = kConfig}); });
  };
  expect_mentions(refused(), {"other.safetensors", "DCP_SHARDING_INFO"});
  fs::remove(folder / "other.safetensors");
  fs::remove(folder / shard_name(2));
  expect_mentions(refused(), {"different: lm_head.weight: [99, 48]"});
  fs::create_symlink(data_path("dcp_hf/" + shard_name(2)),
                     folder / shard_name(2));
  expect_mentions(refused(), {shard_name(2), "link"});
}

TEST(Dcp, WritesTheShardsThatTwoRanksOfTorchSave) {
  const auto weights = open_weights(data_path("llama_tiny"));
  const TempFolder out;
  const Converted done =
      write_dcp(*weights, out.path(), {.to = Format::kDcp, .shards = 2}, {});
  EXPECT_EQ(done.bytes, 330432);
  EXPECT_EQ(out.names(),
            (std::vector<std::string>{"config.json", "generation_config.json",
                                      shard_name(1), shard_name(2)}));
  for (int shard : {1, 2}) {
    const checkpoint::SafetensorsFile got(out / shard_name(shard));
    const checkpoint::SafetensorsFile wanted(
        data_path("dcp_hf/" + shard_name(shard)));
    EXPECT_EQ(got.metadata().at("format"), "pt");
    EXPECT_EQ(got.metadata().at("DCP_VERSION"), "1.0");
    ASSERT_EQ(got.entries().size(), wanted.entries().size());
    for (const auto& entry : wanted.entries()) {
      EXPECT_EQ(got.at(entry.name).shape, entry.shape) << entry.name;
      EXPECT_EQ(got.at(entry.name).begin, entry.begin) << entry.name;
    }
  }
  const std::string first = read_file(out / shard_name(1));
  const std::string golden = read_file(data_path("dcp_hf/" + shard_name(1)));
  EXPECT_EQ(first.substr(first.size() - 165408),
            golden.substr(golden.size() - 165408));
  expect_same_weights(*open_weights(out.path()), *weights);
}

TEST(Dcp, AnyNumberOfShardsReadsBackTheSame) {
  for (const char* name : {"gpt2_tiny", "qwen3_small"}) {
    const auto weights = open_weights(data_path(name));
    for (const int shards : {1, 3, 5}) {
      const TempFolder out;
      write_dcp(*weights, out.path(), {.to = Format::kDcp, .shards = shards},
                {});
      const auto again = open_weights(out.path());
      EXPECT_EQ(again->format(), Format::kDcp);
      EXPECT_EQ(again->description().family, weights->description().family);
      expect_same_weights(*again, *weights);
    }
  }
}

TEST(Dcp, ThereAndBackGivesTheSameFiles) {
  for (const char* name : {"gpt2_tiny", "llama_tiny", "llama3_small",
                           "mistral_small", "qwen2_small", "qwen3_small"}) {
    const TempFolder there, back;
    const auto weights = open_weights(data_path(name));
    write_dcp(*weights, there.path(), {.to = Format::kDcp, .shards = 2}, {});
    write_hugging_face(*open_weights(there.path()), back.path(),
                       {.to = Format::kHuggingFace}, {});
    EXPECT_EQ(read_file(back / "model.safetensors"),
              read_file(data_path(std::string(name) + "/model.safetensors")))
        << name;
    EXPECT_EQ(read_file(back / "config.json"),
              read_file(there / "config.json"));
  }
}

TEST(Dcp, RowsAreCutAsTorchChunksThem) {
  // 139 rows by 16: 9 each, 4 in the last. 12 rows: one each, none in the last.
  const auto weights = open_weights(data_path("qwen3_small"));
  const TempFolder out;
  write_dcp(*weights, out.path(), {.to = Format::kDcp, .shards = 16}, {});
  const checkpoint::SafetensorsFile last(
      out / "shard-00016-model-00001-of-00001.safetensors");
  EXPECT_EQ(last.at("lm_head.weight").shape,
            (std::vector<std::int64_t>{4, 32}));
  EXPECT_EQ(last.find("model.layers.0.self_attn.k_norm.weight"), nullptr);
  expect_same_weights(*open_weights(out.path()), *weights);
}

}  // namespace
}  // namespace quire::convert
