#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/checkpoint/verify.h"
#include "quire/core/hash.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;
using quire::testing::zeros;

const Progress kAt{.step = 20, .updates = 19, .position = 240, .seed = 7};

TEST(Save, OneRankSavesAndLoadsEveryElement) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 1);
  EXPECT_EQ(run.names(), std::vector<std::string>{"step-00000020"});
  const auto checkpoint = Checkpoint::open(run / "step-00000020");
  EXPECT_EQ(checkpoint.manifest().progress, kAt);
  expect_loads(checkpoint, kSmall);
}

TEST(Save, AnyNumberOfRanksLoadsWhatAnyNumberSaved) {
  for (const int writers : {1, 2, 3, 4, 7}) {
    const TempFolder run;
    save_world(run.path(), kSmall, kAt, writers);
    const auto checkpoint = Checkpoint::open(run.path());
    EXPECT_EQ(checkpoint.manifest().ranks, writers);
    for (const int readers : {1, 3, 4, 5})
      for (int rank = 0; rank < readers; ++rank)
        expect_loads(checkpoint, kSmall, rank, readers);
  }
}

TEST(Save, FingerprintIsTheSameHoweverTheStateIsCut) {
  std::vector<std::uint64_t> prints;
  for (const int ranks : {1, 2, 3, 4, 5}) {
    const TempFolder run;
    prints.push_back(save_world(run.path(), kSmall, kAt, ranks));
    EXPECT_EQ(fingerprint(run.path()), prints.back());
  }
  EXPECT_EQ(prints, std::vector<std::uint64_t>(5, prints[0]));
}

TEST(Save, FingerprintIsTheHashOfHashesThatTheFormatSays) {
  const Model one{{{300}}, {{"master", 0.5f}}};
  const Tensor x = one.values(0, 0, 300, one.kinds[0]);
  const std::span<const std::byte> bytes(x.raw(), 1200);
  Hasher tiles, print;
  tiles.add(hash64(bytes.subspan(0, 1024)));
  tiles.add(hash64(bytes.subspan(1024)));
  print.add(std::string_view("master\0p0\0", 10));
  print.add(tiles.digest());
  const TempFolder run;
  EXPECT_EQ(save_world(run.path(), one, kAt, 2), print.digest());
}

TEST(Save, ShardsHoldTheRangesWithoutPadding) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 4);
  const auto checkpoint = Checkpoint::open(run.path());
  for (const auto& parameter : checkpoint.manifest().parameters) {
    std::int64_t count = 0;
    for (const auto& part : parameter.find("master")->parts)
      count += part.count;
    EXPECT_EQ(count, parameter.shape.numel());
  }
  const SafetensorsFile shard(run /
                              "step-00000020/shard-00000-of-00004.safetensors");
  EXPECT_EQ(shard.at("master:p0").shape, std::vector<std::int64_t>{7});
  EXPECT_EQ(shard.at("tiles:master:p0").shape, std::vector<std::int64_t>{1});
}

TEST(Save, KeepsEveryTypeAndTensorsWithoutElements) {
  const TempFolder run;
  Model none{{{0, 3}}, {{"value", 0.0f}}};
  auto request = request_of(none, kAt);
  request.parameters.push_back({"bits", Shape{2}, false});
  request.parts.push_back(
      {"value", "bits", 0,
       quire::testing::tensor_of({1.0f, 2.5f}, {2}, DType::kBF16)});
  request.parts.push_back({"value", "p0", 0, zeros({0})});
  expect_no_errors(run_world(1, [&](auto& communicator, Stream& stream) {
    save(run.path(), request, communicator, stream);
  }));
  const auto checkpoint = Checkpoint::open(run.path());
  const Tensor bits = zeros({1}, DType::kBF16);
  checkpoint.load("value", "bits", 1, bits);
  EXPECT_EQ(static_cast<float>(bits.data<BFloat16>()[0]), 2.5f);
  checkpoint.load("value", "p0", 0, zeros({0}));
  EXPECT_FALSE(checkpoint.manifest().find("bits")->trainable);
  EXPECT_TRUE(verify(run.path()).empty());
}

TEST(Save, ReplacesAStepThatIsThere) {
  const TempFolder run;
  Model other = kSmall;
  other.kinds[2].offset = 0.75f;
  save_world(run.path(), kSmall, kAt, 2);
  save_world(run.path(), other, kAt, 3);
  EXPECT_EQ(run.names(), std::vector<std::string>{"step-00000020"});
  expect_loads(Checkpoint::open(run.path()), other);
}

TEST(Save, SlowWritersTellTheOthersThatTheyAreAtWork) {
  const TempFolder run;
  expect_no_errors(run_world(3, [&](auto& communicator, Stream& stream) {
    const int rank = communicator.rank();
    auto request = request_of(kSmall, kAt, rank, 3);
    request.report_every_s = 0.0;  // at every write
    save(run.path(), request, communicator, stream);
  }));
  EXPECT_TRUE(verify(run.path()).empty());
}

