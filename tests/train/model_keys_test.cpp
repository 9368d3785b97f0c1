// The keys of the model section for every type, and the model that they take
// from model.from.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>

#include "quire/core/error.h"
#include "quire/train/keys/key.h"
#include "tests/support/temp_folder.h"

namespace quire::train {
namespace {

using models::Gpt2Options;
using models::LlamaOptions;
using Overrides = std::vector<std::string>;

constexpr const char* kGolden = QUIRE_TEST_DATA "/gpt2_tiny";

// With the section `model`.
RunConfig parsed(const std::string& model, const Overrides& overrides = {}) {
  return parse_config(R"({"steps": 20, "data": {"train": "t", "sequence": 8},
      "batch": {"lanes": 4, "lane_samples": 1},
      "optimizer": {"type": "adamw", "lr": 1e-3}, "model": )" +
                          model + "}",
                      "run.json", overrides);
}

RunConfig llama_with(const Overrides& overrides) {
  return parsed(R"({"type": "llama", "layers": 2, "width": 32, "heads": 4,
      "hidden": 48, "context": 16, "vocab": 256})",
                overrides);
}

RunConfig from_golden(const Overrides& overrides = {}) {
  return parsed(std::string(R"({"from": ")") + kGolden + "\"}", overrides);
}

std::string refusal_of(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal_of_llama(const std::string& override) {
  const std::string text = refusal_of([&] { llama_with(Overrides{override}); });
  const std::string start = "--set " + override + ": ";
  return text.starts_with(start) ? text.substr(start.size()) : text;
}

std::set<std::string> options_of(const std::string& type) {
  std::set<std::string> names;
  models::Options options = models::options_of(type);
  const auto add = [&](std::string_view name, auto&) { names.emplace(name); };
  std::visit([&](auto& each) { models::each_field(each, add); }, options);
  return names;
}

TEST(ModelKeys, AreTheOptionsOfEveryType) {
  const std::set<std::string> of_runs = {"type",  "from",   "freeze",
                                         "fresh", "ignore", "rename"};
  for (const std::string type : {"gpt2", "llama"}) {
    RunConfig config;
    config.model = models::options_of(type);
    std::set<std::string> names;
    for (const Key& key : key_table()) {
      if (!key.name.starts_with("model.") || !applies(key, config)) continue;
      const std::string name = key.name.substr(6);
      if (!of_runs.contains(name)) names.insert(name);
    }
    EXPECT_EQ(names, options_of(type)) << type;
  }
}

TEST(ModelKeys, TakeDefaultsFromOneAnother) {
  const auto model = std::get<LlamaOptions>(llama_with({}).model);
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_width, 8);
  EXPECT_EQ(model.hidden, 48);
  EXPECT_EQ(model.rotary.theta, 10000.0f);
  EXPECT_FALSE(model.qkv_bias || model.tied_head);
}

TEST(ModelKeys, ReachEveryOptionOfALlama) {
  const auto model = std::get<LlamaOptions>(
      llama_with({"model.kv_heads=2", "model.head_width=6", "model.window=5",
                  "model.rope_scaling=llama3", "model.rope_factor=8",
                  "model.rope_original_context=12", "model.qk_norm=true"})
          .model);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_width, 6);
  EXPECT_EQ(model.window, 5);
  EXPECT_EQ(model.rotary.scaling, nn::RotaryOptions::Scaling::kLlama3);
  EXPECT_EQ(model.rotary.factor, 8.0f);
  EXPECT_EQ(model.rotary.original_context, 12);
  EXPECT_TRUE(model.qk_norm);
}

TEST(ModelKeys, ReadALlamasResolvedFormBack) {
  const std::string resolved = resolved_json(
      llama_with({"model.norm_eps=1e-6", "model.rope_theta=500000"}));
  EXPECT_EQ(resolved_json(parse_config(resolved, "resolved", {})), resolved);
  EXPECT_NE(resolved.find("\"norm_eps\": 1e-06,"), std::string::npos);
  EXPECT_EQ(resolved.find("dropout"), std::string::npos);
}

