#include <gtest/gtest.h>

#include <atomic>

#include "quire/comm/meta.h"
#include "quire/engine/dry_run.h"
#include "quire/models/gpt2.h"
#include "quire/nn/layers.h"
#include "quire/optim/adam.h"
#include "tests/support/training.h"
#include "tests/support/world.h"

namespace quire::engine {
namespace {

struct Work {
  const nn::Model* model;
  Options options;
  Batch lane;
  int threads = 1;
};

// Of one rank; `allocator` says where.
std::uint64_t fingerprint(const Work& work, comm::Communicator& communicator,
                          Allocator& allocator) {
  const nn::CrossEntropy loss;
  const auto optimizer = optim::adamw({});
  ThreadPool pool(work.threads);
  Engine engine({.model = work.model,
                 .loss = &loss,
                 .optimizer = optimizer.get(),
                 .options = work.options,
                 .communicator = &communicator,
                 .allocator = &allocator,
                 .pool = &pool});
  return engine.fingerprint_kernels(work.lane);
}

// Rank 0's of all ranks, which agree.
std::uint64_t fingerprint(const test::Training& t) {
  std::uint64_t result = 0;
  const nn::Model model = models::gpt2(t.model);
  const Work work{&model, t.options, test::lane_batch(t, 0, 0), t.threads};
  testing::expect_success(
      testing::World{t.ranks, false, t.mapped}.run([&](auto& communicator) {
        Allocator allocator({});
        const auto mine = fingerprint(work, communicator, allocator);
        if (communicator.rank() == 0) result = mine;
        return 0;
      }));
  return result;
}

TEST(KernelFingerprint, IsTheSameForAnyRanksThreadsStagesAndWaves) {
  test::Training t{.options = test::small_options(4)};
  const std::uint64_t one = fingerprint(t);
  for (int ranks : {1, 3}) {
    for (Stage stage : {Stage::kNone, Stage::kParameters}) {
      t.ranks = ranks;
      t.threads = ranks;
      t.options.stage = stage;
      t.options.wave = ranks;
      EXPECT_EQ(fingerprint(t), one) << ranks << " ranks";
    }
  }
}

TEST(KernelFingerprint, IsOfShapesAndTypesAndNotOfTokensOrSeed) {
  test::Training t{.options = test::small_options(4)};
  const std::uint64_t one = fingerprint(t);
  t.options.seed = 99;
  EXPECT_EQ(fingerprint(t), one);
  t.sequence = 16;
  EXPECT_NE(fingerprint(t), one);
  t.sequence = 17;
  t.options.precision.compute = DType::kBF16;
  EXPECT_NE(fingerprint(t), one);
}

// One element of a linear layer is off by `error`; counts how often it runs
// with numbers.
class Erring final : public nn::Layer {
 public:
  struct Options {
    float error;
    std::atomic<int>* runs;
  };
  explicit Erring(Options options)
      : options_(options), linear_(*this, "linear", {.in = 12, .out = 12}) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var y = linear_(in.only());
    if (y.value().is_meta()) return y;
    if (options_.runs != nullptr) ++*options_.runs;
    y.value().data<float>()[5] += options_.error;
    return autograd::scale(y, 1.0f);
  }

 private:
  Options options_;
  nn::Child<nn::Linear> linear_;
};

constexpr std::int64_t kVocab = 19;

nn::Model chain(const std::vector<Erring::Options>& layers) {
  nn::Model model;
  model.add<nn::Embedding>("embed", {.count = kVocab, .width = 12});
  for (std::size_t i = 0; i < layers.size(); ++i)
    model.add<Erring>("mix." + std::to_string(i), layers[i]);
  model.add<nn::Linear>("head", {.in = 12, .out = kVocab});
  return model;
}

Work work_on(const nn::Model& model) {
  test::Training t;
  t.model.vocab = kVocab;
  return {&model, test::small_options(2), test::lane_batch(t, 0, 0)};
}

TEST(KernelFingerprint, RefusesARankThatComputesOtherBitsNamingTheOperation) {
  const comm::RunResult result =
      testing::World{3, false, true}.run([](auto& communicator) {
        const float error = communicator.rank() == 2 ? 1e-3f : 0.0f;
        const nn::Model model = chain({{error, nullptr}});
        Allocator allocator({});
        fingerprint(work_on(model), communicator, allocator);
        return 0;
      });
  ASSERT_TRUE(result.failure);
  const std::string text = result.failure->to_string();
  for (const char* word : {"ranks 0 and 2", "mix.0, scale", "rank 2 has"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

std::uint64_t fingerprint_alone(const nn::Model& model) {
  std::uint64_t result = 0;
  testing::expect_success(
      testing::World{1, false, true}.run([&](auto& communicator) {
        Allocator allocator({});
        result = fingerprint(work_on(model), communicator, allocator);
        return 0;
      }));
  return result;
}

TEST(KernelFingerprint, RunsSegmentsThatDoTheSameOnce) {
  std::atomic<int> runs = 0;
  const std::vector<Erring::Options> five(5, {0.0f, &runs});
  fingerprint_alone(chain(five));
  EXPECT_EQ(runs, 1);
}

TEST(KernelFingerprint, IsAnotherForOtherArithmetic) {
  EXPECT_NE(fingerprint_alone(chain({{0.0f, nullptr}})),
            fingerprint_alone(chain({{1e-3f, nullptr}})));
}

std::int64_t peak_of(const test::Training& t, Device device) {
  const nn::Model model = models::gpt2(t.model);
  const Work work{&model, t.options, test::lane_batch(t, 0, 0), t.threads};
  Allocator allocator({.device = device});
  if (device == Device::kMeta) {
    const auto communicator = comm::meta_communicator(0, 1);
    fingerprint(work, *communicator, allocator);
  } else {
    testing::World{1, false, true}.run([&](auto& communicator) {
      fingerprint(work, communicator, allocator);
      return 0;
    });
  }
  return allocator.report().total_peak;
}

TEST(KernelFingerprint, HoldsWhatTheDryRunSays) {
  test::Training t{.options = test::small_options(2)};
  for (DType compute : {DType::kF32, DType::kBF16}) {
    for (int threads : {1, 3}) {
      t.options.precision.compute = compute;
      t.threads = threads;
      EXPECT_EQ(peak_of(t, Device::kCpu), peak_of(t, Device::kMeta));
    }
  }
}

// With and without the fingerprint, of one rank.
std::int64_t dry_peak(const test::Training& t, bool fingerprints) {
  const nn::Model model = models::gpt2(t.model);
  const nn::CrossEntropy loss;
  const auto optimizer = optim::adamw({});
  return dry_run({.model = &model,
                  .loss = &loss,
                  .optimizer = optimizer.get(),
                  .options = t.options,
                  .lane = test::lane_batch(t, 0, 0),
                  .fingerprints = fingerprints},
                 1, 0)
      .memory.total_peak;
}

TEST(KernelFingerprint, HoldsNoMoreThanAStepThatKeepsItsActivations) {
  test::Training t{.options = test::small_options(1)};
  for (Stage stage : {Stage::kNone, Stage::kOptimizer, Stage::kGradients,
                      Stage::kParameters}) {
    t.options.stage = stage;
    EXPECT_EQ(dry_peak(t, true), dry_peak(t, false));
  }
}

}  // namespace
}  // namespace quire::engine