// As many more rounds of reports as there are writes of shards.
TEST(Save, EveryWriteMayBeReportedToThePeersWhoWait) {
  const auto collectives = [](double report_every_s) {
    const TempFolder run;
    std::int64_t count = 0, writes = 0;
    expect_no_errors(run_world(2, [&](auto& communicator, Stream& stream) {
      const bool first = communicator.rank() == 0;
      auto request = request_of(kSmall, kAt, communicator.rank(), 2);
      request.report_every_s = report_every_s;
      request.observer = [&, first](std::string_view operation, auto&) {
        if (first && operation == "write") ++writes;
      };
      save(run.path(), request, communicator, stream);
      if (first)
        count =
            communicator.record().traffic(comm::Purpose::kControl).collectives;
    }));
    EXPECT_GT(writes, 1);
    return count;
  };
  EXPECT_GT(collectives(0.0), collectives(1e9) + 1);
}

// 3 of 4 ranks have nothing to save, and 4 of 5 nothing to load.
TEST(Save, TakesRanksThatOwnNothing) {
  const Model one{{{1}}};
  const TempFolder run;
  save_world(run.path(), one, kAt, 4);
  const auto checkpoint = Checkpoint::open(run.path());
  EXPECT_EQ(checkpoint.manifest().files.size(), 4u);
  for (int rank = 0; rank < 5; ++rank) expect_loads(checkpoint, one, rank, 5);
  EXPECT_TRUE(verify(run.path()).empty());
}

TEST(Save, RefusesPartsThatDoNotCoverEveryElementOnce) {
  const auto refusal = [](const std::function<void(SaveRequest&)>& change) {
    const TempFolder run;
    auto request = request_of(kSmall, kAt);
    change(request);
    const auto errors = run_world(1, [&](auto& communicator, Stream& stream) {
      save(run.path(), request, communicator, stream);
    });
    EXPECT_TRUE(run.names().empty());
    return errors[0];
  };
  expect_mentions(refusal([](auto& request) {
                    auto& part = request.parts[15];
                    part.data = part.data.range(0, 256);
                  }),
                  {"rank 0", "exp_avg:p5", "cover 256 of 1000"});
  expect_mentions(
      refusal([](auto& request) { request.parts.push_back(request.parts[0]); }),
      {"exp_avg:p0", "one range"});
  expect_mentions(refusal([](auto& request) { request.parts[9].first = 5; }),
                  {"exp_avg:p3", "whole tiles"});
  expect_mentions(
      refusal([](auto& request) { request.parts[0].data = zeros({8}); }),
      {"exp_avg:p0", "8", "7"});
  expect_mentions(
      refusal([](auto& request) { request.parts[0].parameter = "../x"; }),
      {"../x", "not among"});
  expect_mentions(refusal([](auto& request) { request.config = "[]"; }),
                  {"configuration"});
}

TEST(Save, NamesTheRankThatSavesSomethingElse) {
  const TempFolder run;
  const auto errors = run_world(3, [&](auto& communicator, Stream& stream) {
    auto request = request_of(kSmall, kAt, communicator.rank(), 3);
    if (communicator.rank() == 2) request.progress.position = 1;
    save(run.path(), request, communicator, stream);
  });
  for (const auto& error : errors) expect_mentions(error, {"rank 2", "other"});
  EXPECT_TRUE(run.names().empty());
}

TEST(Save, ACallThatOneRankMakesAloneEnds) {
  const TempFolder run;
  const auto errors = run_world(
      2,
      [&](auto& communicator, Stream& stream) {
        if (communicator.rank() == 0)
          save(run.path(), request_of(kSmall, kAt, 0, 2), communicator, stream);
      },
      0.5);
  expect_mentions(errors[0], {"rank 1"});
  EXPECT_TRUE(run.names().empty());
}

std::int64_t open_files() {
  std::int64_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

TEST(Save, ManySavesAndLoadsLeaveNoFileOpen) {
  const TempFolder run;
  run_world(2, [&](auto& communicator, Stream& stream) {
    std::int64_t files = 0;
    for (int i = 0; i < 20; ++i) {
      const int rank = communicator.rank();
      save(run.path(), request_of(kSmall, kAt, rank, 2), communicator, stream);
      expect_loads(Checkpoint::open(run.path()), kSmall, rank, 2);
      communicator.barrier({.stream = &stream});
      if (rank == 0 && i == 1) files = open_files();
      if (rank == 0 && i == 19) {
        EXPECT_EQ(open_files(), files);
      }
      communicator.barrier({.stream = &stream});
    }
  });
}

TEST(Load, ReadsRangesThatBeginAndEndAnywhere) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 3);
  const auto checkpoint = Checkpoint::open(run.path());
  for (const std::int64_t first : {0, 1, 255, 256, 300, 599})
    for (const std::int64_t count : {1, 257, 512, 1000}) {
      const Tensor got = zeros({std::min<std::int64_t>(count, 1000 - first)});
      checkpoint.load("master", "p5", first, got);
      quire::testing::expect_same_bits(
          got, kSmall.values(5, first, got.numel(), {"master", 0.0f}));
    }
}

