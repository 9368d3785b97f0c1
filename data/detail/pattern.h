// A regular expression that cuts text, on PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace quire::data {

// What a thread needs to match: memory that matches use again. Used by one
// thread, with any pattern.
class MatchMemory {
 public:
  MatchMemory();
  ~MatchMemory();
  MatchMemory(MatchMemory&&) noexcept;
  MatchMemory& operator=(MatchMemory&&) noexcept;

 private:
  friend class Pattern;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Match {
  // kUnsettled: it depends on what follows the text, which is not known yet.
  enum class Kind { kFound, kNone, kUnsettled } kind;
  std::size_t begin = 0;
  std::size_t end = 0;  // > begin
};

// Const calls from any number of threads.
class Pattern {
 public:
  // `source` says in messages where it stands. Throws UsageError if it does not
  // compile, or its matches may depend on bytes in pieces of characters.
  Pattern(std::string_view pattern, std::string source);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) = delete;

  struct Subject {
    std::string_view text;  // UTF-8
    bool more = false;      // other text may follow
  };
  // The first match that is not empty, from byte `from` on. Throws UsageError
  // if matching takes too many steps or too much memory.
  Match find(const Subject& subject, std::size_t from,
             MatchMemory& memory) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
  std::string source_;
};

}  // namespace quire::data
