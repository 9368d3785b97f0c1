// Unicode's normalization form C, of text in UTF-8.
//
// A text falls into segments: a character and those behind it that may combine
// or change places with it. A segment has its form whatever stands around it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quire::data {

// Where the last segment of `text` begins, which what follows may yet change.
std::size_t last_segment(std::string_view text);

// A text in its form, and where it comes from.
class NormalText {
 public:
  // `original` is UTF-8 and must outlive it. Copied only if it changes.
  explicit NormalText(std::string_view original);

  std::string_view text() const {
    return changes_.empty() ? original_ : std::string_view(text_);
  }
  // The place in the original that parts it as `place` parts text(): what
  // follows it has the form of what follows `place`. None within a segment that
  // was changed.
  std::optional<std::size_t> origin(std::size_t place) const;

 private:
  struct Change {
    std::size_t begin;  // in text()
    std::size_t end;
    std::size_t original_end;
  };
  void change(std::string_view form, std::size_t begin, std::size_t end);

  std::string_view original_;
  std::string text_;
  std::vector<Change> changes_;
};

}  // namespace quire::data
