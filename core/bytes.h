// Sizes in bytes as people read and write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

// "512 B" below 1 KiB, else one decimal in the largest binary unit that fits:
// "24.0 MiB".
std::string format_bytes(std::int64_t bytes);

// "1000", "24MiB", "1.5 GiB": a number, and B, KiB, MiB, GiB, TiB or PiB. A
// part of a byte is dropped. Throws UsageError for anything else, a fraction of
// plain bytes, and what does not fit 63 bits.
std::int64_t parse_bytes(std::string_view text);

}  // namespace quire
