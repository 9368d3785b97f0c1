// What lies in a checkpoint, in safetensors files or in a file of llm.c, as
// `quire inspect` shows it; values are read when they are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/json.h"

namespace quire::tools {

// Elements [first, first + count) of a tensor in one file.
struct HeldRange {
  std::string file;
  std::int64_t first, count;
};

struct ListedTensor {
  std::string name;   // "master:h.0.ln_1.weight" in a checkpoint
  std::string place;  // in the tree: without the kind
  std::string dtype;  // as the source says it
  std::string type;   // as safetensors files say it
  std::vector<std::int64_t> shape;
  std::int64_t elements, bytes;
  std::string hash;  // in a checkpoint
  std::vector<HeldRange> held;
  // out = elements from `first` on, as they lie. SystemError for bytes that
  // fail their hash.
  std::function<void(std::int64_t first, std::span<std::byte> out)> read;
};

struct Listing {
  Json summary;  // members in their order
  Json files;
  std::vector<ListedTensor> tensors;
  std::vector<std::string> warnings;
  std::shared_ptr<void> source;  // what `read` needs
};

Listing list_checkpoint(const std::string& path);
// A file, or a folder's.
Listing list_safetensors(const std::string& path);
Listing list_llmc(const std::string& path);

}  // namespace quire::tools
