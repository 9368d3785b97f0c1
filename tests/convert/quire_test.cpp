// Checkpoints of Quire as models, and whole states.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/export.h"
#include "quire/checkpoint/verify.h"
#include "quire/convert/convert.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
using checkpoint::ExportedParameter;
using checkpoint::ExportedState;
using checkpoint::ExportRequest;

constexpr const char* kTiny =
    R"({"type": "gpt2", "layers": 1, "width": 4, "heads": 2, "context": 3,
        "vocab": 5, "dropout": 0.0, "norm_eps": 1e-05)";

// A checkpoint of a run: fp32 masters with their states, of which element i of
// kind k of any parameter is i + k.
ExportRequest run_of(const std::string& model_keys) {
  ExportRequest request;
  const nn::Model model = models::build(models::Gpt2Options{
      .layers = 1, .width = 4, .heads = 2, .context = 3, .vocab = 5});
  for (const auto& parameter : model.parameters())
    request.parameters.push_back({parameter.name,
                                  parameter.shape,
                                  true,
                                  {{"exp_avg", DType::kF32},
                                   {"exp_avg_sq", DType::kF32},
                                   {"master", DType::kF32}}});
  request.read = [](const ExportedParameter& parameter,
                    const ExportedState& state, std::int64_t first,
                    std::span<std::byte> out) {
    const std::int64_t kind = &state - parameter.states.data();
    auto* values = reinterpret_cast<float*>(out.data());
    for (std::size_t i = 0; i < out.size() / 4; ++i)
      values[i] =
          static_cast<float>(first + kind + static_cast<std::int64_t>(i));
  };
  request.progress = {.step = 7, .updates = 6, .position = 70, .seed = 3};
  request.config =
      std::string("{\"seed\": 3, \"model\": ") + kTiny + model_keys + "}}";
  request.notes = {{"data.train", "0123"}};
  return request;
}

struct SavedRun {
  explicit SavedRun(const std::string& model_keys = "")
      : request(run_of(model_keys)) {
    save();
  }
  void save() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    print = checkpoint::export_checkpoint(path, request);
  }
  SavedRun& replace(const std::string& from, const std::string& to) {
    const auto at = request.config.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    request.config.replace(at, from.size(), to);
    save();
    return *this;
  }
  std::string refusal() const {
    return usage_error_of([&] { open_weights(path); });
  }

  TempFolder folder;
  std::string path = folder / "run";
  ExportRequest request;
  std::uint64_t print = 0;
};

TEST(QuireWeights, AreTheMasters) {
  const SavedRun run;
  const auto weights = open_weights(run.path);
  EXPECT_EQ(weights->format(), Format::kQuire);
  EXPECT_EQ(weights->description().family, "gpt2");
  std::array<float, 3> values;
  read_floats(*weights, "embed.wte.weight", 4, values);
  EXPECT_EQ(values, (std::array{6.0f, 7.0f, 8.0f}));
}

TEST(QuireWeights, ReadIntoAnyAddress) {
  const SavedRun run;
  const auto weights = open_weights(run.path);
  std::array<std::byte, 9> bytes;
  weights->read("embed.wte.weight", 1, std::span(bytes).subspan(1));
  float value;
  std::memcpy(&value, bytes.data() + 5, 4);
  EXPECT_EQ(value, 4.0f);
}

TEST(QuireWeights, KeysOfRunsArePassedOver) {
  const SavedRun run(R"(, "from": "absent", "fresh": ["head.*"], "ignore": [],
                   "rename": {}, "freeze": [])");
  EXPECT_EQ(open_weights(run.path)->parameters().size(), 16u);
}

TEST(QuireWeights, MakeWayForOneThatIsRenamedIfTheyAreIgnored) {
  const SavedRun run;
  OpenOptions options = {.partial = true,
                         .rename = {{"h.0.ln_1.bias", "head.ln_f.bias"}}};
  expect_mentions(usage_error_of([&] { open_weights(run.path, options); }),
                  {"h.0.ln_1.bias and head.ln_f.bias would both be"});
  options.ignore = {"head.*.bias"};
  const auto part = open_weights(run.path, options);
  EXPECT_EQ(part->parameters().size(), 15u);
  EXPECT_EQ(part->made_way()[0], "head.ln_f.bias");
  expect_same_bits(whole(*part, "head.ln_f.bias"),
                   whole(*open_weights(run.path), "h.0.ln_1.bias"));
}

