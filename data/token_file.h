// One token file, open for reading; token_format.h has its layout.
#pragma once

#include <cstdint>
#include <string>

#include "quire/core/descriptor.h"
#include "quire/core/hash.h"
#include "quire/data/token_format.h"

namespace quire::data {

// Reads with positioned reads, never through a mapping: a file that shrinks
// while it is open is an error here and not a signal. Const calls from any
// number of threads. Move-only.
//
// Every UsageError names the file. A read that fails, or finds less than there
// was at opening, is a SystemError.
class TokenFile {
 public:
  // Throws UsageError unless `path` is a regular file whose magic, version,
  // number of tokens (at least one) and size agree.
  explicit TokenFile(std::string path);

  const std::string& path() const { return path_; }
  std::int64_t size() const { return tokens_; }  // tokens
  TokenWidth width() const { return width_; }

  // out[i] = token position + i, for i in [0, count). Throws UsageError if the
  // range leaves the file, or an id does not fit 31 bits (with its position).
  void copy(std::int64_t position, std::int64_t count, std::int32_t* out) const;

  // One pass over the file. Throws UsageError with the position and the id of
  // the first token that is not below `vocabulary`.
  void check_ids(std::int64_t vocabulary) const;
  // Adds every token as a 32-bit word: equal for both widths. One pass.
  void add_to(Hasher& hasher) const;

 private:
  void read_header();
  template <class Token>
  void copy_as(std::int64_t position, std::int64_t count,
               std::int32_t* out) const;
  template <class Visit>
  void visit_blocks(Visit visit) const;

  std::string path_;
  Descriptor file_;
  std::int64_t tokens_ = 0;
  TokenWidth width_ = TokenWidth::kU16;
};

}  // namespace quire::data
