// How many checks of a program hold.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

namespace quire::test {

class Tally {
 public:
  // Runs `holds`, which may say why it does not; a failure is printed under
  // `name`.
  template <class Fn>
  void check(const std::string& name, Fn&& holds) {
    std::string why = "other bits";
    bool passed = false;
    try {
      passed = holds(why);
    } catch (const std::exception& error) {
      why = error.what();
    }
    ++(passed ? passed_ : failed_);
    if (!passed) std::printf("FAILED %s: %s\n", name.c_str(), why.c_str());
    if ((passed_ + failed_) % 40 == 0)
      std::fprintf(stderr, "%d done, %d failed\n", passed_ + failed_, failed_);
  }
  // The last line; a program's exit code.
  int finish() const {
    std::printf("%d passed, %d failed\n", passed_, failed_);
    return failed_ == 0 && passed_ > 0 ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0;
};

// A check's main, whose output is read while it runs: the exit code of `run`,
// and a failure as the last line if that throws.
template <class Fn>
int run_check(Fn&& run) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return run();
  } catch (const std::exception& error) {
    std::printf("%s\n0 passed, 1 failed\n", error.what());
    return 1;
  }
}

}  // namespace quire::test
