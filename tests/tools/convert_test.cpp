// Models through the command: converted, compared, inspected.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <span>

#include "quire/checkpoint/safetensors.h"
#include "tests/support/command.h"
#include "tests/support/tensors.h"

namespace quire::testing {
namespace {

const std::string kTiny = std::string(QUIRE_TEST_DATA) + "/gpt2_tiny";
const std::string kLlama = std::string(QUIRE_TEST_DATA) + "/llama_tiny";

Ended convert(const std::string& from, const std::string& to,
              const Words& more) {
  Words words = {"convert", from, to, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return quire_command(words);
}

TEST(Convert, GoesThroughEveryFormatAndBack) {
  const TempFolder folder;
  std::string at = kTiny;
  for (const std::string to : {"quire", "dcp", "llmc", "hf"}) {
    const std::string next = folder / (to == "llmc" ? "model.bin" : to);
    const Ended ended = convert(at, next, {"--to", to});
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.json().at("format"), to);
    EXPECT_EQ(ended.json().at("parameters"), 40);
    EXPECT_EQ(quire_command({"verify", next, "--against", kTiny}).code, 0);
    at = next;
  }
  EXPECT_EQ(text_of(at + "/model.safetensors"),
            text_of(kTiny + "/model.safetensors"));
}

TEST(Convert, SaysWhatIsLost) {
  const TempFolder folder;
  const Ended ended = convert(kLlama, folder / "model.gguf",
                              {"--to", "gguf", "--dtype", "bf16"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err.substr(0, 9), "warning: ") << ended.err;
  EXPECT_EQ(ended.json().at("warnings").size(), 1u);
  EXPECT_EQ(text_of(folder / "model.gguf").substr(0, 4), "GGUF");
}

TEST(Convert, CutsShardsAsAsked) {
  const TempFolder folder;
  EXPECT_EQ(
      convert(kTiny, folder / "dcp", {"--to", "dcp", "--shards", "3"}).code, 0);
  EXPECT_EQ(
      convert(kTiny, folder / "hf", {"--to", "hf", "--max-shard", "50KiB"})
          .code,
      0);
  EXPECT_TRUE(
      std::filesystem::exists(folder / "hf/model.safetensors.index.json"));
}

TEST(Convert, LeavesNothingWhenASignalStopsIt) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const TempFolder folder;
    Started started(
        {"convert", kLlama, folder / "out", "--to", "dcp", "--shards", "2000"});
    while (folder.names().empty() && started.is_running()) usleep(1000);
    started.send(signal);
    const int code = started.wait();
    if (folder.names().empty()) {
      EXPECT_EQ(code, 128 + signal);
    } else {  // it was done before
      EXPECT_EQ(folder.names(), Words{"out"});
    }
  }
}

TEST(Convert, SaysThatANamedConfigIsNotRead) {
  const TempFolder folder;
  const Ended ended =
      convert(kTiny, folder / "out", {"--to", "hf", "--config", "absent.json"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("--config absent.json is not read"),
            std::string::npos)
      << ended.err;
}

TEST(Convert, RefusesWhatDoesNotGoTogether) {
  const TempFolder folder;
  for (const Words& words :
       {Words{"--to", "llmc", "--dtype", "fp16"},
        Words{"--to", "gguf", "--max-shard", "1GiB"},
        Words{"--to", "quire", "--state"}, Words{"--to", "dcp", "--state"},
        Words{"--to", "hf", "--max-shard", "some"}}) {
    const Ended ended = convert(kTiny, folder / "out", words);
    EXPECT_EQ(ended.code, 2) << words[1];
    EXPECT_TRUE(folder.names().empty());
  }
}

TEST(Verify, SaysWhichParametersDifferAndByHowMuch) {
  const TempFolder folder;
  convert(kTiny, folder / "bf16", {"--to", "quire", "--dtype", "bf16"});
  const Ended ended =
      quire_command({"verify", folder / "bf16", "--against", kTiny, "--json"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.json().at("equal"), false);
  const std::string line = ended.json().at("differences").at(0);
  EXPECT_NE(line.find("embed.wte.weight"), std::string::npos) << line;
  EXPECT_NE(line.find("largest difference"), std::string::npos) << line;
}

TEST(Verify, NamesOtherModels) {
  const Ended ended = quire_command({"verify", kTiny, "--against", kLlama});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.out.find("differs: embed.wte.weight is only in"),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(
      quire_command({"verify", kTiny, "--against", kLlama, "--state"}).code, 2);
}

void write_tensors(const std::string& path) {
  const auto bytes = [](const auto& values) {
    std::string text(sizeof(values), '\0');
    std::memcpy(text.data(), &values, sizeof(values));
    return text;
  };
  const double doubles[] = {1.0, -3.0, 0.0, NAN, INFINITY, 5.0};
  const std::int16_t shorts[] = {-7, 7};
  std::vector<checkpoint::SafetensorsTensor> tensors;
  const auto add = [&](std::string name, std::string dtype,
                       std::vector<std::int64_t> shape, std::string data) {
    tensors.push_back({std::move(name), std::move(dtype), std::move(shape),
                       [data](const checkpoint::ByteSink& sink) {
                         sink(std::as_bytes(std::span(data)));
                       }});
  };
  add("a.10.x", "F64", {2, 3}, bytes(doubles));
  add("a.9.y", "I16", {2}, bytes(shorts));
  add("strange name", "F8_E4M3", {1}, "x");
  add("empty", "F32", {0}, "");
  checkpoint::write_safetensors(path, std::move(tensors), {});
}

TEST(Inspect, CountsAndMeasuresEveryTensor) {
  const TempFolder folder;
  write_tensors(folder / "some.safetensors");
  const auto json =
      quire_command({"inspect", folder.path(), "--stats", "--json"}).json();
  std::map<std::string, nlohmann::json> stats;
  for (const auto& tensor : json.at("tensors"))
    stats[tensor.at("name")] = tensor.at("stats");
  const auto& doubles = stats.at("a.10.x");
  EXPECT_EQ(doubles.at("min"), -3.0);
  EXPECT_EQ(doubles.at("max"), 5.0);
  EXPECT_EQ(doubles.at("mean"), 0.75);
  EXPECT_DOUBLE_EQ(doubles.at("std"), std::sqrt(35 / 4.0 - 0.75 * 0.75));
  EXPECT_DOUBLE_EQ(doubles.at("norm"), std::sqrt(35.0));
  EXPECT_EQ(doubles.at("nan"), 1);
  EXPECT_EQ(doubles.at("inf"), 1);
  EXPECT_EQ(doubles.at("zero"), 1);
  EXPECT_EQ(stats.at("a.9.y").at("std"), 7.0);
  EXPECT_TRUE(stats.at("strange name").is_null());
  EXPECT_TRUE(stats.at("empty").at("mean").is_null());
}

TEST(Inspect, ShowsLayersAsATree) {
  const TempFolder folder;
  write_tensors(folder / "some.safetensors");
  const auto layers =
      quire_command({"inspect", folder / "some.safetensors", "--json"})
          .json()
          .at("layers");
  std::vector<std::string> names;
  for (const auto& row : layers) names.push_back(row.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a.9", "a.10", "empty",
                                             "strange name"}));
  EXPECT_EQ(layers[0].at("tensors"), 2);
  EXPECT_EQ(layers[0].at("elements"), 8);
  EXPECT_EQ(layers[0].at("bytes"), 52);
  EXPECT_EQ(layers[1].at("depth"), 1);
}

TEST(Verify, KnowsAFileOfLlmcByItsContent) {
  const TempFolder folder;
  convert(kTiny, folder / "any_name", {"--to", "llmc"});
  EXPECT_EQ(quire_command({"verify", folder / "any_name"}).code, 0);
  EXPECT_EQ(quire_command({"inspect", folder / "any_name"}).code, 0);
}

TEST(Inspect, ReadsFilesOfLlmc) {
  const TempFolder folder;
  convert(kTiny, folder / "model.bin", {"--to", "llmc"});
  const auto json =
      quire_command({"inspect", folder / "model.bin", "--json"}).json();
  EXPECT_EQ(json.at("format"), "llmc");
  EXPECT_EQ(json.at("parameters"), 40);
}

TEST(Inspect, FollowsTheIndexAndNamesStrangersOnce) {
  const TempFolder folder;
  const std::string model = folder / "model";
  std::filesystem::copy(QUIRE_TEST_DATA "/hf_sharded", model);
  write_tensors(model + "/adapter.safetensors");
  const Ended ended = quire_command({"inspect", model, "--json"});
  EXPECT_EQ(ended.json().at("files").size(), 3u);
  EXPECT_EQ(ended.json().at("parameters"), 30);
  EXPECT_EQ(ended.err, "warning: not of the model in " + model +
                           ": adapter.safetensors\n");
}

TEST(Verify, MissesAFileThatTheIndexNames) {
  const TempFolder folder;
  const std::string model = folder / "model";
  std::filesystem::copy(QUIRE_TEST_DATA "/hf_sharded", model);
  EXPECT_EQ(quire_command({"verify", model}).code, 0);
  const std::string gone = model + "/model-00002-of-00003.safetensors";
  std::filesystem::remove(gone);
  const Ended ended = quire_command({"verify", model});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "damaged: " + gone + " does not exist; " + model +
                           "/model.safetensors.index.json names it\n");
}

