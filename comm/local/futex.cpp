#include "quire/comm/local/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace quire::comm::local {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds limit) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec slice{.tv_sec = limit.count() / kSecond,
                       .tv_nsec = limit.count() % kSecond};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &slice, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace quire::comm::local
