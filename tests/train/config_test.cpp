#include "quire/train/config.h"

#include <gtest/gtest.h>

#include <fstream>

#include "quire/core/error.h"
#include "tests/support/temp_folder.h"

namespace quire::train {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* kLeast = R"({
  "steps": 20, "output": "runs/a",
  "model": {"type": "gpt2", "layers": 2, "width": 32, "heads": 4, "context": 16,
            "vocab": 256},
  "data": {"train": "train.bin", "sequence": 16},
  "batch": {"lanes": 4, "lane_samples": 3},
  "optimizer": {"type": "adamw", "lr": 1e-3}
})";

RunConfig with(const Overrides& overrides) {
  return parse_config(kLeast, "run.json", overrides);
}

std::string refusal_of(const std::string& text,
                       const Overrides& overrides = {}) {
  try {
    parse_config(text, "run.json", overrides);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal_of(const Overrides& overrides) {
  return refusal_of(kLeast, overrides);
}

TEST(Config, TakesWhatIsWrittenAndTheDefaultsOfTheRest) {
  const RunConfig config = with({});
  EXPECT_EQ(config.steps, 20);
  EXPECT_EQ(std::get<models::Gpt2Options>(config.model).heads, 4);
  EXPECT_EQ(config.optimizer.lr, 1e-3);
  EXPECT_EQ(config.optimizer.beta2, 0.999);
  EXPECT_EQ(config.batch.wave, BatchConfig::kAuto);
  EXPECT_EQ(config.stage, 3);
  EXPECT_EQ(config.checkpoint_every, -1);
  EXPECT_FALSE(config.optimizer.clip_norm || config.budget_bytes);
  EXPECT_EQ(config.schedule.steps, 20);
}

TEST(Config, TakesEveryFormOfAValue) {
  EXPECT_EQ(with({"batch.wave=all"}).batch.wave, BatchConfig::kAll);
  EXPECT_EQ(with({"batch.wave=2"}).batch.wave, 2);
  EXPECT_EQ(with({"memory.budget=24MiB"}).budget_bytes, 24 << 20);
  EXPECT_EQ(with({"memory.budget=1000"}).budget_bytes, 1000);
  EXPECT_FALSE(with({"memory.budget=none"}).budget_bytes);
  EXPECT_EQ(with({"optimizer.clip_norm=1"}).optimizer.clip_norm, 1.0);
  EXPECT_FALSE(with({"optimizer.clip_norm=null"}).optimizer.clip_norm);
  EXPECT_EQ(with({"optimizer.betas=[0, 0.5]"}).optimizer.beta2, 0.5);
  EXPECT_EQ(with({"seed=18446744073709551615"}).seed, 18446744073709551615u);
  EXPECT_EQ(with({"precision.compute=bf16"}).precision.compute, DType::kBF16);
  EXPECT_EQ(with({"precision.recompute=layer"}).precision.recompute,
            engine::Recompute::kLayer);
  EXPECT_EQ(with({"schedule.type=cosine"}).schedule.type,
            optim::Schedule::Type::kCosine);
  EXPECT_EQ(with({"output=17"}).output, "17");
}

TEST(Config, ReachesNestedArraysByOverrides) {
  const RunConfig config = with(
      {R"(optimizer.groups=[{"match": "*.bias", "lr": 1}, {"match": "*wte*", "lr": 2}])",
       "optimizer.groups.1.weight_decay=0"});
  ASSERT_EQ(config.optimizer.groups.size(), 2u);
  EXPECT_EQ(config.optimizer.groups[0].lr, 1.0);
  EXPECT_EQ(config.optimizer.groups[1].weight_decay, 0.0);
}

TEST(Config, AllowsComments) {
  const std::string text =
      "// a run\n/* of two\nlines */" + std::string(kLeast);
  EXPECT_EQ(parse_config(text, "run.json", {}).steps, 20);
}

TEST(Config, ReadsItsOwnResolvedFormBack) {
  const RunConfig config = with(
      {"model.dropout=0.1", "optimizer.clip_norm=0.3", "memory.budget=1.5GiB",
       "optimizer.groups=[{\"match\":\"*.bias\",\"weight_decay\":0.1}]",
       "batch.wave=all", "checkpoint.every=0", "data.validation=v.bin",
       "schedule.type=linear", "precision.wire=bf16"});
  const std::string resolved = resolved_json(config);
  EXPECT_EQ(resolved_json(parse_config(resolved, "resolved", {})), resolved);
  EXPECT_NE(resolved.find("\"dropout\": 0.1,"), std::string::npos);
  EXPECT_EQ(std::get<models::Gpt2Options>(
                parse_config(resolved, "resolved", {}).model)
                .dropout,
            0.1f);
  const std::string sgd =
      resolved_json(with({"optimizer.type=sgd", "optimizer.momentum=0.9"}));
  EXPECT_EQ(resolved_json(parse_config(sgd, "resolved", {})), sgd);
}

TEST(Config, SaysWhereTheSyntaxIsBroken) {
  EXPECT_EQ(refusal_of("{\n  \"steps\": ,\n}").substr(0, 14), "run.json:2:12:");
  EXPECT_EQ(refusal_of("").substr(0, 13), "run.json:1:1:");
  EXPECT_EQ(refusal_of("[1]"),
            "run.json: the document is [1]; expected an object of keys");
  EXPECT_EQ(refusal_of(R"({"optimizer": {"lr": 1, "lr": 2}})"),
            "run.json: optimizer.lr stands twice in one object; expected it "
            "once");
  EXPECT_EQ(refusal_of(Overrides{
                R"(optimizer={"type":"sgd","type":"adamw","lr":1e-3})"}),
            "--set optimizer: optimizer.type stands twice in one object; "
            "expected it once");
  EXPECT_EQ(with({R"(output={"a":1,"a":2})"}).output, R"({"a":1,"a":2})");
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Config, RefusesWhatNestsWithoutEnd) {
  constexpr const char* kDeep =
      ": it nests deeper than 64 levels; expected keys in sections";
  const int much = 200000;
  const std::string lists = repeated("[", much) + repeated("]", much);
  const std::string objects =
      repeated(R"({"x":)", much) + "1" + repeated("}", much);
  EXPECT_EQ(refusal_of(R"({"steps":)" + lists + "}"),
            std::string("run.json") + kDeep);
  EXPECT_EQ(refusal_of(objects), std::string("run.json") + kDeep);
  for (const std::string& value : {lists, objects})
    EXPECT_EQ(refusal_of(Overrides{"steps=" + value}),
              std::string("--set steps") + kDeep);
  EXPECT_EQ(refusal_of(Overrides{repeated("x.", 64) + "x=1"}),
            "--set " + repeated("x.", 64) + "x" + kDeep);
  EXPECT_EQ(
      refusal_of(R"({"steps":)" + repeated("[", 63) + repeated("]", 63) + "}")
          .substr(0, 19),
      "run.json: steps is ");
}

TEST(Config, NamesTheNearestKeyOfAnUnknownOne) {
  EXPECT_EQ(refusal_of(Overrides{"optimizer.learning_rate=1"}),
            "--set optimizer.learning_rate=1: optimizer.learning_rate is no "
            "key; the nearest is optimizer.lr");
  EXPECT_EQ(refusal_of(R"({"optimzer": {"lr": 1}})"),
            "run.json: optimzer.lr is no key; the nearest is optimizer.lr");
  EXPECT_EQ(refusal_of(R"({"step": 1})"),
            "run.json: step is no key; the nearest is steps");
}

TEST(Config, RefusesAKeyInTheWrongPlace) {
  EXPECT_EQ(refusal_of(R"({"clip_norm": 1.0})"),
            "run.json: clip_norm is no key; the nearest is "
            "optimizer.clip_norm");
  EXPECT_EQ(refusal_of(R"({"optimizer": {"warmup": 1}})"),
            "run.json: optimizer.warmup is no key; the nearest is "
            "schedule.warmup");
  EXPECT_EQ(refusal_of(R"({"clipnorm": 1.0})"),
            "run.json: clipnorm is no key; the nearest is "
            "optimizer.clip_norm");
}

// Ranks are in no key: a batch is lanes by samples, whoever works on it, and
// no third number can contradict the two.
TEST(Config, RefusesABatchThatIsNoNumberOfLanes) {
  for (const std::string lanes : {"0", "-4", "1.5", "auto", "null"}) {
    const std::string message = refusal_of(Overrides{"batch.lanes=" + lanes});
    EXPECT_NE(message.find("batch.lanes"), std::string::npos) << message;
    EXPECT_NE(message.find("whole number from 1"), std::string::npos)
        << message;
  }
  const std::string third = refusal_of(Overrides{"batch.accumulation=8"});
  EXPECT_NE(third.find("batch.accumulation is no key"), std::string::npos);
}

TEST(Config, NamesWhatIsMissing) {
  EXPECT_EQ(
      refusal_of("{}"),
      "run.json: steps is missing; expected a whole number of at least 1");
  EXPECT_EQ(refusal_of(Overrides{"data={\"sequence\": 4}"}),
            "--set data={\"sequence\": 4}: data.train is missing; expected "
            "a path, as text");
}

struct Refused {
  const char* override;
  const char* problem;
};

class ConfigRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(ConfigRefuses, AndSaysWhatWasGotAndExpected) {
  EXPECT_EQ(
      refusal_of(Overrides{GetParam().override}),
      std::string("--set ") + GetParam().override + ": " + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Values, ConfigRefuses,
    ::testing::Values(
        Refused{"steps=2.5",
                "steps is 2.5; expected a whole number of at least 1"},
        Refused{"optimizer.lr=fast",
                "optimizer.lr is \"fast\"; expected a number of at least 0 "
                "that fp32 can hold"},
        Refused{"optimizer.lr=-1",
                "optimizer.lr is -1; expected a number of at least 0 "
                "that fp32 can hold"},
        Refused{"optimizer.betas=[0.9]",
                "optimizer.betas is [0.9]; expected two numbers from 0 up to, "
                "but not, 1"},
        Refused{"optimizer.clip_norm=0",
                "optimizer.clip_norm is 0; expected a number above 0 that "
                "fp32 can hold, or \"none\""},
        Refused{"optimizer.lr=1e300",
                "optimizer.lr is 1e+300; expected a number of at least 0 "
                "that fp32 can hold"},
        Refused{"optimizer.betas=[0.9, 0.999999999999]",
                "optimizer.betas is [0.9,0.999999999999]; expected two numbers "
                "from 0 up to, but not, 1"},
        Refused{"model.norm_eps=1e300",
                "model.norm_eps is 1e+300; expected a number above 0 that "
                "fp32 can hold"},
        Refused{"optimizer.type=lion",
                "optimizer.type is \"lion\"; expected adamw, adam or sgd"},
        Refused{"model.type=gpt3",
                "model.type is \"gpt3\"; expected gpt2 or llama"},
        Refused{"model.dropout=1",
                "model.dropout is 1; expected a number from 0 up to, but not, "
                "1"},
        Refused{"seed=-1",
                "seed is -1; expected a whole number from 0 to 2^64 - 1"},
        Refused{"zero.stage=4",
                "zero.stage is 4; expected a whole number from 0 to 3"},
        Refused{"memory.budget=a lot",
                "memory.budget is \"a lot\"; expected a number of bytes, "
                "\"24MiB\" or \"none\""},
        Refused{"batch.wave=0",
                "batch.wave is 0; expected a whole number of at least 1, "
                "\"all\" or \"auto\""},
        Refused{"data.train=", "data.train is \"\"; expected a path, as text"},
        Refused{"model=3", "model is 3; expected an object of keys"},
        Refused{"optimizer.groups=[{\"match\": \"*\", \"rate\": 1}]",
                "optimizer.groups[0].rate is no key of a group; the nearest "
                "is match"},
        Refused{"optimizer.groups=[{\"lr\": 1}]",
                "optimizer.groups[0].match is missing; expected a pattern of "
                "names: \"*.bias\""}));

INSTANTIATE_TEST_SUITE_P(
    Combinations, ConfigRefuses,
    ::testing::Values(
        Refused{"model.heads=5",
                "model.heads is 5; expected a divisor of model.width, which "
                "is 32"},
        Refused{"data.sequence=17",
                "data.sequence is 17; expected at most model.context, which "
                "is 16"},
        Refused{"optimizer.momentum=0.9",
                "optimizer.momentum is given, but does not apply to "
                "optimizer.type adamw; remove it"},
        Refused{"model.hidden=64",
                "model.hidden is given, but does not apply to model.type gpt2; "
                "remove it"},
        Refused{"model.fresh=[\"*\"]",
                "model.fresh is given; expected model.from with it"},
        Refused{"model.freeze=[\"*\"]",
                "model.freeze matches every parameter; expected one that is "
                "trained"},
        Refused{"model.freeze=[\"h.?.mlp\"]",
                "model.freeze: no parameter matches \"h.?.mlp\"; the nearest "
                "name is \"h.0.ln_1.bias\""},
        Refused{"evaluate.every=5",
                "evaluate.every is 5; expected data.validation with it"}));

TEST(Config, RefusesNesterovWithoutMomentum) {
  EXPECT_EQ(
      refusal_of(Overrides{"optimizer.type=sgd", "optimizer.nesterov=true"}),
      "--set optimizer.nesterov=true: optimizer.nesterov is true; expected "
      "optimizer.momentum above 0 with it");
}

TEST(Config, RefusesAGroupThatDecidesForNothing) {
  const std::string refusal = refusal_of(
      Overrides{R"(optimizer.groups=[{"match": "*.gamma", "lr": 1}])"});
  EXPECT_NE(refusal.find("*.gamma"), std::string::npos) << refusal;
}

TEST(Config, RefusesOverridesThatNameNothing) {
  EXPECT_EQ(refusal_of(Overrides{"steps"}),
            "--set steps: expected KEY=VALUE: zero.stage=2");
  EXPECT_EQ(refusal_of(Overrides{"steps.x=1"}),
            "--set steps.x=1: steps is 20, which has no x");
}

TEST(Config, RefusesWhatIsNoFile) {
  const testing::TempFolder folder;
  EXPECT_THROW(load_config(folder.path(), {}), UsageError);
  EXPECT_THROW(load_config(folder / "absent.json", {}), UsageError);
  std::ofstream(folder / "run.json") << kLeast;
  EXPECT_EQ(load_config(folder / "run.json", {"steps=3"}).steps, 3);
}

TEST(Config, TellsAnotherRunFromAnotherWayToDoIt) {
  const ConfigDifferences differences = compare(
      with({}), with({"seed=2", "optimizer.lr=1", "steps=30", "zero.stage=1",
                      "precision.wire=bf16", "precision.recompute=layer"}));
  EXPECT_EQ(differences.refused,
            (std::vector<std::string>{
                "seed: checkpoint has 1, configuration has 2",
                "precision.wire: checkpoint has \"fp32\", configuration has "
                "\"bf16\""}));
  EXPECT_EQ(differences.warned,
            (std::vector<std::string>{
                "steps: checkpoint has 20, configuration has 30",
                "optimizer.lr: checkpoint has 0.001, configuration has 1.0"}));
}

TEST(Config, WarnsOfAnotherOptimizerAndRefusesOneWithOtherStates) {
  const auto before = with({});
  EXPECT_EQ(compare(before, with({"optimizer.type=adam"})).warned,
            (std::vector<std::string>{
                "optimizer.type: checkpoint has \"adamw\", configuration has "
                "\"adam\""}));
  EXPECT_EQ(compare(before, with({"optimizer.type=sgd"})).refused[0],
            "optimizer.type: checkpoint has \"adamw\", configuration has "
            "\"sgd\"");
  const auto sgd = with({"optimizer.type=sgd"});
  EXPECT_EQ(
      compare(sgd, with({"optimizer.type=sgd", "optimizer.momentum=0.9"}))
          .refused,
      (std::vector<std::string>{
          "optimizer.momentum: checkpoint has 0.0, configuration has 0.9"}));
}

}  // namespace
}  // namespace quire::train