TEST(Verify, ComparesAnIndexWithWhatItsFilesHold) {
  const TempFolder folder;
  const std::string model = folder / "model";
  std::filesystem::copy(QUIRE_TEST_DATA "/hf_sharded", model);
  const std::string index = model + "/model.safetensors.index.json";
  const auto sound = nlohmann::json::parse(text_of(index));
  const auto said_of = [&](const nlohmann::json& changes) {
    auto json = sound;
    json["weight_map"].merge_patch(changes);
    write_text(index, json.dump());
    const Ended ended = quire_command({"verify", model});
    EXPECT_EQ(ended.code, 1);
    return ended.out;
  };
  const std::string second = "model-00002-of-00003.safetensors";
  expect_mentions(said_of({{"lm_head.weight", second}}),
                  {"damaged: ", second, "lm_head.weight"});
  expect_mentions(said_of({{"lm_head.weight", nullptr}}),
                  {"damaged: ", "lm_head.weight", index + " does not name"});
}

TEST(Inspect, SaysWhichFileHoldsWhat) {
  const TempFolder folder;
  convert(kTiny, folder / "saved", {"--to", "quire", "--shards", "40"});
  const auto json =
      quire_command({"inspect", folder / "saved", "--tensors", "--json"})
          .json();
  std::int64_t cut = 0;
  for (const auto& tensor : json.at("tensors")) {
    std::int64_t next = 0;
    for (const auto& range : tensor.at("held")) {
      EXPECT_EQ(range.at("first"), next);
      next += range.at("count").get<std::int64_t>();
    }
    EXPECT_EQ(next * 4, tensor.at("bytes"));
    cut += tensor.at("held").size() > 1 ? 1 : 0;
  }
  EXPECT_GT(cut, 0);
}

TEST(ConvertedRun, KeepsItsWholeStateInAnyNumberOfShards) {
  const RunFolder run;
  ASSERT_EQ(run.train("run", {"-n", "2"}).code, 0);
  const Ended ended = convert(run.path("run"), run.path("copy"),
                              {"--to", "quire", "--shards", "3", "--state"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(quire_command({"verify", run.path("copy"), "--against",
                           run.path("run"), "--state"})
                .code,
            0);
  const Ended differs =
      quire_command({"verify", run.path("copy"), "--against",
                     run.path("run/step-00000003"), "--state", "--json"});
  EXPECT_EQ(differs.code, 1);
  EXPECT_EQ(differs.json().at("values").size(), 8u);
  const Ended onwards =
      run.train("onwards", {"--resume", run.path("copy"), "--set", "steps=9"});
  EXPECT_EQ(onwards.json().at("resumed_from"), 6) << onwards.err;
}

}  // namespace
}  // namespace quire::testing
