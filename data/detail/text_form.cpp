#include "quire/data/detail/text_form.h"

#include <algorithm>
#include <iterator>

namespace quire::data {

void TextForm::change(std::string_view form, std::size_t begin,
                      std::size_t end) {
  const std::size_t from = changes_.empty() ? 0 : changes_.back().original_end;
  whole_ += original_.substr(from, begin - from);
  const std::size_t place = whole_.size();
  whole_ += form;
  changes_.push_back(
      {.begin = place, .end = whole_.size(), .original_end = end});
}

void TextForm::finish() {
  if (changes_.empty()) return;
  whole_ += original_.substr(changes_.back().original_end);
}

std::optional<std::size_t> TextForm::origin(std::size_t place) const {
  const auto next =
      std::ranges::lower_bound(changes_, place, {}, &Change::begin);
  if (next == changes_.begin()) return place;
  const Change& change = *std::prev(next);
  if (place < change.end) return {};
  return change.original_end + (place - change.end);
}

}  // namespace quire::data
