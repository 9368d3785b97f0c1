// Sleeping on a word that several processes see.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace quire::comm::local {

// Returns when woken, when `word` is not `expected`, after `limit`, or for no
// reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds limit);
void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace quire::comm::local
