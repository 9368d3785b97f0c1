#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "quire/models/options.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
namespace fs = std::filesystem;

const std::string kTiny = data_path("gpt2_tiny");

Tensor transposed(const Tensor& x) {
  Tensor y = zeros({x.dim(1), x.dim(0)});
  for (std::int64_t i = 0; i < x.dim(0); ++i)
    for (std::int64_t j = 0; j < x.dim(1); ++j)
      y.data<float>()[j * x.dim(0) + i] = x.data<float>()[i * x.dim(1) + j];
  return y;
}

// Every parameter equals the file's, under the names of models::gpt2.
void expect_tiny(const Weights& weights, DType type = DType::kF32) {
  const Golden golden("gpt2_tiny/model");
  const nn::Model net = models::build(weights.description().options);
  ASSERT_EQ(weights.parameters().size(), net.parameters().size());
  for (const auto& parameter : net.parameters()) {
    SCOPED_TRACE(parameter.name);
    std::string name = parameter.name;
    for (const std::string layer : {"embed.", "head."})
      if (name.starts_with(layer)) name = name.substr(layer.size());
    Tensor wanted = golden.tensor("transformer." + name);
    if (name.find(".c_") != std::string::npos && wanted.shape().rank() == 2)
      wanted = transposed(wanted);
    expect_same_bits(whole(weights, parameter.name), as_dtype(wanted, type));
  }
}

TEST(HuggingFace, ReadsTheTinyGpt2OfTransformers) {
  const auto weights = open_weights(kTiny);
  EXPECT_EQ(weights->format(), Format::kHuggingFace);
  EXPECT_EQ(weights->path(), kTiny);
  EXPECT_EQ(weights->description().family, "gpt2");
  EXPECT_TRUE(weights->warnings().empty());
  expect_tiny(*weights);
}

TEST(HuggingFace, ReadsEveryFamilyByItsModelsNames) {
  for (const char* name : {"llama_tiny", "llama3_small", "mistral_small",
                           "qwen2_small", "qwen3_small"}) {
    SCOPED_TRACE(name);
    const auto weights = open_weights(data_path(name));
    const Golden golden(std::string(name) + "/model");
    const nn::Model net = models::build(weights->description().options);
    ASSERT_EQ(weights->parameters().size(), net.parameters().size());
    ASSERT_EQ(golden.names().size(), net.parameters().size());
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      const std::string& ours = net.parameters()[i].name;
      EXPECT_EQ(weights->parameters()[i].name, ours);
      std::string theirs = "model." + ours;
      for (const std::string layer : {"embed.", "head."})
        if (ours.starts_with(layer))
          theirs = "model." + ours.substr(layer.size());
      if (ours == "head.lm_head.weight") theirs = "lm_head.weight";
      expect_same_bits(whole(*weights, ours), golden.tensor(theirs));
    }
  }
}

TEST(HuggingFace, ShardsHoldTheSameWeightsAsOneFile) {
  const auto one = open_weights(data_path("llama_tiny"));
  const auto sharded = open_weights(data_path("hf_sharded"));
  EXPECT_TRUE(sharded->warnings().empty());
  expect_same_weights(*sharded, *one);
}

TEST(HuggingFace, HalfPrecisionHoldsTheWeightsRoundedToNearest) {
  const auto one = open_weights(data_path("llama_tiny"));
  const auto half = open_weights(data_path("hf_bf16"));
  EXPECT_EQ(half->parameters()[0].dtype, DType::kBF16);
  expect_same_weights(*half, *one, DType::kBF16);
}

TEST(HuggingFace, ReadsRangesThatBeginAndEndAnywhere) {
  const auto weights = open_weights(kTiny);
  for (const std::string name : {"h.1.mlp.c_fc.weight", "embed.wpe.weight"}) {
    const Tensor all = whole(*weights, name);
    for (const std::int64_t first : {0, 1, 35, 36, 256, 1400})
      for (const std::int64_t count : {0, 1, 36, 40}) {
        const Tensor part = zeros({count});
        read_floats(*weights, name, first,
                    {part.data<float>(), static_cast<std::size_t>(count)});
        expect_same_bits(part, all.range(first, count));
      }
  }
  float out[2];
  expect_mentions(
      usage_error_of([&] { read_floats(*weights, "head.ln_f.bias", 35, out); }),
      {"head.ln_f.bias", "35", "36"});
  expect_mentions(
      usage_error_of([&] { read_floats(*weights, "head.ln_f.bis", 0, out); }),
      {"head.ln_f.bis", "\"head.ln_f.bias\""});
}

