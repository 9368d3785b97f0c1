// All ranks of a load end alike.
#include "quire/checkpoint/load.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;

const Progress kAt{.step = 2, .updates = 1, .position = 5, .seed = 7};

LoadRequest load_of(const Model& model, int rank, int ranks) {
  LoadRequest request{.parts = model.parts(rank, ranks), .parameters = {}};
  for (Part& part : request.parts)
    part.data = quire::testing::zeros({part.data.numel()});
  for (const auto& parameter : model.parameters()) {
    std::vector<ExpectedState> states;
    for (const auto& kind : model.kinds)
      states.push_back({kind.name, DType::kF32});
    request.parameters.push_back({parameter.name, parameter.shape, states});
  }
  return request;
}

struct Worlds {
  int saved, loaded;
};

TEST(LoadTogether, GivesEveryRankItsRanges) {
  for (const auto& [saved, loaded] :
       {Worlds{1, 3}, Worlds{4, 3}, Worlds{2, 5}}) {
    const TempFolder run;
    save_world(run.path(), kSmall, kAt, saved);
    expect_no_errors(run_world(loaded, [&, ranks = loaded](auto& communicator,
                                                           Stream& stream) {
      const int rank = communicator.rank();
      const auto request = load_of(kSmall, rank, ranks);
      const auto loaded =
          load(run / "step-00000002", request, communicator, stream);
      EXPECT_FALSE(loaded.damage);
      EXPECT_EQ(loaded.progress, kAt);
      const auto wanted = kSmall.parts(rank, ranks);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        quire::testing::expect_same_bits(request.parts[i].data, wanted[i].data);
    }));
  }
}

// Rounds in which a rank that loads `numel` elements says that it is at work,
// if it may at any time.
std::int64_t busy_rounds(std::int64_t numel) {
  const Model model{.buckets = {{numel}}, .kinds = {{"master", 0.0f}}};
  const TempFolder run;
  save_world(run.path(), model, kAt, 1);
  const auto collectives = [&](double report_every_s) {
    std::int64_t count = 0;
    expect_no_errors(run_world(1, [&](auto& communicator, Stream& stream) {
      auto request = load_of(model, 0, 1);
      request.report_every_s = report_every_s;
      load(run / "step-00000002", request, communicator, stream);
      count =
          communicator.record().traffic(comm::Purpose::kControl).collectives;
    }));
    return count;
  };
  return collectives(0.0) - collectives(1e9);
}

// A part of any length is as many blocks of 2^20 elements.
TEST(LoadTogether, TellsThePeersWhoWaitOfEveryBlock) {
  const std::int64_t one = busy_rounds(1);
  EXPECT_GT(one, 0);
  EXPECT_EQ(busy_rounds((std::int64_t{2} << 20) + 1), 3 * one);
}

// What every rank of three is told of a checkpoint of two ranks.
std::vector<std::string> damage_told(const TempFolder& run) {
  std::vector<std::string> told(3);
  expect_no_errors(run_world(3, [&](auto& communicator, Stream& stream) {
    const int rank = communicator.rank();
    const auto loaded = load(run / "step-00000002", load_of(kSmall, rank, 3),
                             communicator, stream);
    if (!loaded.damage) return;
    told[static_cast<std::size_t>(rank)] =
        (loaded.damage->damage.kind == Damage::Kind::kHash ? "hash "
                                                           : "format ") +
        std::to_string(loaded.damage->rank) + " " +
        loaded.damage->damage.message;
  }));
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0], told[2]);
  return told;
}

TEST(LoadTogether, TellsAllRanksOfTheDamageThatOneMeets) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 2);
  const std::string shard =
      run / "step-00000002/shard-00001-of-00002.safetensors";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end).write("bad!", 4);
  file.close();
  expect_mentions(damage_told(run)[0],
                  {"hash 2", shard, "master:p", "fail their hash"});
  std::filesystem::remove(shard);
  expect_mentions(damage_told(run)[0], {"format 0", shard, "does not exist"});
}

TEST(LoadTogether, RefusesOnAllRanksWhatDoesNotFit) {
  const TempFolder run;
  save_world(run.path(), kSmall, kAt, 2);
  const auto errors = run_world(3, [&](auto& communicator, Stream& stream) {
    auto request = load_of(kSmall, communicator.rank(), 3);
    request.parameters[0].name = "new.weight";
    request.parameters[1].states[0].kind = "momentum";
    load(run / "step-00000002", request, communicator, stream);
  });
  for (const auto& error : errors)
    expect_mentions(error, {"does not fit", "missing:", "new.weight",
                            "momentum:p1", "unexpected:", "exp_avg:p1", "p0"});
}

}  // namespace
}  // namespace quire::checkpoint
