#include "quire/data/detail/metaspace.h"

namespace quire::data {
namespace {

TextForm spaced_form(std::string_view text, std::string_view prefix) {
  TextForm form(text);
  if (!prefix.empty()) form.change(prefix, 0, 0);
  for (std::size_t at = 0; (at = text.find(kSpelledBlank, at)) != text.npos;
       at += kSpelledBlank.size())
    form.change(" ", at, at + kSpelledBlank.size());
  form.finish();
  return form;
}

}  // namespace

const std::string_view kWordPattern = " *[^ ]+";
const std::string_view kWordOrLinePattern = R"( *[^ \n]+| +|\n+)";

TextForm Metaspace::spaced(std::string_view text, Before before) const {
  const bool begins = before == Before::kNothing ||
                      (before == Before::kToken && prefix == Prefix::kEvery);
  const bool has_blank =
      text.starts_with(' ') || text.starts_with(kSpelledBlank);
  const bool wanted = begins && prefix != Prefix::kNone && !text.empty() &&
                      (normalizes || !has_blank);
  return spaced_form(text, wanted ? " " : "");
}

std::optional<unsigned char> byte_of_token(std::string_view spelled) {
  if (spelled.size() != 6 || !spelled.starts_with("<0x") || spelled[5] != '>')
    return {};
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto high = kDigits.find(spelled[3]);
  const auto low = kDigits.find(spelled[4]);
  if (high == kDigits.npos || low == kDigits.npos) return {};
  return static_cast<unsigned char>(high << 4 | low);
}

std::optional<std::string> bytes_of_token(std::string_view spelled) {
  if (const auto byte = byte_of_token(spelled))
    return std::string(1, static_cast<char>(*byte));
  return std::string(spaced_form(spelled, "").text());
}

}  // namespace quire::data
