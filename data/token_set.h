// The tokens of one file or of several shards as one sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/data/token_file.h"

namespace quire::data {

// Const calls from any number of threads, so that the ranks of a process share
// one. Positions count over the whole sequence; messages name the file and the
// position within it.
class TokenSet {
 public:
  // A file, a pattern, or a path that numbered shards stand for: see
  // find_token_files. Opens and checks every file; throws as TokenFile does.
  explicit TokenSet(std::string path);

  const std::string& path() const { return path_; }  // as given
  const std::vector<TokenFile>& files() const { return files_; }
  std::int64_t size() const { return starts_.back(); }  // tokens

  // As TokenFile::copy; the range may span files.
  void copy(std::int64_t position, std::int64_t count, std::int32_t* out) const;
  // As TokenFile::check_ids, over all files.
  void check_ids(std::int64_t vocabulary) const;
  // XXH3-64 of the tokens as 32-bit words: neither widths nor the cut into
  // shards change it. One pass.
  std::uint64_t content_hash() const;

 private:
  std::string path_;
  std::vector<TokenFile> files_;
  std::vector<std::int64_t> starts_ = {0};  // of each file; the end
};

}  // namespace quire::data
