// What this room's tests say: a tiny GPT-2 on a tiny text over any number of
// ranks as threads, and everything that its run told.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quire/comm/run.h"
#include "quire/train/config.h"
#include "quire/train/run.h"
#include "tests/support/temp_folder.h"
#include "tests/support/token_language.h"

namespace quire::train {

using testing::TempFolder;

// 16 samples of 8 tokens, 4 lanes of one sample: 4 steps are an epoch.
class TinyRuns {
 public:
  explicit TinyRuns(std::int32_t vocabulary = 16) : vocabulary_(vocabulary) {
    data::write_u16(folder_ / "train.bin",
                    data::varied(16 * 8 + 1, vocabulary));
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write_tokens(const std::string& name, const data::Ids& ids) {
    return data::write_u16(folder_ / name, ids);
  }

  // Overrides as --set takes them, "output" among them.
  RunConfig config(std::vector<std::string> overrides = {}) const {
    const std::string text =
        R"({"seed": 5, "steps": 4, "threads": 1, "model": {"type": "gpt2",
        "layers": 2, "width": 12, "heads": 2, "context": 8, "dropout": 0.1,
        "vocab": )" +
        std::to_string(vocabulary_) +
        R"(}, "data": {"sequence": 8},
        "batch": {"lanes": 4, "lane_samples": 1},
        "optimizer": {"type": "adamw", "lr": 0.01, "weight_decay": 0.1,
        "clip_norm": 1.0}, "log": {"every": 1}, "comm": {"timeout_s": 20}})";
    overrides.insert(overrides.begin(), {"data.train=" + path("train.bin"),
                                         "output=" + path("run")});
    return parse_config(text, "test", overrides);
  }

 private:
  TempFolder folder_;
  std::int32_t vocabulary_;
};

class RecordingSink final : public Sink {
 public:
  void write(const Event& event) override {
    events.push_back(event);
    if (const auto* step = std::get_if<StepEvent>(&event); step && on_step)
      on_step(*step);
  }
  template <class Kind>
  std::vector<Kind> of() const {
    std::vector<Kind> found;
    for (const Event& event : events)
      if (const auto* kind = std::get_if<Kind>(&event)) found.push_back(*kind);
    return found;
  }

  std::vector<Event> events;
  std::function<void(const StepEvent&)> on_step;
};

struct RunOutcome {
  comm::RunResult world;
  std::optional<TrainResult> result;  // none if the run failed
  std::vector<Event> events;

  std::string message() const {
    return world.failure ? world.failure->message : "";
  }
  template <class Kind>
  std::vector<Kind> of() const {
    RecordingSink sink;
    sink.events = events;
    return sink.of<Kind>();
  }
};

struct HowToRun {
  int ranks = 1;
  std::string resume = "never";
  std::function<void(const StepEvent&)> on_step = {};
  std::function<checkpoint::FileObserver(int rank)> observer = {};
};

inline RunOutcome attempt(const RunConfig& config, const HowToRun& how = {}) {
  RecordingSink sink;
  sink.on_step = how.on_step;
  RunOutcome outcome;
  outcome.world = comm::run_threads(
      how.ranks, {.timeout_s = 20}, [&](comm::Communicator& communicator) {
        TrainOptions options;
        options.resume = how.resume;
        if (how.observer) options.observer = how.observer(communicator.rank());
        const TrainResult result = train(config, options, communicator, sink);
        if (communicator.rank() == 0) outcome.result = result;
        return result.stopped ? kStoppedExit : 0;
      });
  outcome.events = sink.events;
  return outcome;
}

// As attempt, of a run that ends well.
inline RunOutcome run(const RunConfig& config, const HowToRun& how = {}) {
  RunOutcome outcome = attempt(config, how);
  EXPECT_EQ(outcome.message(), "");
  EXPECT_TRUE(outcome.result);
  if (!outcome.result) outcome.result.emplace();
  return outcome;
}

// What every rank of a world returns.
template <class Result>
Result on_ranks(int ranks,
                const std::function<Result(comm::Communicator&)>& main) {
  Result result{};
  const auto world = comm::run_threads(ranks, {.timeout_s = 20},
                                       [&](comm::Communicator& communicator) {
                                         Result mine = main(communicator);
                                         if (communicator.rank() == ranks - 1)
                                           result = std::move(mine);
                                         return 0;
                                       });
  EXPECT_EQ(world.failure ? world.failure->message : "", "");
  return result;
}

inline void expect_text(const std::string& text,
                        const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

}  // namespace quire::train
