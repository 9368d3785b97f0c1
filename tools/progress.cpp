#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "quire/core/text.h"

namespace quire::tools {
namespace {

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
  fmt::print(stderr, "\r{} {} {} %", what_, progress_bar(done, total_),
             std::min<std::int64_t>(100, done * 100 / total_));
  std::fflush(stderr);
}

}  // namespace quire::tools
