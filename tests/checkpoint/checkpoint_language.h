// Worlds that save and load small states whose elements say where they belong.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/save.h"
#include "quire/comm/run.h"
#include "quire/layout/row.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::checkpoint::testing {

using quire::testing::Cpu;
using quire::testing::expect_mentions;
using quire::testing::TempFolder;
using quire::testing::usage_error_of;

inline std::string parameter_name(std::size_t index) {
  std::string name = "p";
  name += std::to_string(index);
  return name;
}

struct Kind {
  std::string name;
  float offset;  // added to every element
};

// Parameters in buckets, as units are, each bucket cut over the ranks on its
// own. Element i of kind k of parameter p is 1000 p + i + offset(k).
struct Model {
  std::vector<std::vector<std::int64_t>> buckets;
  std::vector<Kind> kinds = {
      {"exp_avg", 0.25f}, {"exp_avg_sq", 0.5f}, {"master", 0.0f}};

  std::vector<SavedParameter> parameters() const {
    std::vector<SavedParameter> result;
    for (const auto& bucket : buckets)
      for (const std::int64_t numel : bucket)
        result.push_back({parameter_name(result.size()), Shape{numel}, true});
    return result;
  }
  static float value(int parameter, std::int64_t element, const Kind& kind) {
    return 1000.0f * static_cast<float>(parameter) +
           static_cast<float>(element) + kind.offset;
  }
  Tensor values(int parameter, std::int64_t first, std::int64_t count,
                const Kind& kind) const {
    std::vector<float> elements;
    for (std::int64_t i = 0; i < count; ++i)
      elements.push_back(value(parameter, first + i, kind));
    return quire::testing::tensor_of(elements, Shape{count});
  }
  // What `rank` of `ranks` answers for.
  std::vector<Part> parts(int rank, int ranks) const {
    std::vector<Part> result;
    int parameter = 0;
    for (const auto& bucket : buckets) {
      std::vector<layout::Member> members;
      for (const std::int64_t numel : bucket)
        members.push_back({parameter++, numel});
      for (const auto& range : layout::Row(members, ranks).ranges(rank))
        for (const auto& kind : kinds)
          result.push_back(
              {kind.name,
               parameter_name(static_cast<std::size_t>(range.parameter)),
               range.first,
               values(range.parameter, range.first, range.count, kind)});
    }
    return result;
  }
};

inline const Model kSmall{{{7, 3, 5}, {600, 300}, {1000, 1}}};

inline SaveRequest request_of(const Model& model, const Progress& progress,
                              int rank = 0, int ranks = 1) {
  return {.parts = model.parts(rank, ranks),
          .parameters = model.parameters(),
          .progress = progress,
          .config = R"({"seed": 7, "lr": 1e-3})"};
}

// What every rank of a world threw ("" if nothing), by rank.
using RankWork = std::function<void(comm::Communicator&, Stream&)>;
inline std::vector<std::string> run_world(int ranks, const RankWork& work,
                                          double timeout_s = 20.0) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  comm::run_threads(
      ranks, {.timeout_s = timeout_s}, [&](comm::Communicator& communicator) {
        Cpu cpu;
        try {
          work(communicator, cpu.stream);
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(communicator.rank())] = error.what();
        }
        return 0;
      });
  return errors;
}

inline void expect_no_errors(const std::vector<std::string>& errors) {
  for (std::size_t rank = 0; rank < errors.size(); ++rank)
    EXPECT_EQ(errors[rank], "") << "rank " << rank;
}

// Saves from `ranks` ranks and returns the fingerprint that they all got.
inline std::uint64_t save_world(const std::string& folder, const Model& model,
                                const Progress& progress, int ranks) {
  std::vector<std::uint64_t> prints(static_cast<std::size_t>(ranks));
  const auto errors =
      run_world(ranks, [&](comm::Communicator& communicator, Stream& stream) {
        const int rank = communicator.rank();
        prints[static_cast<std::size_t>(rank)] =
            save(folder, request_of(model, progress, rank, ranks), communicator,
                 stream);
      });
  expect_no_errors(errors);
  for (const std::uint64_t print : prints) EXPECT_EQ(print, prints[0]);
  return prints[0];
}

// Loads what `rank` of `ranks` holds and compares every element.
inline void expect_loads(const Checkpoint& checkpoint, const Model& model,
                         int rank = 0, int ranks = 1) {
  for (const Part& part : model.parts(rank, ranks)) {
    const Tensor got = quire::testing::zeros({part.data.numel()});
    checkpoint.load(part.kind, part.parameter, part.first, got);
    quire::testing::expect_same_bits(got, part.data);
  }
}

// The message of the SystemError that fn() throws; fails the test and returns
// "" if it throws none.
template <class Fn>
std::string system_error_of(Fn&& fn) {
  try {
    fn();
  } catch (const SystemError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no SystemError";
  return "";
}

}  // namespace quire::checkpoint::testing
