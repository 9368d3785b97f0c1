// Faults 79 of names that do not fit: all are told, on every rank, and a part
// is loaded only where it is asked for.
#include "quire/train/load_values.h"

#include <gtest/gtest.h>

#include <atomic>

#include "quire/core/thread_pool.h"
#include "quire/optim/adam.h"
#include "tests/convert/model_folder.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

using testing::ModelFolder;
using testing::Tensors;

struct HowToLoad {
  int ranks = 1;
  convert::OpenOptions open = {.config = {}, .partial = true, .rename = {}};
  LoadRules rules = {};
  engine::Options engine = {.lanes = 4};
};

struct Loaded {
  std::string refusal;  // of the first rank that failed
  int refused = 0;      // ranks
  LoadReport report;
  std::map<std::string, Tensor> values;  // whole
};

// Values in fp32, as rank 0 has them.
void take_values(engine::Engine& engine, const nn::Model& model,
                 Loaded& loaded) {
  engine.open();
  for (const auto& parameter : model.parameters())
    loaded.values[parameter.name] = testing::copy_of(testing::as_dtype(
        engine.value(model.find(parameter.name)), DType::kF32));
  engine.close();
}

Loaded load(const nn::Model& model, const std::string& folder,
            const HowToLoad& how) {
  Loaded loaded;
  std::atomic<int> refused = 0;
  const nn::CrossEntropy loss;
  const auto adamw = optim::adamw({});
  const auto world = comm::run_threads(
      how.ranks, {.timeout_s = 20}, [&](comm::Communicator& communicator) {
        Allocator memory({});
        ThreadPool threads(1);
        engine::Engine engine({.model = &model,
                               .loss = &loss,
                               .optimizer = adamw.get(),
                               .options = how.engine,
                               .communicator = &communicator,
                               .allocator = &memory,
                               .pool = &threads});
        const auto weights = convert::open_weights(folder, how.open);
        LoadReport report;
        try {
          report = load_values(engine, model, *weights, how.rules);
        } catch (const UsageError&) {
          ++refused;
          throw;
        }
        Loaded mine;
        take_values(engine, model, mine);
        if (communicator.rank() != 0) return 0;
        loaded.values = std::move(mine.values);
        loaded.report = report;
        return 0;
      });
  loaded.refusal = world.failure ? world.failure->message : "";
  loaded.refused = refused;
  return loaded;
}

models::Options golden_options() {
  return convert::open_weights(testing::data_path("gpt2_tiny"))
      ->description()
      .options;
}

nn::Model golden_model() { return models::build(golden_options()); }

// The golden folder with one tensor too few, one too many, one of another
// shape.
struct Misfit : ModelFolder {
  Misfit() {
    tensors.erase("transformer.h.0.ln_1.bias");
    tensors["score.weight"] = tensors.at("transformer.h.1.ln_1.bias");
    tensors["transformer.ln_f.weight"] =
        testing::zeros({tensors.at("transformer.ln_f.weight").numel() - 1});
    save("model.safetensors", tensors);
  }
};

TEST(LoadValues, NamesAllThatDoesNotFitOnAnyNumberOfRanks) {
  const Misfit files;
  const nn::Model model = golden_model();
  for (const int ranks : {1, 3}) {
    const Loaded loaded = load(model, files.folder.path(), {.ranks = ranks});
    EXPECT_GE(loaded.refused, 1);
    expect_text(loaded.refusal,
                {"does not fit the model", "missing: h.0.ln_1.bias",
                 "different: head.ln_f.weight: [35], expected [36]",
                 "unexpected: score.weight"});
  }
}

TEST(LoadValues, LoadsAPartWhereItIsAskedForAndSaysWhich) {
  const Misfit files;
  const nn::Model model = golden_model();
  const Loaded loaded =
      load(model, files.folder.path(),
           {.ranks = 2,
            .rules = {.fresh = {"h.0.ln_1.bias", "*.ln_f.weight"},
                      .ignore = {"score.*"}}});
  EXPECT_EQ(loaded.refusal, "");
  EXPECT_EQ(loaded.report.fresh,
            (std::vector<std::string>{"h.0.ln_1.bias", "head.ln_f.weight"}));
  EXPECT_EQ(loaded.report.ignored, std::vector<std::string>{"score.weight"});
  // Drawn: a norm's gain is one.
  EXPECT_EQ(loaded.values.at("head.ln_f.weight").data<float>()[0], 1.0f);
  testing::expect_same_bits(loaded.values.at("embed.wpe.weight"),
                            files.tensors.at("transformer.wpe.weight"));
}

