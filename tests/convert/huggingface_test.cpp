#include "quire/convert/huggingface.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/safetensors.h"
#include "tests/support/golden.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
namespace fs = std::filesystem;

const std::string kTiny = std::string(QUIRE_TEST_DATA) + "/gpt2_tiny";

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
std::string read_text(const std::string& path) {
  return checkpoint::read_text(path, 1 << 20);
}

// A copy of the tiny model that can be changed.
struct Copy {
  Copy() {
    fs::copy(kTiny + "/config.json", folder / "config.json");
    const Golden golden("gpt2_tiny/model");
    for (const auto& name : golden.names())
      tensors.emplace(name, golden.tensor(name));
  }
  // Replaces text in the configuration.
  Copy& set(const std::string& from, const std::string& to) {
    std::string text = read_text(folder / "config.json");
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write(folder / "config.json", text.replace(at, from.size(), to));
    return *this;
  }
  void save(const std::string& name,
            const std::map<std::string, Tensor>& which) const {
    fs::remove(folder / name);
    std::vector<checkpoint::SafetensorsTensor> out;
    for (const auto& [key, tensor] : which) {
      const auto extents = tensor.shape().extents();
      out.push_back(
          {.name = key,
           .dtype = std::string(checkpoint::safetensors_dtype(tensor.dtype())),
           .shape = {extents.begin(), extents.end()},
           .give = [tensor = tensor](const checkpoint::ByteSink& sink) {
             sink({tensor.raw(), static_cast<std::size_t>(tensor.bytes())});
           }});
    }
    checkpoint::write_safetensors(folder / name, std::move(out), {});
  }
  HuggingFaceModel open() const {
    save("model.safetensors", tensors);
    return HuggingFaceModel(folder.path());
  }
  std::string refusal() const {
    return usage_error_of([&] { open(); });
  }

  TempFolder folder;
  std::map<std::string, Tensor> tensors;
};

Tensor whole(const HuggingFaceModel& model, const std::string& name,
             const Shape& shape) {
  Tensor values = zeros(shape);
  model.read(name, 0,
             {values.data<float>(), static_cast<std::size_t>(values.numel())});
  return values;
}

Tensor transposed(const Tensor& x) {
  Tensor y = zeros({x.dim(1), x.dim(0)});
  for (std::int64_t i = 0; i < x.dim(0); ++i)
    for (std::int64_t j = 0; j < x.dim(1); ++j)
      y.data<float>()[j * x.dim(0) + i] = x.data<float>()[i * x.dim(1) + j];
  return y;
}

// Every parameter equals the file's, under the names of models::gpt2.
void expect_tiny(const HuggingFaceModel& model, DType type = DType::kF32) {
  const Golden golden("gpt2_tiny/model");
  const nn::Model net = models::gpt2(model.options());
  for (const auto& parameter : net.parameters()) {
    std::string name = parameter.name;
    for (const std::string layer : {"embed.", "head."})
      if (name.starts_with(layer)) name = name.substr(layer.size());
    Tensor wanted = golden.tensor("transformer." + name);
    if (name.find(".c_") != std::string::npos && wanted.shape().rank() == 2)
      wanted = transposed(wanted);
    if (type != DType::kF32)
      wanted = as_dtype(as_dtype(wanted, type), DType::kF32);
    expect_same_bits(whole(model, parameter.name, parameter.shape), wanted);
  }
}

TEST(HuggingFace, ReadsTheTinyGpt2OfTransformers) {
  ASSERT_TRUE(is_hugging_face(kTiny));
  const HuggingFaceModel model(kTiny);
  EXPECT_EQ(model.options().layers, 3);
  EXPECT_EQ(model.options().width, 36);
  EXPECT_EQ(model.options().heads, 3);
  EXPECT_EQ(model.options().context, 40);
  EXPECT_EQ(model.options().vocab, 211);
  EXPECT_EQ(model.options().dropout, 0.0f);
  EXPECT_EQ(model.options().norm_eps, 1e-5f);
  EXPECT_TRUE(model.warnings().empty());
  expect_tiny(model);
}

TEST(HuggingFace, ReadsRangesThatBeginAndEndAnywhere) {
  const HuggingFaceModel model(kTiny);
  for (const std::string name : {"h.1.mlp.c_fc.weight", "embed.wpe.weight"}) {
    const Shape shape = name.starts_with("h") ? Shape{144, 36} : Shape{40, 36};
    const Tensor all = whole(model, name, shape);
    for (const std::int64_t first : {0, 1, 35, 36, 256, 1400})
      for (const std::int64_t count : {0, 1, 36, 40}) {
        const Tensor part = zeros({count});
        model.read(name, first,
                   {part.data<float>(), static_cast<std::size_t>(count)});
        expect_same_bits(part, all.range(first, count));
      }
  }
  float out[2];
  expect_mentions(
      usage_error_of([&] { model.read("head.ln_f.bias", 35, out); }),
      {"head.ln_f.bias", "35", "36"});
  expect_mentions(usage_error_of([&] { model.read("ln_f.bias", 0, out); }),
                  {"ln_f.bias"});
}

TEST(HuggingFace, WidensHalves) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    Copy copy;
    for (auto& [name, tensor] : copy.tensors) tensor = as_dtype(tensor, type);
    expect_tiny(copy.open(), type);
  }
}

TEST(HuggingFace, NamesMayLackThePrefixAndMasksAreSkipped) {
  Copy copy;
  std::map<std::string, Tensor> plain;
  for (const auto& [name, tensor] : copy.tensors)
    plain.emplace(name.substr(12), tensor);
  plain.emplace("h.0.attn.bias", zeros({1, 1, 40, 40}, DType::kU8));
  plain.emplace("h.0.attn.masked_bias", zeros({}));
  plain.emplace("lm_head.weight", plain.at("wte.weight"));
  copy.tensors = plain;
  expect_tiny(copy.open());
}

