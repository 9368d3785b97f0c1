// A model's parameters as they lie in files, of whatever ecosystem: named,
// shaped and laid out as models::build(description().options) has them, and
// read by ranges, so that any number of ranks reads a model without holding it
// and a conversion holds one tensor at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/core/dtype.h"
#include "quire/core/shape.h"
#include "quire/models/options.h"

namespace quire::convert {

enum class Format : std::uint8_t {
  kHuggingFace,  // a folder: config.json, safetensors, perhaps an index
  kQuire,        // a checkpoint's folder, or a run's
  kDcp,          // a folder: PyTorch's distributed checkpoint as safetensors
  kLlmc,         // a file: llm.c's GPT-2, .bin
  kGguf          // a file: written only
};
std::string_view name_of(Format format);  // "hf", "quire", "dcp", ...

// What a model is, apart from its weights.
struct Description {
  models::Options options;
  // The model_type of Hugging Face: gpt2, llama, mistral, qwen2 or qwen3.
  std::string family;
  // Keys of a config.json that no option of Quire's says, with their values as
  // JSON: "bos_token_id", "initializer_range". They are written again as they
  // were.
  std::map<std::string, std::string> other_keys;
  // Paths of tokenizer and generation files that belong to the model.
  std::vector<std::string> side_files;
};

struct StoredParameter {
  std::string name;  // in the model
  Shape shape;
  DType dtype;  // as it lies there: fp32, bf16 or fp16
};

// Const calls from any number of threads.
class Weights {
 public:
  virtual ~Weights() = default;

  virtual Format format() const = 0;
  virtual const std::string& path() const = 0;
  virtual const Description& description() const = 0;
  // Every parameter of the model once, in the model's order.
  virtual std::span<const StoredParameter> parameters() const = 0;
  // What is odd and does no harm, one line each.
  virtual std::span<const std::string> warnings() const = 0;

  // out = elements [first, first + out.size() / element) of the parameter in
  // the model's layout, in the type in which they are stored. UsageError unless
  // it is there and holds the range; SystemError for bytes that fail their
  // hash.
  virtual void read(std::string_view parameter, std::int64_t first,
                    std::span<std::byte> out) const = 0;

  // Tensors that made way for one that was renamed, by the names that
  // OpenOptions::ignore knew them by.
  virtual std::span<const std::string> made_way() const { return {}; }
};

struct OpenOptions {
  // The config.json of a model whose files have none (DCP); empty: the
  // folder's.
  std::string config = {};
  // Reads files that hold less than the model, or more: parameters() are then
  // those that are there, of the shape that they have, and behind them, under
  // their own names and as they lie, the tensors that the model has no place
  // for. The caller judges; nothing is refused for being missing, unexpected or
  // of another shape.
  bool partial = false;
  // A tensor's name in the files -> the parameter as which it is read, in that
  // parameter's layout. UsageError for a name that the files do not have, and
  // where two tensors would be one parameter, unless the other's name, as a
  // tensor or as that parameter, matches one of the patterns to ignore: then
  // it makes way.
  std::map<std::string, std::string> rename = {};
  std::vector<std::string> ignore = {};
};

// What `path` is, by its content and never by its name alone. UsageError: what
// it is instead, and for pickle files the command that turns them into
// safetensors.
Format format_of(const std::string& path);

// The files of a Hugging Face folder's tensors: model.safetensors, or those
// that its index names; none if it has neither. UsageError for an index that
// breaks its format or names a file that is not there.
inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
std::vector<std::string> weight_file_names(const std::string& folder);
// UsageError where the index says other than its files hold: a tensor that its
// file lacks, or one that it does not name. Reads headers alone; without an
// index there is nothing to check.
void check_weight_index(const std::string& folder);

// UsageError naming file and key for a model that Quire does not have and for
// hostile files; one error lists all tensors that are missing, unexpected, or
// of another shape.
std::unique_ptr<const Weights> open_weights(const std::string& path,
                                            const OpenOptions& options = {});

// out = elements [first, first + out.size()), widened to fp32.
void read_floats(const Weights& weights, std::string_view parameter,
                 std::int64_t first, std::span<float> out);

// The parameter's entry; UsageError with the nearest name.
const StoredParameter& stored(const Weights& weights,
                              std::string_view parameter);

}  // namespace quire::convert
