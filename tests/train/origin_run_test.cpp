// Runs that start from a model of somebody else's.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "quire/checkpoint/manifest.h"
#include "quire/train/run.h"
#include "tests/convert/model_folder.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

using Overrides = std::vector<std::string>;

std::string from(const std::string& folder, const std::string& more = "") {
  return R"(model={"from": ")" + folder + "\"" + more + "}";
}
const std::string kLlama = from(testing::data_path("llama_tiny"));

std::uint64_t fingerprint_of(const RunConfig& config, int ranks) {
  return run(config, {.ranks = ranks}).result->fingerprint;
}

std::map<std::string, bool> trainable_in(const std::string& checkpoint) {
  std::map<std::string, bool> trainable;
  for (const auto& parameter : checkpoint::read_manifest(checkpoint).parameters)
    trainable[parameter.name] = parameter.trainable;
  return trainable;
}

TEST(RunFrom, StartsWithTheValuesThere) {
  const TinyRuns tiny;
  for (const std::string name : {"gpt2_tiny", "llama_tiny"}) {
    const std::string folder = testing::data_path(name);
    const std::string output = tiny.path(name);
    run(tiny.config(
            {from(folder), "steps=1", "optimizer.lr=0", "output=" + output}),
        {.ranks = 3});
    testing::expect_same_weights(*convert::open_weights(output),
                                 *convert::open_weights(folder));
  }
}

TEST(RunFrom, HasTheSameBitsOnAnyNumberOfRanksAndStage) {
  const TinyRuns tiny;
  const auto one = fingerprint_of(tiny.config({kLlama}), 1);
  EXPECT_EQ(
      fingerprint_of(tiny.config({kLlama, "output=" + tiny.path("b")}), 3),
      one);
  EXPECT_EQ(
      fingerprint_of(
          tiny.config({kLlama, "output=" + tiny.path("c"), "zero.stage=1"}), 2),
      one);
}

TEST(RunFrom, WidensHalvesIntoMasters) {
  const TinyRuns tiny;
  run(tiny.config({from(testing::data_path("hf_bf16")), "steps=1",
                   "optimizer.lr=0", "precision.compute=bf16"}),
      {.ranks = 2});
  const auto halves = convert::open_weights(testing::data_path("hf_bf16"));
  const auto saved = convert::open_weights(tiny.path("run"));
  for (const auto& entry : halves->parameters())
    testing::expect_same_bits(
        testing::whole(*saved, entry.name),
        testing::as_dtype(testing::whole(*halves, entry.name), DType::kF32));
}

TEST(RunFrom, SaysWhatItTook) {
  const TinyRuns tiny;
  const RunOutcome outcome = run(tiny.config({kLlama, "steps=1"}));
  std::string told;
  for (const auto& message : outcome.of<MessageEvent>())
    told += message.text + "\n";
  expect_text(told, {"30 parameters taken from", "llama_tiny"});
}

TEST(RunFrom, ResumesWithoutTheFolderByTheResolvedConfiguration) {
  const TinyRuns tiny;
  const std::string folder = tiny.path("model");
  std::filesystem::copy(testing::data_path("llama_tiny"), folder);
  const auto whole = fingerprint_of(
      tiny.config({from(folder), "output=" + tiny.path("whole")}), 2);
  RunConfig config = tiny.config({from(folder), "checkpoint.every=2"});
  run(config, {.ranks = 2});
  std::filesystem::remove_all(folder);
  std::filesystem::remove_all(tiny.path("run/step-00000004"));
  const RunConfig resolved =
      load_config(tiny.path("run/resolved_config.json"), {});
  const RunOutcome resumed = run(resolved, {.ranks = 3, .resume = "auto"});
  EXPECT_EQ(resumed.result->resumed_from, 2);
  EXPECT_EQ(resumed.result->fingerprint, whole);
}

