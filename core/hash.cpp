#include "quire/core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <charconv>
#include <new>

#include "quire/core/error.h"

namespace quire {

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t hash64(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();

  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

void Hasher::add(std::string_view text) { add(std::as_bytes(std::span(text))); }

void Hasher::add(std::uint64_t word) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(word >> (8 * i));
  add(std::span<const std::byte>(bytes));
}

std::uint64_t Hasher::digest() const { return XXH3_64bits_digest(state_->xxh); }

std::string to_hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.size() != 16 || error != std::errc() || stop != end) {
    throw UsageError(
        fmt::format("\"{}\" is no hash; expected 16 hexadecimal digits", text));
  }
  return value;
}

}  // namespace quire
