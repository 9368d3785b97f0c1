#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "quire/core/bytes.h"
#include "quire/core/text.h"
#include "quire/train/sink.h"

namespace quire::train {
namespace {

constexpr std::chrono::milliseconds kBarPause{100};

// Writes to stderr, a whole line at a time.
class ConsoleSink final : public Sink {
 public:
  ConsoleSink() : terminal_(::isatty(STDERR_FILENO) == 1) {}
  ~ConsoleSink() override { put(""); }

  void write(const Event& event) override {
    std::visit([this](const auto& kind) { show(kind); }, event);
  }

 private:
  void show(const RunEvent& event) {
    steps_ = event.steps;
    put(fmt::format(
        "{}, {} each, {} per wave, {} at the peak of the largest "
        "rank\n",
        counted(event.ranks, "rank"), counted(event.threads, "thread"),
        counted(event.wave, "lane"), format_bytes(event.predicted_peak_bytes)));
    if (event.resumed_from)
      put(fmt::format("resumed from step {}\n", *event.resumed_from));
  }

  void show(const StepEvent& event) {
    if (event.logged) {
      const auto width = std::to_string(steps_).size();
      put(
          fmt::format("step {:>{}}/{} | loss {:.6f} | norm {:.4f} | lr {:.2e} "
                      "| {:.2f} ms | {:.0f} tok/s\n",
                      event.step, width, steps_, event.loss, event.norm,
                      event.lr, event.seconds * 1e3, event.tokens_per_s));
    }
    if (!event.skipped.empty()) {
      put(fmt::format("step {} skipped: {}\n", event.step, event.skipped));
    }
    draw_bar(event.step);
  }

  void show(const EvaluationEvent& event) {
    put(fmt::format(
        "step {} | validation loss {:.6f} over {} targets | {:.2f} s\n",
        event.step, event.loss, event.targets, event.seconds));
  }

  void show(const SaveEvent& event) {
    put(fmt::format("step {} | saved {} | {:.2f} s, a pause of {:.3f} s\n",
                    event.step, event.path, event.seconds, event.pause));
  }

  void show(const MessageEvent& event) {
    const bool warning = event.level == MessageEvent::Level::kWarning;
    put((warning ? "warning: " : "") + event.text + '\n');
  }

  // A bar that stands is taken away first.
  void put(const std::string& text) {
    const std::string erase = bar_ ? "\r\x1b[K" : "";
    bar_ = false;
    const std::string all = erase + text;
    std::fwrite(all.data(), 1, all.size(), stderr);
  }

  void draw_bar(std::int64_t step) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || steps_ <= 0 || now - drawn_ < kBarPause) return;
    drawn_ = now;
    put(fmt::format("{} {}/{}", progress_bar(step, steps_), step, steps_));
    std::fflush(stderr);
    bar_ = true;
  }

  bool terminal_;
  bool bar_ = false;
  std::int64_t steps_ = 0;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace

std::unique_ptr<Sink> console_sink() { return std::make_unique<ConsoleSink>(); }

}  // namespace quire::train
