#include "quire/train/result.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace quire::train {
namespace {

using Json = nlohmann::json;

TEST(ResultJson, IsOneLineOfNestedObjects) {
  TrainResult result;
  result.steps = 7;
  result.memory = {.predicted_peak_bytes = 10, .measured_peak_bytes = 11};
  result.predicted = {.collectives = 3, .wire_bytes = 4};
  result.measured = {.collectives = 5, .wire_bytes = 6};
  result.fingerprint = 0x12;
  const std::string text = to_json(result);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Json json = Json::parse(text);
  EXPECT_EQ(json["steps"], 7);
  EXPECT_EQ(json["memory"]["predicted_peak_bytes"], 10);
  EXPECT_EQ(json["memory"]["measured_peak_bytes"], 11);
  EXPECT_EQ(json["wire"]["predicted_bytes"], 4);
  EXPECT_EQ(json["wire"]["measured_bytes"], 6);
  EXPECT_EQ(json["collectives"]["predicted"], 3);
  EXPECT_EQ(json["collectives"]["measured"], 5);
  EXPECT_EQ(json["fingerprint"], "0000000000000012");
}

TEST(ResultJson, WritesNullForWhatIsNotFinite) {
  TrainResult result;
  result.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Json::parse(to_json(result))["loss"].is_null());
}

TEST(ResultJson, HoldsAnyBytesOfAText) {
  const Json json =
      Json::parse(to_json(GenerateResult{.text = "a\xff\n", .tokens = 3}));
  EXPECT_EQ(json["text"], "a\xEF\xBF\xBD\n");
}

TEST(ResultText, GivesNoFiguresOfAStartWithoutSteps) {
  TrainResult result;
  result.loss = std::numeric_limits<double>::quiet_NaN();
  result.steps = 40;
  result.fingerprint = 0x2a;
  EXPECT_EQ(to_text(result),
            "steps         40 (skipped: 0)\n"
            "fingerprint   000000000000002a\n");
}

}  // namespace
}  // namespace quire::train