TEST(ModelKeys, MustFitOneAnother) {
  EXPECT_EQ(refusal_of_llama("model.kv_heads=3"),
            "model.kv_heads is 3; expected a divisor of model.heads, which is "
            "4");
  EXPECT_EQ(refusal_of_llama("model.head_width=5"),
            "model.head_width is 5; expected an even number");
  EXPECT_EQ(refusal_of_llama("model.heads=5"),
            "model.heads is 5; expected a divisor of model.width, which is 32");
  EXPECT_EQ(refusal_of_llama("model.rope_factor=2"),
            "model.rope_factor is 2; expected model.rope_scaling linear or "
            "llama3 with it");
  EXPECT_EQ(refusal_of_llama("model.dropout=0.1"),
            "model.dropout is given, but does not apply to model.type llama; "
            "remove it");
  EXPECT_EQ(refusal_of([] { llama_with({"model.rope_scaling=llama3"}); }),
            "run.json: model.rope_original_context is 0; expected at least 1 "
            "with model.rope_scaling llama3");
}

TEST(ModelFrom, FillsTheSection) {
  const RunConfig config = from_golden();
  const auto& model = std::get<Gpt2Options>(config.model);
  EXPECT_EQ(model.layers, 3);
  EXPECT_EQ(model.width, 36);
  EXPECT_EQ(config.origin.from, kGolden);
}

TEST(ModelFrom, AllowsWhatAgreesAndAnotherDropout) {
  const RunConfig config =
      from_golden({"model.type=gpt2", "model.width=36", "model.dropout=0.25"});
  EXPECT_EQ(std::get<Gpt2Options>(config.model).dropout, 0.25f);
}

TEST(ModelFrom, RefusesWhatDisagreesWithBothValues) {
  EXPECT_EQ(
      refusal_of([] { from_golden({"model.norm_eps=1e-3"}); }),
      std::string("--set model.norm_eps=1e-3: model.norm_eps is 0.001; ") +
          kGolden + " has 1e-05: expected the same, or nothing here");
  EXPECT_EQ(refusal_of([] { from_golden({"model.type=llama"}); }),
            std::string("--set model.type=llama: model.type is \"llama\"; ") +
                kGolden + " has \"gpt2\": expected the same, or nothing here");
}

TEST(ModelFrom, LetsWhatIsFreshHaveAnotherShape) {
  const std::string fresh = "model.fresh=[\"*.wte.*\"]";
  EXPECT_EQ(models::vocab_of(from_golden({"model.vocab=300", fresh}).model),
            300);
  const std::string refusal =
      refusal_of([] { from_golden({"model.vocab=300"}); });
  EXPECT_NE(refusal.find("model.vocab is 300"), std::string::npos);
  EXPECT_NE(refusal.find("model.fresh (new)"), std::string::npos);
  EXPECT_NE(refusal.find("embed.wte.weight"), std::string::npos) << refusal;
}

TEST(ModelFrom, IsNotLookedAtWhereNothingIsLeftOut) {
  const testing::TempFolder folder;
  const std::string copy = folder / "model";
  std::filesystem::copy(kGolden, copy);
  const std::string resolved =
      resolved_json(parsed("{\"from\": \"" + copy + "\"}"));
  std::filesystem::remove_all(copy);
  EXPECT_EQ(resolved_json(parse_config(resolved, "resolved", {})), resolved);
  EXPECT_NE(resolved.find("\"from\": \"" + copy + "\""), std::string::npos);
}

TEST(ModelFrom, IsNotEmpty) {
  EXPECT_NE(refusal_of([] {
              parsed(R"({"from": ""})");
            }).find("model.from is empty; expected a path"),
            std::string::npos);
}

TEST(ModelFrom, SaysWhatServesWhereTheFolderIsGone) {
  const std::string refusal =
      refusal_of([] { parsed(R"({"from": "/nowhere/model"})"); });
  EXPECT_NE(refusal.find("run.json: model.from is /nowhere/model"),
            std::string::npos);
  EXPECT_NE(refusal.find("resolved_config.json"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace quire::train