TEST(HuggingFace, ReadsMatricesWiderThanABlockBothWays) {
  // 1 MiB holds 204 rows of the stored [320, 1280].
  ModelFolder copy;
  copy.set("\"n_embd\": 36", "\"n_embd\": 320");
  copy.set("\"n_head\": 3", "\"n_head\": 4");
  copy.set("\"n_layer\": 3", "\"n_layer\": 1");
  const nn::Model net = models::build(models::Gpt2Options{
      .layers = 1, .width = 320, .heads = 4, .context = 40, .vocab = 211});
  copy.tensors.clear();
  for (const auto& parameter : net.parameters()) {
    std::string name = parameter.name;
    for (const std::string layer : {"embed.", "head."})
      if (name.starts_with(layer)) name = name.substr(layer.size());
    const Shape& shape = parameter.shape;
    const bool turned =
        shape.rank() == 2 && name.find(".c_") != std::string::npos;
    copy.tensors.emplace(
        name, random_tensor(turned ? Shape{shape[1], shape[0]} : shape, 1));
  }
  const auto weights = copy.open();
  const Tensor all = whole(*weights, "h.0.mlp.c_fc.weight");
  expect_same_bits(all, transposed(copy.tensors.at("h.0.mlp.c_fc.weight")));
  for (const std::int64_t count : {std::int64_t{700}, std::int64_t{70000}}) {
    const Tensor part = zeros({count});
    read_floats(*weights, "h.0.mlp.c_fc.weight", 777,
                {part.data<float>(), static_cast<std::size_t>(count)});
    expect_same_bits(part, all.range(777, count));
  }
}

TEST(HuggingFace, TypesAreThoseThatAreStored) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    ModelFolder copy;
    for (auto& [name, tensor] : copy.tensors) tensor = as_dtype(tensor, type);
    expect_tiny(*copy.open(), type);
  }
  ModelFolder mixed;
  auto& table = mixed.tensors.at("transformer.wpe.weight");
  table = as_dtype(table, DType::kF16);
  const auto weights = mixed.open();
  EXPECT_EQ(stored(*weights, "embed.wpe.weight").dtype, DType::kF16);
  EXPECT_EQ(stored(*weights, "embed.wte.weight").dtype, DType::kF32);
  const Tensor widened = zeros(table.shape());
  read_floats(
      *weights, "embed.wpe.weight", 0,
      {widened.data<float>(), static_cast<std::size_t>(widened.numel())});
  expect_same_bits(widened, as_dtype(table, DType::kF32));
}

TEST(HuggingFace, NamesMayLackThePrefixAndBuffersAreSkipped) {
  ModelFolder copy;
  Tensors plain;
  for (const auto& [name, tensor] : copy.tensors)
    plain.emplace(name.substr(12), tensor);
  plain.emplace("h.0.attn.bias", zeros({1, 1, 40, 40}, DType::kU8));
  plain.emplace("h.0.attn.masked_bias", zeros({}));
  plain.emplace("lm_head.weight", plain.at("wte.weight"));
  copy.tensors = plain;
  expect_tiny(*copy.open());

  ModelFolder llama("llama3_small");
  plain.clear();
  for (const auto& [name, tensor] : llama.tensors)
    plain.emplace(name.substr(6), tensor);
  plain.emplace("layers.0.self_attn.rotary_emb.inv_freq", zeros({6}));
  plain.emplace("lm_head.weight", plain.at("embed_tokens.weight"));
  llama.tensors = plain;
  expect_same_weights(*llama.open(), *open_weights(data_path("llama3_small")));
}

// As safetensors' own save_model leaves them.
TEST(HuggingFace, OfATiedPairTheHeadAloneWillDo) {
  ModelFolder copy;
  copy.tensors["lm_head.weight"] = copy.tensors.at("transformer.wte.weight");
  copy.tensors.erase("transformer.wte.weight");
  expect_tiny(*copy.open());
  ModelFolder llama("llama3_small");
  llama.tensors["lm_head.weight"] =
      llama.tensors.at("model.embed_tokens.weight");
  llama.tensors.erase("model.embed_tokens.weight");
  expect_same_weights(*llama.open(), *open_weights(data_path("llama3_small")));
}

