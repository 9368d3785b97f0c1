// The weights of a Hugging Face folder: model.safetensors, or the shards that
// model.safetensors.index.json names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quire/checkpoint/json.h"
#include "quire/checkpoint/safetensors.h"

namespace quire::convert {

// Const calls from any number of threads. Move-only.
class WeightFiles {
 public:
  struct Weight {
    const checkpoint::SafetensorsFile* file;
    const checkpoint::SafetensorsEntry* entry;
  };

  // Opens all files of the folder's model. UsageError naming file and tensor if
  // the index names a file that is not there or lies elsewhere, a tensor that
  // its file does not hold, or if a tensor is in two files or in none that the
  // index says; and for a folder that holds pickles only.
  explicit WeightFiles(const std::string& folder);

  const std::map<std::string, Weight, std::less<>>& weights() const {
    return weights_;
  }
  // What is odd and does no harm.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void open(const std::string& folder, const std::string& name,
            const std::string& said_by);
  void add_all(const checkpoint::SafetensorsFile& file);
  void check_index(const checkpoint::Json& index, const std::string& path);
  void check_sizes(std::int64_t total, const std::string& path);

  std::shared_ptr<checkpoint::OpenFiles> open_ =
      std::make_shared<checkpoint::OpenFiles>();
  // By name; their addresses stay.
  std::map<std::string, checkpoint::SafetensorsFile> files_;
  std::map<std::string, Weight, std::less<>> weights_;
  std::vector<std::string> warnings_;
};

}  // namespace quire::convert