TEST(LoadValues, ReadsATensorUnderAnotherName) {
  ModelFolder files;
  auto moved = files.tensors.extract("transformer.h.2.mlp.c_fc.weight");
  moved.key() = "first.weight";
  files.tensors.insert(std::move(moved));
  files.save("model.safetensors", files.tensors);
  const nn::Model model = golden_model();
  const Loaded loaded =
      load(model, files.folder.path(),
           {.open = {.config = {},
                     .partial = true,
                     .rename = {{"first.weight", "h.2.mlp.c_fc.weight"}}}});
  EXPECT_EQ(loaded.refusal, "");
  // In the parameter's layout, which is the transpose of theirs.
  const auto golden = convert::open_weights(testing::data_path("gpt2_tiny"));
  testing::expect_same_bits(loaded.values.at("h.2.mlp.c_fc.weight"),
                            testing::whole(*golden, "h.2.mlp.c_fc.weight"));
}

TEST(LoadValues, LeavesOutATensorWhosePlaceAnotherTakes) {
  ModelFolder files;
  files.tensors["score"] = testing::zeros({36});
  files.save("model.safetensors", files.tensors);
  const nn::Model model = golden_model();
  const std::vector<std::string> ignore = {"head.ln_f.*s"};
  const Loaded loaded = load(model, files.folder.path(),
                             {.open = {.partial = true,
                                       .rename = {{"score", "head.ln_f.bias"}},
                                       .ignore = ignore},
                              .rules = {.ignore = ignore}});
  EXPECT_EQ(loaded.refusal, "");
  EXPECT_EQ(loaded.report.ignored, std::vector<std::string>{"head.ln_f.bias"});
  EXPECT_EQ(loaded.report.loaded, std::ssize(model.parameters()));
  EXPECT_EQ(loaded.values.at("head.ln_f.bias").data<float>()[0], 0.0f);
}

TEST(LoadValues, RefusesPatternsThatMatchNothing) {
  const nn::Model model = golden_model();
  const Loaded loaded =
      load(model, testing::data_path("gpt2_tiny"),
           {.rules = {.fresh = {"*.hed"}, .ignore = {"score.*"}}});
  expect_text(loaded.refusal, {"fresh: the pattern \"*.hed\" matches nothing",
                               "ignore: the pattern \"score.*\""});
}

TEST(LoadValues, GivesEveryStageAndTypeTheSameValues) {
  const nn::Model model = golden_model();
  const auto golden = convert::open_weights(testing::data_path("gpt2_tiny"));
  const Tensor wanted = testing::whole(*golden, "embed.wte.weight");
  for (const auto stage : {engine::Stage::kNone, engine::Stage::kParameters}) {
    const Loaded loaded =
        load(model, golden->path(),
             {.ranks = 3, .engine = {.lanes = 4, .stage = stage}});
    testing::expect_same_bits(loaded.values.at("embed.wte.weight"), wanted);
  }
  const Loaded rounded =
      load(model, golden->path(),
           {.ranks = 2,
            .engine = {.lanes = 4, .precision = {.compute = DType::kBF16}}});
  testing::expect_same_bits(
      rounded.values.at("embed.wte.weight"),
      testing::as_dtype(testing::as_dtype(wanted, DType::kBF16), DType::kF32));
}

// A frozen value is kept in the compute type, without a master.
TEST(LoadValues, FillsFrozenParameters) {
  nn::Model model = golden_model();
  model.freeze("embed.*");
  const auto golden = convert::open_weights(testing::data_path("gpt2_tiny"));
  const Loaded loaded =
      load(model, golden->path(),
           {.ranks = 2,
            .engine = {.lanes = 4, .precision = {.compute = DType::kBF16}}});
  EXPECT_EQ(loaded.refusal, "");
  testing::expect_same_bits(
      loaded.values.at("embed.wpe.weight"),
      testing::as_dtype(
          testing::as_dtype(testing::whole(*golden, "embed.wpe.weight"),
                            DType::kBF16),
          DType::kF32));
}

}  // namespace
}  // namespace quire::train
