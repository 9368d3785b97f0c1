#include "quire/data/detail/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "quire/data/detail/utf8.h"

namespace quire::data {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

constexpr char32_t kFirstMark = 0x300;
constexpr unsigned char kFirstMarkByte = 0xcc;

int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

void decompose(char32_t code_point, CodePoints& points) {
  std::array<utf8proc_int32_t, 18> parts = {};  // 4 are the most so far
  const auto count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code_point), parts.data(),
      static_cast<utf8proc_ssize_t>(parts.size()), UTF8PROC_DECOMPOSE, nullptr);
  const auto known = std::clamp<utf8proc_ssize_t>(
      count, 0, static_cast<utf8proc_ssize_t>(parts.size()));
  points.insert(points.end(), parts.begin(), parts.begin() + known);
}

// Utf8proc's own order takes the square of the number of marks.
void put_in_order(CodePoints& points) {
  const auto is_mark = [](auto point) { return combining_class(point) != 0; };
  for (auto at = points.begin(); at != points.end();) {
    const auto first = std::find_if(at, points.end(), is_mark);
    at = std::find_if_not(first, points.end(), is_mark);
    if (!std::ranges::is_sorted(first, at, {}, combining_class))
      std::ranges::stable_sort(first, at, {}, combining_class);
  }
}

void compose(CodePoints& points) {
  const auto count = utf8proc_normalize_utf32(
      points.data(), static_cast<utf8proc_ssize_t>(points.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  points.resize(static_cast<std::size_t>(count));
}

void append_form(std::string_view text, std::string& form) {
  CodePoints points;
  while (!text.empty()) decompose(take_utf8(text), points);
  put_in_order(points);
  compose(points);
  for (const auto point : points)
    append_utf8(static_cast<char32_t>(point), form);
}

// The characters that may change with one before them, or by themselves. All
// others begin a segment.
class LooseCharacters {
 public:
  LooseCharacters() : loose_(kEnd) {
    CodePoints points;
    for (char32_t c = 0xc0; c < kEnd; ++c) {
      points.clear();
      decompose(c, points);
      if (combining_class(static_cast<utf8proc_int32_t>(c)) != 0)
        loose_[c] = true;
      for (std::size_t i = 1; i < points.size(); ++i)
        loose_[static_cast<std::size_t>(points[i])] = true;
    }
    for (char32_t c = kFirstMark; c < kEnd; ++c)
      if (!loose_[c]) loose_[c] = changes(c, points);
  }

  bool has(char32_t c) const { return c >= kEnd || loose_[c]; }

 private:
  // None has been decomposed from here on, so far.
  static constexpr char32_t kEnd = 0x30000;

  // What begins as a loose one does is as loose.
  bool changes(char32_t c, CodePoints& points) const {
    points.clear();
    decompose(c, points);
    if (points.size() == 1 && points[0] == static_cast<utf8proc_int32_t>(c))
      return false;
    if (loose_[static_cast<std::size_t>(points[0])]) return true;
    compose(points);
    return points.size() != 1 || points[0] != static_cast<utf8proc_int32_t>(c);
  }

  std::vector<bool> loose_;
};

bool is_loose(char32_t code_point) {
  if (code_point < kFirstMark) return false;
  static const LooseCharacters characters;
  return characters.has(code_point);
}

// The first one from `from` on.
std::size_t loose_character(std::string_view text, std::size_t from) {
  const auto may_be = [](char c) {
    return static_cast<unsigned char>(c) >= kFirstMarkByte;
  };
  for (;;) {
    const auto at = std::find_if(text.begin() + from, text.end(), may_be);
    from = static_cast<std::size_t>(at - text.begin());
    if (from == text.size()) return from;
    std::string_view rest = text.substr(from);
    if (is_loose(take_utf8(rest))) return from;
    from = text.size() - rest.size();
  }
}

std::size_t firm_character(std::string_view text, std::size_t from) {
  std::string_view rest = text.substr(from);
  while (!rest.empty()) {
    from = text.size() - rest.size();
    if (!is_loose(take_utf8(rest))) return from;
  }
  return text.size();
}

// Where the character that ends at `end` begins.
std::size_t character_before(std::string_view text, std::size_t end) {
  while ((static_cast<unsigned char>(text[--end]) & 0xc0) == 0x80) continue;
  return end;
}

}  // namespace

std::size_t last_segment(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0) {
    begin = character_before(text, begin);
    std::string_view rest = text.substr(begin);
    if (!is_loose(take_utf8(rest))) break;
  }
  return begin;
}

TextForm normal_form(std::string_view text) {
  TextForm normal(text);
  std::string form;
  std::size_t done = 0;
  for (;;) {
    const std::size_t loose = loose_character(text, done);
    if (loose == text.size()) break;
    const std::size_t begin =
        loose > done ? character_before(text, loose) : done;
    done = firm_character(text, loose);
    const std::string_view segment = text.substr(begin, done - begin);
    form.clear();
    append_form(segment, form);
    if (form != segment) normal.change(form, begin, done);
  }
  normal.finish();
  return normal;
}

}  // namespace quire::data
