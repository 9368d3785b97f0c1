// Words as people mistype, group and read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quire {

// The known name that the fewest insertions, deletions and replacements of
// bytes turn `wanted` into, the first of equals; "" if none is known.
std::string nearest(std::string_view wanted,
                    std::span<const std::string> known);

// '*' matches any run of bytes, '.' included, '?' any one byte, every other
// byte itself.
bool matches_glob(std::string_view glob, std::string_view text);
bool matches_any_glob(std::span<const std::string> globs,
                      std::string_view text);

// Lines of a message, each behind `start`: at most 50, of more the first and
// the last 25, and between them how many are left out.
std::string listed(std::span<const std::string> lines,
                   std::string_view start = "\n  ");

// A bar of 42 characters for `done` of `total`: "[##########          ]".
std::string progress_bar(std::int64_t done, std::int64_t total);

// "1 rank", "2 ranks": for nouns that take an s.
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace quire
