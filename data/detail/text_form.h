// A text in another form, and where it comes from. The calls match
//
//   change* finish (text | origin)*
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quire::data {

class TextForm {
 public:
  // `original` must outlive it. Copied only if it changes.
  explicit TextForm(std::string_view original) : original_(original) {}

  // [begin, end) of the original has another form. REQUIRES: it lies behind
  // those that were changed before.
  void change(std::string_view form, std::size_t begin, std::size_t end);
  void finish();

  std::string_view text() const {
    return changes_.empty() ? original_ : std::string_view(whole_);
  }
  // The place in the original that parts it as `place` parts text(): what
  // follows it has the form of what follows `place`. None within a stretch that
  // was changed.
  std::optional<std::size_t> origin(std::size_t place) const;

 private:
  struct Change {
    std::size_t begin;  // in text()
    std::size_t end;
    std::size_t original_end;
  };

  std::string_view original_;
  std::string whole_;
  std::vector<Change> changes_;
};

}  // namespace quire::data
