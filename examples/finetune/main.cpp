// A model from Hugging Face, trained a little further in shards over two
// processes, and handed back as a folder that the original tools read.
//
//   finetune MODEL tokens/train.bin OUTPUT
//
// OUTPUT/state keeps the whole state as a checkpoint, OUTPUT/model is the
// folder.
#include <cstdio>
#include <filesystem>

#include "quire/convert/convert.h"
#include "quire/quire.h"
#include "quire/train/load_values.h"
#include "quire/train/save_values.h"

using namespace quire;

namespace {

struct Paths {
  std::string model, tokens, output;
  std::string state() const { return output + "/state"; }
};

constexpr int kSteps = 20;

// One rank's; the others do the same at the same time. No rank ever holds the
// whole model: it reads what it answers for.
int tune(const Paths& paths, comm::Communicator& communicator) {
  const auto weights = convert::open_weights(paths.model);
  const models::Options& options = weights->description().options;
  const nn::Model model = models::build(options);
  const nn::CrossEntropy loss;
  const auto adamw = optim::adamw({});

  const auto tokens = std::make_shared<const data::TokenSet>(paths.tokens);
  tokens->check_ids(models::vocab_of(options));
  data::Loader loader({.tokens = tokens,
                       .sequence = models::context_of(options),
                       .lanes = 4,
                       .lane_samples = 1,
                       .seed = 1});

  Allocator memory({});
  ThreadPool threads(default_threads(communicator.size()));
  engine::Engine engine({.model = &model,
                         .loss = &loss,
                         .optimizer = adamw.get(),
                         .options = {.lanes = 4,
                                     .stage = engine::Stage::kParameters,
                                     .groups = {.lr = 1e-4}},
                         .communicator = &communicator,
                         .allocator = &memory,
                         .pool = &threads});
  train::load_values(engine, model, *weights);

  for (int step = 0; step < kSteps; ++step) {
    const std::vector<Batch> batches = loader.lanes(step, engine.lanes());
    const engine::StepResult result = engine.step(step, batches);
    if (communicator.rank() == 0)
      std::printf("step %2d  loss %.4f\n", step, result.loss);
  }
  train::save_values(paths.state(),
                     {.engine = &engine,
                      .model = &model,
                      .origin = weights.get(),
                      .steps = kSteps},
                     communicator);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: finetune MODEL TOKENS OUTPUT\n");
    return 2;
  }
  const Paths paths{argv[1], argv[2], argv[3]};
  if (std::filesystem::exists(paths.output)) {
    std::fprintf(stderr, "%s is there already; name a new folder\n", argv[3]);
    return 2;
  }
  const comm::RunResult result =
      comm::run_processes(2, {}, [&](comm::Communicator& communicator) {
        return tune(paths, communicator);
      });
  if (result.failure) {
    std::fprintf(stderr, "%s\n", result.failure->to_string().c_str());
    return result.exit_code;
  }
  convert::convert(*convert::open_weights(paths.state()),
                   paths.output + "/model",
                   {.to = convert::Format::kHuggingFace});
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
