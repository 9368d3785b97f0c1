#include <cstring>
#include <filesystem>
#include <variant>

#include "quire/convert/detail/values.h"
#include "quire/convert/detail/writers.h"
#include "quire/convert/gguf/gguf_file.h"
#include "quire/convert/gguf/gguf_model.h"
#include "quire/convert/gguf/gguf_tokenizer.h"

namespace quire::convert {
namespace {

using checkpoint::ByteSink;
using models::LlamaOptions;

// Vectors (norms, biases) and the table of positions are read as fp32 whatever
// the rest is.
DType dtype_of(const StoredParameter& parameter,
               const ConvertOptions& options) {
  const bool small =
      parameter.shape.rank() < 2 || parameter.name == "embed.wpe.weight";
  return small ? DType::kF32 : written_dtype(options, parameter);
}

// general.file_type: what most of the values are.
std::uint32_t file_type_of(std::span<const GgufTensor> tensors) {
  constexpr std::uint32_t kAllF32 = 0, kMostlyF16 = 1, kMostlyBF16 = 32;
  std::uint32_t type = kAllF32;
  for (const auto& tensor : tensors) {
    if (tensor.dtype == DType::kF16) type = kMostlyF16;
    if (tensor.dtype == DType::kBF16) type = kMostlyBF16;
  }
  return type;
}

// Heads of a projection whose rows the architecture llama wants turned: pairs
// (i, i + d / 2) that are rotated together become neighbours. 0: left alone.
std::int64_t turned_heads(const LlamaOptions& options,
                          const std::string& parameter) {
  if (parameter.find(".q_proj.") != std::string::npos) return options.heads;
  if (parameter.find(".k_proj.") != std::string::npos) return options.kv_heads;
  return 0;
}

// One conversion; its tensors give as long as it lives.
class GgufModel {
 public:
  GgufModel(const Weights& weights, const ConvertOptions& options,
            const ConvertProgress& progress)
      : weights_(weights),
        architecture_(gguf_architecture(weights.description(), weights.path())),
        values_(weights, options, progress) {
    for (const auto& parameter : weights.parameters())
      add(parameter, dtype_of(parameter, options));
    if (llama() != nullptr) add_divisors(rope_divisors(*llama()));
    put_keys();
  }
  GgufModel(const GgufModel&) = delete;
  GgufModel& operator=(const GgufModel&) = delete;

  Converted write(const std::string& path) {
    write_gguf_file(path, keys_, tensors_);
    Converted done{.parameters = std::ssize(weights_.parameters()),
                   .bytes = 0,
                   .warnings = warnings_};
    for (const auto& tensor : tensors_) done.bytes += tensor.bytes();
    for (auto& line : values_.warnings())
      done.warnings.push_back(std::move(line));
    return done;
  }

 private:
  const LlamaOptions* llama() const {
    return std::get_if<LlamaOptions>(&weights_.description().options);
  }

  void add(const StoredParameter& parameter, DType dtype) {
    const std::int64_t heads =
        architecture_ == "llama" ? turned_heads(*llama(), parameter.name) : 0;
    const auto give = [this, &parameter, dtype, heads](const ByteSink& sink) {
      if (heads == 0)
        values_.give(parameter, dtype, sink);
      else
        give_turned(parameter, dtype, heads, sink);
    };
    tensors_.push_back({.name = gguf_name(parameter.name),
                        .shape = parameter.shape,
                        .dtype = dtype,
                        .give = give});
  }

  // Row (h, half, i) of heads of two halves becomes row (h, i, half).
  void give_turned(const StoredParameter& parameter, DType dtype,
                   std::int64_t heads, const ByteSink& sink) {
    const std::int64_t count = parameter.shape.numel() / heads;
    const auto half = static_cast<std::size_t>(llama()->head_width / 2);
    std::vector<std::byte> turned;
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto head = values_.hold(parameter, {h * count, count}, dtype);
      turned.resize(head.size());
      const std::size_t row = head.size() / (2 * half);
      for (std::size_t i = 0; i < 2 * half; ++i)
        std::memcpy(turned.data() + i * row,
                    head.data() + (i / 2 + i % 2 * half) * row, row);
      sink(turned);
      values_.tell_written(std::ssize(turned));
    }
  }

  void add_divisors(std::vector<float> divisors) {
    if (divisors.empty()) return;
    const Shape shape{std::ssize(divisors)};
    const auto give = [divisors = std::move(divisors)](const ByteSink& sink) {
      sink(std::as_bytes(std::span(divisors)));
    };
    tensors_.push_back({.name = "rope_freqs.weight",
                        .shape = shape,
                        .dtype = DType::kF32,
                        .give = give});
  }

  void put_keys() {
    const Description& description = weights_.description();
    keys_.put("general.architecture", architecture_);
    keys_.put("general.name",
              std::filesystem::path(weights_.path()).filename().string());
    keys_.put("general.alignment", std::uint32_t{32});
    keys_.put("general.file_type", file_type_of(tensors_));
    put_model_keys(description, architecture_, keys_);
    warnings_ = gguf_warnings(description);
    for (auto& line : put_tokenizer_keys(description, keys_))
      warnings_.push_back(std::move(line));
  }

  const Weights& weights_;
  std::string architecture_;
  ValueStream values_;
  GgufKeys keys_;
  std::vector<GgufTensor> tensors_;
  std::vector<std::string> warnings_;
};

}  // namespace

Converted write_gguf(const Weights& weights, const std::string& file,
                     const ConvertOptions& options,
                     const ConvertProgress& progress) {
  return GgufModel(weights, options, progress).write(file);
}

}  // namespace quire::convert
