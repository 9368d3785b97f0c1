// What every key refuses, and in which words: tests/data/config_messages.txt
// has a line for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "quire/core/error.h"
#include "quire/train/keys/key.h"

namespace quire::train {
namespace {

constexpr const char* kFile = QUIRE_TEST_DATA "/config_messages.txt";

// One of every kind; a key is given each of them.
const std::vector<std::string> kProbes = {"null",   "true",   "-1", "2.5",
                                          "1e+300", R"("x")", "[]", "{}"};

struct Row {
  std::vector<std::string> refused;  // as JSON
  std::string message;               // VALUE stands for the value
};

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::map<std::string, Row> rows() {
  std::map<std::string, Row> rows;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    std::string key, values, message;
    std::getline(cells, key, '|');
    std::getline(cells, values, '|');
    std::getline(cells, message);
    std::istringstream words(values);
    rows[trimmed(key)] = {{std::istream_iterator<std::string>(words), {}},
                          trimmed(message)};
  }
  return rows;
}

// All that a model section can hold, so that model.from is not looked at.
Json whole_section(const std::string& type) {
  RunConfig config;
  config.model = models::options_of(type);
  Json section = {{"type", type}, {"from", "elsewhere"}};
  std::visit(
      [&](auto& options) {
        models::each_field(options, [&](std::string_view name, auto&) {
          const std::string key = "model." + std::string(name);
          section[std::string(name)] = find_key(key)->get(config);
        });
      },
      config.model);
  section.update({{"layers", 2},
                  {"width", 32},
                  {"heads", 4},
                  {"context", 16},
                  {"vocab", 256}});
  if (type == "llama")
    section.update({{"hidden", 24},
                    {"kv_heads", 2},
                    {"head_width", 6},
                    {"rope_scaling", "llama3"},
                    {"rope_original_context", 8}});
  return section;
}

Json least(const Key& key) {
  Json json = Json::parse(R"({
    "steps": 20,
    "model": {"type": "gpt2", "layers": 2, "width": 32, "heads": 4,
              "context": 16, "vocab": 256},
    "data": {"train": "train.bin", "validation": "held.bin", "sequence": 16},
    "batch": {"lanes": 4, "lane_samples": 3},
    "optimizer": {"type": "adamw", "lr": 1e-3}})");
  const bool of_gpt2 = key.models.empty() || key.models[0] == "gpt2";
  const bool is_of_origin =
      key.name == "model.from" || key.name == "model.fresh" ||
      key.name == "model.ignore" || key.name == "model.rename";
  if (!of_gpt2 || is_of_origin)
    json["model"] = whole_section(of_gpt2 ? "gpt2" : "llama");
  const bool of_adamw = key.optimizers.empty() || key.optimizers[0] == "adamw";
  if (of_adamw) return json;
  json["optimizer"]["type"] = key.optimizers[0];
  json["optimizer"]["momentum"] = 0.9;
  return json;
}

std::string refusal_of(const std::string& text) {
  try {
    parse_config(text, "run.json", {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

// Of the least configuration with `value` for the key; empty: none.
std::string refusal_of(const Key& key, const std::string& value) {
  Json json = least(key);
  std::string pointer = "/" + key.name;
  std::ranges::replace(pointer, '.', '/');
  json[Json::json_pointer(pointer)] = Json::parse(value);
  return refusal_of(json.dump());
}

std::string with_value(std::string message, const std::string& value) {
  const auto at = message.find("VALUE");
  return at == std::string::npos ? message : message.replace(at, 5, value);
}

TEST(ConfigMessages, HaveALineForEveryKey) {
  const std::map<std::string, Row> all = rows();
  for (const Key& key : key_table())
    EXPECT_TRUE(all.contains(key.name)) << "no line for " << key.name;
  for (const auto& [name, row] : all)
    EXPECT_NE(find_key(name), nullptr) << name << " is no key";
}

TEST(ConfigMessages, SayWhatIsRefusedAndWhatIsExpected) {
  const std::map<std::string, Row> all = rows();
  for (const Key& key : key_table()) {
    const auto found = all.find(key.name);
    if (found == all.end()) continue;
    for (const std::string& value : found->second.refused)
      EXPECT_EQ(refusal_of(key, value),
                "run.json: " + with_value(found->second.message, value));
  }
}

TEST(ConfigMessages, LeaveOutNothingThatIsRefused) {
  const std::map<std::string, Row> all = rows();
  for (const Key& key : key_table()) {
    for (const std::string& probe : kProbes) {
      if (all.contains(key.name) &&
          std::ranges::count(all.at(key.name).refused, probe) > 0)
        continue;
      EXPECT_EQ(refusal_of(key, probe), "") << key.name << ": " << probe;
    }
  }
}

}  // namespace
}  // namespace quire::train
