// XXH3-64 of byte ranges, and its streaming form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace quire {

std::uint64_t hash64(std::span<const std::byte> bytes);
std::uint64_t hash64(std::string_view text);

// hash64 of the concatenation of what was added.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  void add(std::uint64_t word);  // little endian
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 16 lower-case hexadecimal digits, as manifests and fingerprints are written.
std::string to_hex(std::uint64_t hash);
// The inverse; UsageError unless `text` is 16 hexadecimal digits.
std::uint64_t parse_hex(std::string_view text);

}  // namespace quire