TEST(HuggingFace, WrapperPrefixesAreNotGuessedAway) {
  for (const std::string wrapper : {"_orig_mod.", "module.", "base_model."}) {
    ModelFolder copy;
    Tensors wrapped;
    for (const auto& [name, tensor] : copy.tensors)
      wrapped.emplace(wrapper + name, tensor);
    copy.tensors = wrapped;
    expect_mentions(copy.refusal(),
                    {"missing: h.0.attn.c_attn.bias",
                     "unexpected: " + wrapper + "transformer.wte.weight",
                     "begins with \"" + wrapper + "transformer.\": save"});
  }
  for (const std::string wrapper : {"language_model.", "base_model.model."}) {
    ModelFolder untied("llama_tiny");
    Tensors wrapped;
    for (const auto& [name, tensor] : untied.tensors)
      wrapped.emplace(wrapper + name, tensor);
    untied.tensors = wrapped;
    expect_mentions(untied.refusal(),
                    {"begins with \"" + wrapper + "\": save"});
  }
  ModelFolder another("llama_tiny");
  another.tensors = ModelFolder().tensors;
  EXPECT_EQ(another.refusal().find("begins with"), std::string::npos);
}

TEST(HuggingFace, ReadsShardsOfAnIndexInAnyOrder) {
  ModelFolder copy;
  Tensors shards[2];
  std::string map;
  for (const auto& [name, tensor] : copy.tensors) {
    const std::size_t shard = name.size() % 2;
    shards[shard].emplace(name, tensor);
    map += (map.empty() ? "\"" : ",\"") + name + "\":\"part-" +
           (shard == 0 ? "a" : "b") + "\"";
  }
  copy.save("part-a", shards[0]);
  copy.save("part-b", shards[1]);
  write_file(copy.folder / "unrelated.safetensors", "broken");
  write_file(copy.folder / "model.safetensors.index.json",
             R"({"metadata":{"total_size":5},"weight_map":{)" + map + "}}");
  const auto weights = open_weights(copy.folder.path());
  expect_tiny(*weights);
  ASSERT_EQ(weights->warnings().size(), 1u);
  expect_mentions(weights->warnings()[0], {"total_size", "5"});
}

// What an index over two files of one tensor each is refused for.
std::string index_refusal(const std::string& weight_map) {
  ModelFolder copy;
  copy.save("a", {{"x", zeros({1})}});
  copy.save("b", {{"y", zeros({1})}});
  copy.save("xy", {{"x", zeros({1})}, {"y", zeros({1})}});
  write_file(copy.folder / "model.safetensors.index.json",
             R"({"weight_map":)" + weight_map + "}");
  fs::create_symlink("/etc/passwd", copy.folder / "link");
  fs::create_symlink("nowhere", copy.folder / "dangling");
  fs::create_directory(copy.folder / "sub");
  EXPECT_EQ(::mkfifo((copy.folder / "fifo").c_str(), 0600), 0);
  return usage_error_of([&] { open_weights(copy.folder.path()); });
}

TEST(HuggingFace, AnIndexThatItsFilesDoNotBearOutIsRefused) {
  expect_mentions(index_refusal(R"({"x":"a","y":"c"})"),
                  {"/c", "does not exist"});
  expect_mentions(index_refusal(R"({"x":"a","y":"a"})"), {"/a", "\"y\""});
  expect_mentions(index_refusal(R"({"x":"a","y":"xy"})"),
                  {"\"x\"", "/a", "/xy"});
  expect_mentions(index_refusal(R"({"x":"xy"})"), {"\"y\"", "does not name"});
  expect_mentions(index_refusal(R"({"x":"a","x":"xy"})"), {"twice"});
  expect_mentions(index_refusal(R"({"x":1})"), {"weight_map.x", "string"});
}

TEST(HuggingFace, AnIndexNamesPlainFilesOfItsFolderOnly) {
  for (const std::string name :
       {"../x", "/etc/passwd", "a/../../x", "", ".", "..", "x\\u0000y"})
    expect_mentions(index_refusal(R"({"x":")" + name + R"("})"),
                    {"index.json", "plain"});
  expect_mentions(index_refusal(R"({"x":"link"})"), {"link out of its folder"});
  expect_mentions(index_refusal(R"({"x":"dangling"})"), {"does not exist"});
  expect_mentions(index_refusal(R"({"x":"sub"})"), {"no regular file"});
  expect_mentions(index_refusal(R"({"x":"fifo"})"), {"no regular file"});
}

