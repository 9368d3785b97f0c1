#include "quire/train/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quire/checkpoint/save.h"
#include "quire/core/thread_pool.h"
#include "tests/support/golden.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

EvaluateResult evaluate_on(int ranks, const EvaluateOptions& options) {
  return on_ranks<EvaluateResult>(ranks, [&](comm::Communicator& communicator) {
    return evaluate(options, communicator);
  });
}

data::Ids part(const data::Ids& ids, int begin, int end) {
  return {ids.begin() + begin, ids.begin() + end};
}

// Windows of 8, 8 and 4 targets: the mean is over 20 targets, not over windows.
TEST(Evaluate, CountsEveryTargetOnceToTheLastToken) {
  TinyRuns tiny;
  run(tiny.config());
  const data::Ids ids = data::varied(21, 16);
  const auto loss_of = [&](const data::Ids& text) {
    const auto data = tiny.write_tokens("part.bin", text);
    return evaluate_on(1, {.model = tiny.path("run"), .data = data});
  };
  const EvaluateResult whole = loss_of(ids);
  EXPECT_EQ(whole.targets, 20);
  const EvaluateResult tail = loss_of(part(ids, 16, 21));
  EXPECT_EQ(tail.targets, 4);
  const double by_hand = (8 * loss_of(part(ids, 0, 9)).loss +
                          8 * loss_of(part(ids, 8, 17)).loss + 4 * tail.loss) /
                         20;
  EXPECT_NEAR(whole.loss, by_hand, 1e-6);
}

TEST(Evaluate, GivesTheRunsOwnValidationLossOnAnyNumberOfRanks) {
  TinyRuns tiny;
  const auto data = tiny.write_tokens("validation.bin", data::varied(53, 16));
  const RunOutcome trained =
      run(tiny.config({"data.validation=" + data}), {.ranks = 2});
  ASSERT_TRUE(trained.result->validation);
  EXPECT_EQ(trained.result->validation->targets, 52);
  for (const int ranks : {1, 2, 3}) {
    const EvaluateResult result =
        evaluate_on(ranks, {.model = tiny.path("run"), .data = data});
    EXPECT_EQ(result.loss, trained.result->validation->loss) << ranks;
    EXPECT_EQ(result.targets, 52);
  }
}

// -log softmax(logits)[target] of one row.
double loss_of_row(const float* logits, std::int64_t vocab,
                   std::int32_t target) {
  double sum = 0;
  for (std::int64_t v = 0; v < vocab; ++v) sum += std::exp(double{logits[v]});
  return std::log(sum) - logits[target];
}

TEST(Evaluate, OfAHuggingFaceFolderIsByTransformersLogits) {
  TinyRuns tiny;
  const std::string folder = std::string(QUIRE_TEST_DATA) + "/gpt2_tiny";
  const testing::Golden golden("gpt2_tiny/golden");
  const Tensor ids = golden.tensor("input_ids");
  const Tensor logits = golden.tensor("logits");
  const std::int64_t length = ids.dim(1), vocab = logits.dim(2);
  data::Ids text(static_cast<std::size_t>(length));
  double by_hand = 0;
  for (std::int64_t t = 0; t < length; ++t) {
    text[static_cast<std::size_t>(t)] = ids.data<std::int32_t>()[t];
    if (t == 0) continue;
    by_hand += loss_of_row(logits.data<float>() + (t - 1) * vocab, vocab,
                           text[static_cast<std::size_t>(t)]);
  }
  const auto data = tiny.write_tokens("text.bin", text);
  for (const int ranks : {1, 3}) {
    const auto result = evaluate_on(ranks, {.model = folder, .data = data});
    EXPECT_EQ(result.targets, length - 1);
    EXPECT_NEAR(result.loss, by_hand / static_cast<double>(length - 1), 2e-6);
  }
}

std::string refusal(const EvaluateOptions& options) {
  const auto world = comm::run_threads(2, {.timeout_s = 20},
                                       [&](comm::Communicator& communicator) {
                                         evaluate(options, communicator);
                                         return 0;
                                       });
  EXPECT_EQ(world.exit_code, 2);
  return world.failure->message;
}

TEST(Evaluate, RefusesASequenceBeyondTheContext) {
  TinyRuns tiny;
  run(tiny.config());
  expect_text(refusal({.model = tiny.path("run"),
                       .data = tiny.path("train.bin"),
                       .sequence = 9}),
              {"--sequence is 9", "8"});
}

TEST(Evaluate, RefusesACheckpointWithoutAConfiguration) {
  TinyRuns tiny;
  const std::string folder = tiny.path("own");
  on_ranks<std::uint64_t>(1, [&](comm::Communicator& communicator) {
    ThreadPool thread(1);
    Allocator scratch({});
    Stream stream(Stream::Kind::kInline, "save", thread, scratch);
    return checkpoint::save(folder, {}, communicator, stream);
  });
  expect_text(refusal({.model = folder, .data = tiny.path("train.bin")}),
              {"step-00000000", "holds no configuration"});
}

}  // namespace
}  // namespace quire::train
