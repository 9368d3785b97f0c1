// Unicode's normalization form C, of text in UTF-8.
//
// A text falls into segments: a character and those behind it that may combine
// or change places with it. A segment has its form whatever stands around it.
#pragma once

#include <cstddef>
#include <string_view>

#include "quire/data/detail/text_form.h"

namespace quire::data {

// Where the last segment of `text` begins, which what follows may yet change.
std::size_t last_segment(std::string_view text);

// `text` is UTF-8.
TextForm normal_form(std::string_view text);

}  // namespace quire::data