TEST(HuggingFace, ReadsShardsOfAnIndexInAnyOrder) {
  Copy copy;
  std::map<std::string, Tensor> shards[2];
  std::string map;
  for (const auto& [name, tensor] : copy.tensors) {
    const std::size_t shard = name.size() % 2;
    shards[shard].emplace(name, tensor);
    map += (map.empty() ? "\"" : ",\"") + name + "\":\"part-" +
           (shard == 0 ? "a" : "b") + "\"";
  }
  copy.save("part-a", shards[0]);
  copy.save("part-b", shards[1]);
  write(copy.folder / "unrelated.safetensors", "broken");
  const std::string index = copy.folder / "model.safetensors.index.json";
  write(index, R"({"metadata":{"total_size":5},"weight_map":{)" + map + "}}");
  const HuggingFaceModel model(copy.folder.path());
  expect_tiny(model);
  ASSERT_EQ(model.warnings().size(), 1u);
  expect_mentions(model.warnings()[0], {"total_size", "5"});
}

// What an index over two files of one tensor each is refused for.
std::string index_refusal(const std::string& weight_map) {
  Copy copy;
  copy.save("a", {{"x", zeros({1})}});
  copy.save("b", {{"y", zeros({1})}});
  copy.save("xy", {{"x", zeros({1})}, {"y", zeros({1})}});
  write(copy.folder / "model.safetensors.index.json",
        R"({"weight_map":)" + weight_map + "}");
  fs::create_symlink("/etc/passwd", copy.folder / "link");
  return usage_error_of([&] { HuggingFaceModel(copy.folder.path()); });
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
  expect_tiny(HuggingFaceModel(hub / "snapshots/1a2b"));
}

TEST(HuggingFace, OneErrorListsAllTensorsThatDoNotFit) {
  Copy copy;
  copy.tensors.erase("transformer.h.1.ln_1.bias");
  copy.tensors.erase("transformer.wpe.weight");
  copy.tensors["transformer.h.0.mlp.c_fc.weight"] = zeros({144, 36});
  copy.tensors["adapter.weight"] = zeros({1});
  expect_mentions(copy.refusal(),
                  {"missing: h.1.ln_1.bias", "missing: wpe.weight",
                   "different: transformer.h.0.mlp.c_fc.weight: [144, 36], "
                   "expected [36, 144]",
                   "unexpected: adapter.weight"});
}

TEST(HuggingFace, AHeadThatIsNotTheTableIsRefused) {
  Copy copy;
  copy.tensors["lm_head.weight"] = zeros({211, 36});
  expect_mentions(copy.refusal(), {"lm_head.weight", "tied"});
  Copy twice;
  twice.tensors["wte.weight"] = twice.tensors["transformer.wte.weight"];
  expect_mentions(twice.refusal(), {"wte.weight", "with and without"});
}

TEST(HuggingFace, AConfigurationThatIsNotOursIsRefusedByKey) {
  const auto refusal = [](const std::string& from, const std::string& to) {
    return Copy().set(from, to).refusal();
  };
  expect_mentions(refusal("\"gpt2\"", "\"llama\""),
                  {"config.json", "model_type", "llama", "gpt2"});
  expect_mentions(refusal("gelu_new", "relu"), {"activation_function", "relu"});
  expect_mentions(refusal("\"n_inner\": null", "\"n_inner\": 100"),
                  {"n_inner", "100", "144"});
  expect_mentions(refusal("\"n_head\": 3", "\"n_head\": 5"), {"n_head", "5"});
  expect_mentions(refusal("\"n_embd\": 36", "\"n_embd\": -36"),
                  {"n_embd", "-36"});
  expect_mentions(refusal("\"n_layer\": 3,", ""), {"n_layer", "missing"});
  expect_mentions(refusal("\"n_layer\": 3", "\"n_layer\": 200000000"),
                  {"n_layer", "200000000", "tensors"});
  expect_mentions(refusal("\"attn_pdrop\": 0", "\"attn_pdrop\": 1.5"),
                  {"attn_pdrop", "1.5"});
  expect_mentions(refusal("\"tie_word_embeddings\": true",
                          "\"tie_word_embeddings\": false"),
                  {"tie_word_embeddings"});
}

TEST(HuggingFace, TakesTheOldNameOfTheContextAndTellsOfDropoutsThatDiffer) {
  Copy copy;
  copy.set("n_positions", "n_ctx")
      .set("\"attn_pdrop\": 0", "\"attn_pdrop\": 0.5");
  const auto model = copy.open();
  EXPECT_EQ(model.options().context, 40);
  ASSERT_EQ(model.warnings().size(), 1u);
  expect_mentions(model.warnings()[0], {"attn_pdrop", "0.5"});
}

TEST(HuggingFace, APickleIsRefusedUnread) {
  Copy copy;
  write(copy.folder / "pytorch_model.bin", "cos\nsystem\n(S'x'\ntR.");
  expect_mentions(usage_error_of([&] { HuggingFaceModel(copy.folder.path()); }),
                  {"pytorch_model.bin", "pickle", "safetensors"});
  fs::remove(copy.folder / "pytorch_model.bin");
  expect_mentions(usage_error_of([&] { HuggingFaceModel(copy.folder.path()); }),
                  {"model.safetensors", "neither"});
  expect_mentions(usage_error_of([&] { HuggingFaceModel(copy.folder / "no"); }),
                  {"config.json", "does not exist"});
}

}  // namespace
}  // namespace quire::convert