TEST(RunFrom, KeepsWhatItsFilesSaidOverAResume) {
  const TinyRuns tiny;
  const auto config = [&](const std::string& steps) {
    return tiny.config(
        {from(testing::data_path("qwen2_small")), "data.sequence=8", steps});
  };
  run(config("steps=1"), {.ranks = 2});
  run(config("steps=2"), {.ranks = 1, .resume = "auto"});
  const auto saved = convert::open_weights(tiny.path("run"));
  const auto golden = convert::open_weights(testing::data_path("qwen2_small"));
  EXPECT_EQ(saved->description().family, "qwen2");
  EXPECT_EQ(saved->description().other_keys, golden->description().other_keys);
}

TEST(RunFrom, RefusesWhatDisagreesInAWholeSectionToo) {
  const TinyRuns tiny;
  const RunConfig config = tiny.config({kLlama});
  const RunConfig other =
      parse_config(resolved_json(config), "test", {"model.norm_eps=0.5"});
  const RunOutcome outcome = attempt(other, {.ranks = 2});
  expect_text(outcome.message(), {"model.norm_eps is 0.5", "llama_tiny has"});
  EXPECT_FALSE(std::filesystem::exists(tiny.path("run")));
}

TEST(RunFrom, TakesANewHeadOfAnotherVocabulary) {
  const TinyRuns tiny;
  const auto config = tiny.config(
      {from(testing::data_path("llama_tiny"),
            R"(, "vocab": 40, "fresh": ["*embed_tokens*", "*lm_head*"])"),
       "steps=1", "optimizer.lr=0"});
  EXPECT_EQ(models::vocab_of(config.model), 40);
  run(config, {.ranks = 2});
  const auto saved = convert::open_weights(tiny.path("run"));
  const auto golden = convert::open_weights(testing::data_path("llama_tiny"));
  EXPECT_EQ(convert::stored(*saved, "head.lm_head.weight").shape,
            (Shape{40, 48}));
  const std::string kept = "layers.1.mlp.up_proj.weight";
  testing::expect_same_bits(testing::whole(*saved, kept),
                            testing::whole(*golden, kept));
}

TEST(RunFrom, LeavesFrozenParametersAsTheyAre) {
  const TinyRuns tiny;
  run(tiny.config({from(testing::data_path("llama_tiny"),
                        R"(, "freeze": ["layers.*"])"),
                   "steps=2"}),
      {.ranks = 2});
  const auto saved = convert::open_weights(tiny.path("run"));
  const auto golden = convert::open_weights(testing::data_path("llama_tiny"));
  const std::string frozen = "layers.0.self_attn.q_proj.weight";
  testing::expect_same_bits(testing::whole(*saved, frozen),
                            testing::whole(*golden, frozen));
  EXPECT_FALSE(trainable_in(tiny.path("run/step-00000002")).at(frozen));
  const std::string head = "head.lm_head.weight";
  EXPECT_NE(testing::values_of(testing::whole(*saved, head)),
            testing::values_of(testing::whole(*golden, head)));
}

// Fault 85: no setting puts a prefix before a name.
TEST(RunFrom, NamesParametersTheSameWhateverTheSettings) {
  const TinyRuns tiny;
  const auto names_of = [&](const Overrides& more, int ranks) {
    const std::string output =
        tiny.path("run" + std::to_string(ranks) + std::to_string(more.size()));
    Overrides overrides = {kLlama, "steps=1", "output=" + output};
    overrides.insert(overrides.end(), more.begin(), more.end());
    run(tiny.config(overrides), {.ranks = ranks});
    run(tiny.config({from(output), "steps=1", "output=" + output + ".again"}));
    return trainable_in(output + "/step-00000001");
  };
  const auto names = names_of({}, 1);
  EXPECT_EQ(names.count("layers.0.input_layernorm.weight"), 1u);
  EXPECT_EQ(names_of({"precision.recompute=layer"}, 1), names);
  EXPECT_EQ(names_of({"precision.compute=bf16", "zero.stage=0"}, 2), names);
  EXPECT_EQ(names_of({"zero.prefetch=1"}, 3), names);
}

}  // namespace
}  // namespace quire::train
