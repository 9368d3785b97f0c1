#include "quire/data/detail/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>

#include "quire/core/error.h"
#include "quire/data/detail/in_quotes.h"
#include "quire/data/detail/pattern_dialect.h"

namespace quire::data {
namespace {

constexpr std::size_t kMostPatternBytes = 1 << 16;
constexpr std::size_t kFirstStackBytes = 32 << 10;
constexpr std::size_t kMostStackBytes = 8 << 20;
constexpr std::uint32_t kMostHeapKib = 64 << 10;
// A run of spaces is walked a few times, so long texts may take more steps.
constexpr std::size_t kStepsPerByte = 16;
constexpr std::size_t kStepsOfAnyText = 10'000'000;
constexpr std::size_t kMostCountedBytes = std::size_t{1} << 26;

template <auto free_it>
struct Free {
  template <class T>
  void operator()(T* thing) const {
    free_it(thing);
  }
};

using CodePtr = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;

template <class Ptr>
Ptr required(Ptr pointer) {
  if (!pointer) throw std::bad_alloc();
  return pointer;
}

std::string reason_of_code(int code) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

// MULTILINE: in Ruby's syntax ^ and $ are the ends of lines.
CodePtr compiled(const TranslatedPattern& translated,
                 const std::string& source) {
  const std::string& pattern = translated.pattern;
  int error = 0;
  PCRE2_SIZE place = 0;
  CodePtr code(pcre2_compile(
      units(pattern), pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
      &place, nullptr));
  if (code && translated.foreign.empty()) return code;
  throw UsageError(
      fmt::format("{}: the pattern {} does not compile: {}; expected a regular "
                  "expression that PCRE2 takes in the same sense",
                  source, in_quotes(pattern),
                  code ? "it has " + in_quotes(translated.foreign)
                       : reason_of_code(error)));
}

std::uint32_t look_behind(const pcre2_code* code) {
  std::uint32_t characters = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &characters);
  return characters;
}

}  // namespace

struct MatchMemory::Parts {
  std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>> data;
  std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>> context;
  std::unique_ptr<pcre2_jit_stack, Free<pcre2_jit_stack_free>> stack;
};

MatchMemory::MatchMemory() : parts_(std::make_unique<Parts>()) {
  parts_->data.reset(required(pcre2_match_data_create(1, nullptr)));
  parts_->context.reset(required(pcre2_match_context_create(nullptr)));
  pcre2_set_heap_limit(parts_->context.get(), kMostHeapKib);
  // Null where there is no JIT.
  parts_->stack.reset(
      pcre2_jit_stack_create(kFirstStackBytes, kMostStackBytes, nullptr));
  pcre2_jit_stack_assign(parts_->context.get(), nullptr, parts_->stack.get());
}

MatchMemory::~MatchMemory() = default;
MatchMemory::MatchMemory(MatchMemory&&) noexcept = default;
MatchMemory& MatchMemory::operator=(MatchMemory&&) noexcept = default;

struct Pattern::Code {
  CodePtr code;
  bool needs_whole_text;
};

// Without JIT all works, more slowly.
Pattern::Pattern(std::string_view pattern, std::string source)
    : source_(std::move(source)) {
  if (pattern.empty() || pattern.size() > kMostPatternBytes) {
    throw UsageError(
        fmt::format("{}: the pattern has {} bytes; expected 1 to "
                    "{}",
                    source_, pattern.size(), kMostPatternBytes));
  }
  const TranslatedPattern translated = translate(pattern);
  CodePtr code = compiled(translated, source_);
  const bool whole = translated.looks_back || look_behind(code.get()) > 0;
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  code_ = std::make_unique<Code>(Code{std::move(code), whole});
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

// PARTIAL_HARD: whatever would look at the end of the text is no match but
// "partial", a lookahead as well; so what is found is found whatever follows.
Match Pattern::find(const Subject& subject, std::size_t from,
                    MatchMemory& memory) const {
  const std::string_view text = subject.text;
  if (subject.more && code_->needs_whole_text)
    return {.kind = Match::Kind::kUnsettled};
  const std::size_t steps =
      kStepsOfAnyText +
      kStepsPerByte * std::min(text.size() - from, kMostCountedBytes);
  auto* context = memory.parts_->context.get();
  pcre2_set_match_limit(context, static_cast<std::uint32_t>(steps));
  const std::uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY |
                                (subject.more ? PCRE2_PARTIAL_HARD : 0);
  auto* data = memory.parts_->data.get();
  const int code = pcre2_match(code_->code.get(), units(text), text.size(),
                               from, options, data, context);
  if (code == PCRE2_ERROR_NOMATCH) return {.kind = Match::Kind::kNone};
  if (code == PCRE2_ERROR_PARTIAL) return {.kind = Match::Kind::kUnsettled};
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(data);
  if (code >= 0 && found[0] >= from && found[1] > found[0])
    return {.kind = Match::Kind::kFound, .begin = found[0], .end = found[1]};
  throw UsageError(fmt::format(
      "{}: the pattern cannot cut the text from {} on: {}; expected one that "
      "finds its match in few steps",
      source_, in_quotes(text.substr(from)),
      code < 0 ? reason_of_code(code) : "its match begins before its start"));
}

}  // namespace quire::data