TEST(Load, RefusesWhatIsNotThere) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 1);
  const auto checkpoint = Checkpoint::open(run.path());
  const auto refusal = [&](const char* kind, const char* name,
                           std::int64_t first, const Tensor& dest) {
    return usage_error_of([&] { checkpoint.load(kind, name, first, dest); });
  };
  expect_mentions(refusal("master", "p9", 0, zeros({1})), {"master:p9"});
  expect_mentions(refusal("value", "p0", 0, zeros({1})), {"value:p0"});
  expect_mentions(refusal("master", "p0", 0, zeros({8})), {"7", "8"});
  expect_mentions(refusal("master", "p0", -1, zeros({1})), {"-1"});
  expect_mentions(refusal("master", "p0", 0, zeros({1}, DType::kBF16)),
                  {"fp32", "bf16"});
}

std::vector<ExpectedParameter> expected_of(const Model& model) {
  std::vector<ExpectedParameter> result;
  for (const auto& parameter : model.parameters())
    result.push_back({parameter.name,
                      parameter.shape,
                      {{"exp_avg", DType::kF32},
                       {"exp_avg_sq", DType::kF32},
                       {"master", DType::kF32}}});
  return result;
}

TEST(Expect, ListsEverythingThatDoesNotFitInOneError) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 2);
  const auto checkpoint = Checkpoint::open(run.path());
  auto wanted = expected_of(kSmall);
  checkpoint.expect(wanted, Checkpoint::States::kWhole);
  wanted[0].name = "new.weight";
  wanted[1].shape = Shape{3, 1};
  wanted[2].states[0].dtype = DType::kBF16;
  wanted[3].states[0].kind = "momentum";
  expect_mentions(
      usage_error_of(
          [&] { checkpoint.expect(wanted, Checkpoint::States::kWhole); }),
      {"missing:\n    new.weight\n    momentum:p3",
       "unexpected:\n    exp_avg:p3\n    p0", "p1: [3], expected [3, 1]",
       "exp_avg:p2: fp32, expected bf16"});
}

TEST(Expect, AllowsKindsThatNobodyAsksForOnlyIfToldSo) {
  const TempFolder run;
  const Model wide{{std::vector<std::int64_t>(28, 1)}};
  save_world(run.path(), wide, kAt, 1);
  const auto checkpoint = Checkpoint::open(run.path());
  auto wanted = expected_of(wide);
  for (auto& parameter : wanted) parameter.states = {{"master", DType::kF32}};
  checkpoint.expect(wanted, Checkpoint::States::kNamed);
  expect_mentions(usage_error_of([&] {
                    checkpoint.expect(wanted, Checkpoint::States::kWhole);
                  }),
                  {"exp_avg:p0",
                   "exp_avg:p12\n    ... and 6 more ...\n    exp_avg_sq:p15"});
}

TEST(Manifest, AParametersValueIsItsMasterElseItsValue) {
  const auto value_of = [](const std::vector<std::string>& kinds) {
    ManifestParameter parameter;
    for (const auto& kind : kinds)
      parameter.states.push_back({kind, DType::kF32, 0, {}});
    const ManifestState* value = parameter.value();
    return value == nullptr ? std::string() : value->kind;
  };
  EXPECT_EQ(value_of({"exp_avg", "master", "value"}), "master");
  EXPECT_EQ(value_of({"exp_avg", "value"}), "value");
  EXPECT_EQ(value_of({"exp_avg"}), "");
}

TEST(Compare, ValuesOnlyOrTheWholeState) {
  const TempFolder a, b;
  Model other = kSmall;
  other.kinds[0].offset = 0.125f;
  save_world(a.path(), kSmall, kAt, 2);
  save_world(b.path(), other, kAt, 3);
  EXPECT_TRUE(compare(a.path(), b.path(), Scope::kValues).empty());
  const auto lines = compare(a.path(), b.path(), Scope::kState);
  EXPECT_EQ(lines.size(), 7u);  // exp_avg of every parameter
  expect_mentions(lines[0], {"exp_avg:p0", "differ"});
}

TEST(Compare, NamesParametersAndCountersThatDiffer) {
  const TempFolder a, b;
  save_world(a.path(), Model{{{7, 3}}}, kAt, 1);
  save_world(b.path(), Model{{{8}}}, {.step = 21}, 1);
  const auto values = compare(a.path(), b.path(), Scope::kValues);
  ASSERT_EQ(values.size(), 2u);
  expect_mentions(values[0], {"p0", "[7]", "[8]"});
  expect_mentions(values[1], {"p1 is only in", a.path()});
  const auto state = compare(b.path(), a.path(), Scope::kState);
  expect_mentions(state[0], {"step: 21 and 20"});
}

}  // namespace
}  // namespace quire::checkpoint
