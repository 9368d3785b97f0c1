// A training run: a small GPT-2 on a text's bytes, in shards over two
// processes.
//
//   quire tokenize book.txt --tokenizer bytes --out tokens
//   gpt tokens/train.bin runs/gpt
#include <cstdio>

#include "quire/quire.h"
#include "save.h"

using namespace quire;

namespace {

struct Paths {
  std::string tokens, output;
};

// One rank's; the other one does the same at the same time.
int train(const Paths& paths, comm::Communicator& communicator) {
  const nn::Model model = models::gpt2(
      {.layers = 4, .width = 128, .heads = 4, .context = 64, .vocab = 256});
  const nn::CrossEntropy loss;
  const auto adamw = optim::adamw({.beta2 = 0.99});

  const auto tokens = std::make_shared<const data::TokenSet>(paths.tokens);
  tokens->check_ids(256);
  data::Loader loader({.tokens = tokens,
                       .sequence = 64,
                       .lanes = 4,
                       .lane_samples = 3,
                       .seed = 1});

  Allocator memory({});
  ThreadPool threads(default_threads(communicator.size()));
  engine::Engine engine({.model = &model,
                         .loss = &loss,
                         .optimizer = adamw.get(),
                         .options = {.lanes = 4, .groups = {.lr = 1e-3}},
                         .communicator = &communicator,
                         .allocator = &memory,
                         .pool = &threads});

  for (std::int64_t step = 0; step < 200; ++step) {
    const std::vector<Batch> batches = loader.lanes(step, engine.lanes());
    const engine::StepResult result = engine.step(step, batches);
    if (communicator.rank() == 0 && step % 10 == 0)
      std::printf("step %3d  loss %.3f\n", static_cast<int>(step), result.loss);
  }
  save(paths.output,
       {.step = 200,
        .updates = engine.updates(),
        .position = 200 * loader.sampler().step_samples(),
        .seed = 1},
       {.model = model, .engine = engine, .communicator = communicator});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gpt TOKENS OUTPUT\n");
    return 2;
  }
  const Paths paths{argv[1], argv[2]};
  const comm::RunResult result =
      comm::run_processes(2, {}, [&](comm::Communicator& communicator) {
        return train(paths, communicator);
      });
  if (result.failure)
    std::fprintf(stderr, "%s\n", result.failure->to_string().c_str());
  return result.exit_code;
}