TEST(QuireWeights, UnknownAndMissingKeysAreNamed) {
  SavedRun run(R"(, "layer": 2)");
  expect_mentions(run.refusal(), {"model.layer", "\"layers\""});
  SavedRun missing;
  missing.replace("\"heads\": 2, ", "");
  expect_mentions(missing.refusal(), {"model", "heads"});
  SavedRun mistyped;
  mistyped.replace("\"width\": 4", "\"width\": \"4\"");
  expect_mentions(mistyped.refusal(), {"model.width", "\"4\""});
  SavedRun other;
  other.replace("gpt2", "rnn");
  expect_mentions(other.refusal(), {"model.type", "rnn", "llama"});
  SavedRun negative;
  negative.replace("\"layers\": 1", "\"layers\": -1");
  expect_mentions(negative.refusal(), {"model.layers", "-1"});
}

TEST(QuireWeights, ParametersMustBeTheModels) {
  SavedRun run;
  run.replace("\"layers\": 1", "\"layers\": 2");
  expect_mentions(run.refusal(), {"missing", "h.1.ln_1.weight"});
  SavedRun wide;
  wide.replace("\"vocab\": 5", "\"vocab\": 6");
  expect_mentions(wide.refusal(), {"embed.wte.weight", "[5, 4]", "[6, 4]"});
  SavedRun deep;
  deep.replace("\"layers\": 1", "\"layers\": 1000000000");
  expect_mentions(deep.refusal(), {"layers 1000000000", "16 parameters"});
  SavedRun nothing;
  nothing.request.config = "{}";
  nothing.save();
  expect_mentions(nothing.refusal(), {"no model in its configuration"});
}

TEST(QuireWeights, DamageIsAnErrorOfTheDisk) {
  const SavedRun run;
  const std::string shard = run.path + "/shard-00000-of-00001.safetensors";
  std::string bytes = read_file(shard);
  bytes.back() ^= 1;
  write_file(shard, bytes);
  const auto weights = open_weights(run.path);
  const TempFolder folder;
  EXPECT_THROW(convert(*weights, folder / "out", {.to = Format::kHuggingFace}),
               SystemError);
  EXPECT_TRUE(folder.names().empty());
}

TEST(QuireWriter, MakesACheckpointThatIsWhole) {
  const TempFolder folder;
  convert(*open_weights(data_path("llama_tiny")), folder / "out",
          {.to = Format::kQuire, .shards = 3});
  EXPECT_TRUE(checkpoint::verify(folder / "out").empty());
  const auto manifest = checkpoint::read_manifest(folder / "out");
  EXPECT_EQ(manifest.progress, checkpoint::Progress{});
  EXPECT_EQ(manifest.ranks, 3);
  EXPECT_EQ(manifest.parameters[0].states[0].kind, "value");
  EXPECT_EQ(manifest.notes.at("huggingface.family"), "llama");
}

TEST(ConvertState, CopiesAllOfItToAnyNumberOfShards) {
  const SavedRun run;
  for (const int shards : {1, 2, 5}) {
    const TempFolder folder;
    const auto done = convert_state(run.path, folder / "out",
                                    {.to = Format::kQuire, .shards = shards});
    EXPECT_EQ(done.parameters, 16);
    EXPECT_EQ(checkpoint::fingerprint(folder / "out"), run.print);
    EXPECT_TRUE(
        checkpoint::compare(run.path, folder / "out", checkpoint::Scope::kState)
            .empty());
    const auto manifest = checkpoint::read_manifest(folder / "out");
    EXPECT_EQ(manifest.notes.at("data.train"), "0123");
    EXPECT_EQ(manifest.ranks, shards);
  }
}

TEST(ConvertState, IsOfCheckpointsAlone) {
  const SavedRun run;
  const TempFolder folder;
  const std::string out = folder / "out";
  expect_mentions(usage_error_of([&] {
                    convert_state(run.path, out, {.to = Format::kDcp});
                  }),
                  {"dcp", "--to quire"});
  expect_mentions(usage_error_of([&] {
                    convert_state(run.path, out,
                                  {.to = Format::kQuire, .dtype = DType::kF32});
                  }),
                  {"leave the type out"});
  expect_mentions(usage_error_of([&] {
                    convert_state(
                        run.path, out,
                        {.to = Format::kQuire, .max_shard_bytes = 100});
                  }),
                  {"quire has no size of shards"});
  expect_mentions(usage_error_of([&] {
                    convert_state(run.path, out,
                                  {.to = Format::kQuire, .shards = 100'000});
                  }),
                  {"100000 shards", "1 to 99999"});
  expect_mentions(usage_error_of([&] {
                    convert_state(data_path("gpt2_tiny"), out,
                                  {.to = Format::kQuire});
                  }),
                  {"no checkpoint of Quire"});
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace quire::convert
