#include "quire/core/philox.h"

#include "quire/core/hash.h"

namespace quire {

std::uint64_t random_key(std::uint64_t seed, std::string_view path,
                         std::uint64_t index) {
  Hasher hasher;
  hasher.add(seed);
  hasher.add(index);
  hasher.add(path);
  return hasher.digest();
}

}  // namespace quire
