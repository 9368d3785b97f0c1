#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace quire::tools {
namespace {

constexpr int kWidth = 40;
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(std::max<std::int64_t>(total, 1)),
      terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(std::int64_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + kPause;
  const double part =
      std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  fmt::print(stderr, "\r{} [{:<{}}] {:3.0f} %", what_,
             std::string(static_cast<std::size_t>(part * kWidth), '#'), kWidth,
             part * 100);
  std::fflush(stderr);
}

}  // namespace quire::tools
