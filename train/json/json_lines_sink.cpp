#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "quire/core/error.h"
#include "quire/core/file_io.h"
#include "quire/core/version.h"
#include "quire/train/json/json_line.h"
#include "quire/train/sink.h"

namespace quire::train {
namespace {

using Json = nlohmann::ordered_json;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, Close>;

Json as_json(const RunEvent& event) {
  Json json = {{"event", "run"},
               {"version", std::string(version())},
               {"ranks", event.ranks},
               {"threads", event.threads},
               {"wave", event.wave},
               {"steps", event.steps},
               {"predicted_peak_bytes", event.predicted_peak_bytes}};
  if (event.resumed_from) {
    json["event"] = "resume";
    json["step"] = *event.resumed_from;
  }
  json["config"] = Json::parse(event.resolved_config);
  return json;
}

Json as_json(const StepEvent& event) {
  Json json = {{"event", "step"},
               {"step", event.step},
               {"loss", event.loss},
               {"norm", event.norm},
               {"lr", event.lr},
               {"seconds", event.seconds},
               {"tokens_per_s", event.tokens_per_s}};
  if (!event.skipped.empty()) json["skipped"] = event.skipped;
  return json;
}

Json as_json(const EvaluationEvent& event) {
  return {{"event", "evaluation"},
          {"step", event.step},
          {"loss", event.loss},
          {"targets", event.targets},
          {"seconds", event.seconds}};
}

Json as_json(const SaveEvent& event) {
  return {{"event", "save"},
          {"step", event.step},
          {"path", event.path},
          {"seconds", event.seconds},
          {"pause", event.pause}};
}

Json as_json(const MessageEvent& event) {
  const bool warning = event.level == MessageEvent::Level::kWarning;
  return {{"event", warning ? "warning" : "message"}, {"text", event.text}};
}

bool is_silent(const Event& event) {
  const auto* step = std::get_if<StepEvent>(&event);
  return step != nullptr && !step->logged;
}

class JsonLinesSink final : public Sink {
 public:
  explicit JsonLinesSink(const std::filesystem::path& folder)
      : path_((folder / "metrics.jsonl").string()) {}

  void write(const Event& event) override {
    if (is_silent(event)) return;
    if (file_ == nullptr) open();
    const Json json =
        std::visit([](const auto& kind) { return as_json(kind); }, event);
    put(json_line(json) + '\n');
  }

 private:
  void open() {
    file_.reset(std::fopen(path_.c_str(), "a+e"));
    if (file_ == nullptr) fail("cannot be opened");
    // A start that was killed may have left half a line.
    if (std::fseek(file_.get(), -1, SEEK_END) == 0 &&
        std::fgetc(file_.get()) != '\n') {
      put("\n");
    }
  }

  void put(const std::string& text) {
    std::fseek(file_.get(), 0, SEEK_END);
    const std::size_t written =
        std::fwrite(text.data(), 1, text.size(), file_.get());
    if (written != text.size() || std::fflush(file_.get()) != 0)
      fail("cannot be written");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw SystemError("metrics file " + path_ + " " + what + ": " +
                      reason_of(errno));
  }

  std::string path_;
  OpenFile file_;
};

}  // namespace

std::unique_ptr<Sink> json_lines_sink(std::filesystem::path folder) {
  return std::make_unique<JsonLinesSink>(folder);
}

}  // namespace quire::train
