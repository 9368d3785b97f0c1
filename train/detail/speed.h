// How fast a run's steps are. Private to this room.
#pragma once

#include <chrono>
#include <cstdint>

namespace quire::train {

class Stopwatch {
 public:
  double seconds() const {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

// Tokens of all ranks over the time of the steps but the first, which warms
// caches up.
class Speed {
 public:
  explicit Speed(std::int64_t step_tokens) : step_tokens_(step_tokens) {}

  void add(double seconds) { (steps_++ == 0 ? first_ : seconds_) += seconds; }
  // Of one step.
  double of(double seconds) const { return rate(1, seconds); }
  // Of all steady ones, or of the only step; 0 if there is none.
  double steady() const {
    return steps_ > 1 ? rate(steps_ - 1, seconds_) : rate(steps_, first_);
  }

 private:
  double rate(std::int64_t steps, double seconds) const {
    if (steps < 1 || seconds <= 0.0) return 0.0;
    return static_cast<double>(steps * step_tokens_) / seconds;
  }

  std::int64_t step_tokens_;
  std::int64_t steps_ = 0;
  double first_ = 0.0;
  double seconds_ = 0.0;  // of the others
};

}  // namespace quire::train