TEST(HuggingFace, LinksOutOfTheFolderAreNotFollowed) {
  for (const std::string name : {"config.json", "model.safetensors"}) {
    ModelFolder copy;
    copy.save("model.safetensors", copy.tensors);
    fs::remove(copy.folder / name);
    fs::create_symlink(kTiny + "/" + name, copy.folder / name);
    expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                    {name, "link out of its folder"});
  }
}

TEST(HuggingFace, AFolderMayBeALinkAndEndInASlash) {
  const TempFolder folder;
  fs::create_directory_symlink(kTiny, folder / "link");
  expect_tiny(*open_weights(folder / "link"));
  expect_tiny(*open_weights(kTiny + "/"));
  expect_tiny(*open_weights(folder / "link/."));
}

TEST(HuggingFace, TheLinksOfTheHubsCacheAreFollowed) {
  const TempFolder hub;
  fs::create_directories(hub / "blobs");
  fs::create_directories(hub / "snapshots/1a2b");
  for (const std::string name : {"config.json", "model.safetensors"}) {
    fs::copy(kTiny + "/" + name, hub / ("blobs/" + name.substr(0, 3)));
    fs::create_symlink("../../blobs/" + name.substr(0, 3),
                       hub / ("snapshots/1a2b/" + name));
  }
  expect_tiny(*open_weights(hub / "snapshots/1a2b"));
}

TEST(HuggingFace, ASnapshotThatWasCopiedWithoutItsBlobsIsSaidToBeOne) {
  for (const std::string name : {"config.json", "model.safetensors"}) {
    ModelFolder copy;
    copy.save("model.safetensors", copy.tensors);
    fs::remove(copy.folder / name);
    fs::create_symlink("../../blobs/1a2b", copy.folder / name);
    expect_mentions(usage_error_of([&] { open_weights(copy.folder.path()); }),
                    {name, "link to ../../blobs/1a2b", "cp -rL"});
  }
}

TEST(HuggingFace, OneErrorListsAllTensorsThatDoNotFit) {
  ModelFolder copy;
  copy.tensors.erase("transformer.h.1.ln_1.bias");
  copy.tensors.erase("transformer.wpe.weight");
  copy.tensors["transformer.h.0.mlp.c_fc.weight"] = zeros({144, 36});
  copy.tensors["transformer.ln_f.bias"] = zeros({36}, DType::kI32);
  copy.tensors["adapter.weight"] = zeros({1});
  expect_mentions(copy.refusal(),
                  {"missing: h.1.ln_1.bias", "missing: wpe.weight",
                   "different: transformer.h.0.mlp.c_fc.weight: [144, 36], "
                   "expected [36, 144]",
                   "different: transformer.ln_f.bias: I32, expected F32",
                   "unexpected: adapter.weight"});
}

TEST(HuggingFace, AHeadThatIsNotTheTableIsRefused) {
  ModelFolder copy;
  copy.tensors["lm_head.weight"] = zeros({211, 36});
  expect_mentions(copy.refusal(), {"lm_head.weight", "tied"});
  ModelFolder llama("llama3_small");
  llama.tensors["lm_head.weight"] = zeros({149, 48});
  expect_mentions(llama.refusal(), {"lm_head.weight", "tied"});
  ModelFolder twice;
  twice.tensors["wte.weight"] = twice.tensors["transformer.wte.weight"];
  expect_mentions(twice.refusal(), {"wte.weight", "with and without"});
  ModelFolder untied("llama_tiny");
  untied.tensors.erase("lm_head.weight");
  expect_mentions(untied.refusal(), {"missing: lm_head.weight"});
}

TEST(HuggingFace, MoreLayersThanTensorsAreRefusedBeforeTheyAreBuilt) {
  expect_mentions(
      ModelFolder().set("\"n_layer\": 3", "\"n_layer\": 16000").refusal(),
      {"config.json", "16000 layers", "tensors"});
  expect_mentions(
      ModelFolder().set("\"n_layer\": 3", "\"n_layer\": 1000000000").refusal(),
      {"config.json", "n_layer", "1000000000"});
}

TEST(HuggingFace, TokenizerFilesBelongToTheModel) {
  ModelFolder copy;
  write_file(copy.folder / "tokenizer.json", "{}");
  write_file(copy.folder / "README.md", "no");
  fs::create_symlink("/etc/passwd", copy.folder / "vocab.json");
  EXPECT_EQ(copy.open()->description().side_files,
            std::vector<std::string>{copy.folder / "tokenizer.json"});
}

}  // namespace
}  // namespace quire::convert
