// From one ecosystem's files to another's. One tensor is held at most; the
// output appears whole under its name or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quire/convert/weights.h"
#include "quire/core/dtype.h"

namespace quire::convert {

struct ConvertOptions {
  Format to;
  std::optional<DType> dtype = {};  // as stored
  // Of a Hugging Face file; more than one and an index where a model is larger.
  std::int64_t max_shard_bytes = std::int64_t{5} << 30;
  // Of a DCP folder, cut by rows; of a Quire checkpoint, by tiles.
  int shards = 1;
};

// Called after every block of a tensor with the bytes written so far and those
// in all.
using ConvertProgress = std::function<void(std::int64_t, std::int64_t)>;

struct Converted {
  std::int64_t parameters;
  std::int64_t bytes;  // of tensors
  std::vector<std::string> warnings;
};

// Writes `weights` as `out`: the checkpoint's folder, or the .gguf or .bin
// file. It is made beside its place under a name with a dot, synced and
// renamed; an existing `out` is refused. Tokenizer and generation files go
// along into folders. UsageError for a format that cannot carry the model and
// for options that `to` does not have.
Converted convert(const Weights& weights, const std::string& out,
                  const ConvertOptions& options,
                  const ConvertProgress& progress = {});

// A Quire checkpoint with all its state: optimizer, step, seed and notes.
// REQUIRES: `from` is one; else UsageError. options.dtype must be left out.
Converted convert_state(const std::string& from, const std::string& out,
                        const ConvertOptions& options,
                        const ConvertProgress& progress = {});

// Names, shapes and values of all parameters, as numbers: bf16 1.0 equals fp32
// 1.0. One line for every parameter that one side alone has or that differs,
// those that differ with how many elements do, the first and the largest
// difference; holds a few MiB.
std::vector<std::string> compare(const Weights& a, const Weights& b);

}  // namespace quire::convert
