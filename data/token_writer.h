// Writes tokens as one file, or as numbered shards where one file would be too
// large; token_format.h has the layout, token_paths.h the names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quire/data/token_format.h"

namespace quire::data {

// The calls match: write* finish. Until finish, and after any error, nothing
// stands under the final names; what was written goes when the writer dies.
class TokenWriter {
 public:
  struct Options {
    std::string path;         // tokens/train.bin; its folder must exist
    std::int64_t vocabulary;  // decides the width: 16 bits up to 65536
    std::int64_t shard_tokens = kMaxFileTokens;  // at most, per file
    // Replaces the file, or the shards, of this path; otherwise their existence
    // is a UsageError. A crash within finish leaves the old files, the new
    // ones, or an incomplete set that find_token_files refuses.
    bool replace = false;
  };
  explicit TokenWriter(Options options);
  ~TokenWriter();

  // Throws UsageError with the position and the id of the first that is not in
  // [0, vocabulary); none of `ids` is written then.
  void write(std::span<const std::int32_t> ids);
  std::int64_t tokens() const { return tokens_; }  // written so far

  // Syncs and renames; returns the final paths, in order. Throws UsageError if
  // nothing was written.
  std::vector<std::string> finish();

 private:
  struct Part;

  void require_absent() const;
  void require_ids(std::span<const std::int32_t> ids) const;
  void append(std::span<const std::int32_t> ids);
  void open_part();
  void close_part();
  std::vector<std::string> final_paths() const;
  void publish(const std::vector<std::string>& paths);
  void remove_old(const std::vector<std::string>& kept) const;

  Options options_;
  TokenWidth width_;
  std::vector<Part> parts_;
  std::vector<std::byte> narrow_;  // what append writes
  std::int64_t tokens_ = 0;
  bool usable_ = true;  // neither finished nor failed
};

}  // namespace quire::data
