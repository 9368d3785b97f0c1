#include "quire/train/sink.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temp_folder.h"
#include "tests/support/token_language.h"

namespace quire::train {
namespace {

using testing::TempFolder;
using Json = nlohmann::json;

std::vector<Json> lines_of(const TempFolder& folder) {
  std::istringstream text(data::read_text(folder / "metrics.jsonl"));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);)
    lines.push_back(Json::parse(line, nullptr, false));
  return lines;
}

StepEvent step_event(std::int64_t step, bool logged) {
  return {.step = step,
          .loss = std::numeric_limits<double>::quiet_NaN(),
          .norm = 1,
          .lr = 0.5,
          .seconds = 0.1,
          .tokens_per_s = 10,
          .skipped = "",
          .logged = logged};
}

RunEvent run_event(std::optional<std::int64_t> resumed_from) {
  return {.resolved_config = R"({"seed": 5})",
          .ranks = 3,
          .threads = 1,
          .wave = 2,
          .steps = 4,
          .predicted_peak_bytes = 100,
          .resumed_from = resumed_from};
}

TEST(JsonLinesSink, BeginsWithTheConfigurationAndLogsWhatIsDue) {
  const TempFolder folder;
  const auto sink = json_lines_sink(folder.path());
  sink->write(run_event({}));
  sink->write(step_event(1, false));
  sink->write(step_event(2, true));
  const auto lines = lines_of(folder);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["event"], "run");
  EXPECT_EQ(lines[0]["ranks"], 3);
  EXPECT_EQ(lines[0]["config"]["seed"], 5);
  EXPECT_EQ(lines[1]["step"], 2);
  EXPECT_TRUE(lines[1]["loss"].is_null());
}

TEST(JsonLinesSink, AppendsAfterTheHalfLineOfAKilledStart) {
  const TempFolder folder;
  data::write_text(folder / "metrics.jsonl", "{}\n{\"event\": \"st");
  json_lines_sink(folder.path())->write(run_event(7));
  const auto lines = lines_of(folder);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[1].is_discarded());
  EXPECT_EQ(lines[2]["event"], "resume");
  EXPECT_EQ(lines[2]["step"], 7);
}

}  // namespace
}  // namespace quire::train
