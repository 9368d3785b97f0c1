// The numbers that llm.c's files begin with, each of its kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace quire::convert {

inline constexpr std::array<std::int32_t, 2> kModelNumbers = {20240326,
                                                              20240803};
inline constexpr std::array<std::int32_t, 2> kTokenNumbers = {20240520,
                                                              20240801};

// `start`: a file's first bytes, as many as there are.
inline bool begins_with(std::string_view start,
                        std::span<const std::int32_t> numbers) {
  std::int32_t number = 0;
  if (start.size() < sizeof(number)) return false;
  std::memcpy(&number, start.data(), sizeof(number));
  return std::ranges::find(numbers, number) != numbers.end();
}

}  // namespace quire::convert
