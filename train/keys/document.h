// The JSON of a configuration and its overrides, and where each key's value
// was written.
#pragma once

#include <map>

#include "quire/train/keys/key.h"

namespace quire::train {

class ConfigDocument {
 public:
  // UsageError naming the file, line and column of a syntax error, a key that
  // stands twice in one object, nesting deeper than a checkpoint's documents
  // may have, and a document that is no object.
  ConfigDocument(const std::string& text, std::string name);

  // "optimizer.lr=1e-3", "optimizer.groups.0.lr=0". The value is JSON, within
  // the same bounds, else text.
  void assign(const std::string& assignment);

  // Throws UsageError naming the first key that is none, with the nearest.
  void check_names() const;
  // nullptr: left out.
  const Json* find(const std::string& key) const;

  // Puts in what is left out. REQUIRES: find(key) == nullptr, and the key's
  // section is an object or left out.
  void fill(const std::string& key, Json value);

  // Throws UsageError: where `key` was written, then `problem`.
  [[noreturn]] void refuse(const std::string& key,
                           const std::string& problem) const;

 private:
  void check_names(const Json& object, const std::string& path) const;
  [[noreturn]] void refuse_unknown(const std::string& key,
                                   const Json& value) const;

  std::string name_;
  Json tree_;
  // Assignments by the key they name, the later ones in place of the earlier.
  std::map<std::string, std::string> assigned_;
};

}  // namespace quire::train
