#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "quire/checkpoint/files.h"
#include "quire/convert/detail/values.h"
#include "quire/convert/detail/writers.h"
#include "quire/convert/llmc/layout.h"
#include "quire/core/divide.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

constexpr std::int64_t kVocabMultiple = 128;

const models::Gpt2Options& options_of(const Weights& weights) {
  const auto& options = weights.description().options;
  const auto* gpt2 = std::get_if<models::Gpt2Options>(&options);
  if (gpt2 == nullptr)
    throw UsageError(fmt::format(
        "{} is a {}; llm.c's .bin carries gpt2 alone: choose another format",
        weights.path(), models::type_of(options)));
  if (gpt2->norm_eps != kLlmcNormEps)
    throw UsageError(fmt::format(
        "{} has norm_eps {}; llm.c's is always {}, so it would be another "
        "network: choose another format",
        weights.path(), gpt2->norm_eps, kLlmcNormEps));
  return *gpt2;
}

// All tensors of a file have one type: the wider where they are mixed.
DType dtype_of(const Weights& weights, const ConvertOptions& options) {
  DType dtype = options.dtype.value_or(DType::kBF16);
  for (const auto& parameter : weights.parameters()) {
    const DType written = written_dtype(options, parameter);
    if (written == DType::kF32) dtype = DType::kF32;
    if (written == DType::kF16)
      throw UsageError(fmt::format(
          "{}: {} is fp16, which llm.c's .bin has no version for; ask for "
          "--dtype fp32 or bf16",
          weights.path(), parameter.name));
  }
  return dtype;
}

std::vector<std::string> lost_with(const Weights& weights) {
  std::vector<std::string> lines;
  const Description& description = weights.description();
  if (const float dropout = options_of(weights).dropout; dropout > 0.0f)
    lines.push_back(
        fmt::format("dropout {} is not carried by llm.c's .bin", dropout));
  if (!description.side_files.empty())
    lines.push_back("tokenizer and generation files do not go into a .bin");
  return lines;
}

void append_zeros(checkpoint::File& file, std::int64_t bytes) {
  const std::vector<std::byte> zeros(
      static_cast<std::size_t>(std::min(bytes, kBlock)));
  for (std::int64_t at = 0; at < bytes; at += kBlock)
    file.append(std::span(zeros).first(
        static_cast<std::size_t>(std::min(kBlock, bytes - at))));
}

}  // namespace

Converted write_llmc(const Weights& weights, const std::string& path,
                     const ConvertOptions& options,
                     const ConvertProgress& progress) {
  const auto& gpt2 = options_of(weights);
  const LlmcModel model{
      .dtype = dtype_of(weights, options),
      .options = gpt2,
      .padded_vocab = divide_up(gpt2.vocab, kVocabMultiple) * kVocabMultiple};
  const LlmcHeader header = llmc_header_of(model, weights.path());
  auto file = checkpoint::File::create(path, {});
  file.append(std::as_bytes(std::span(header)));
  ValueStream values(weights, options, progress);
  for (const auto& tensor : llmc_tensors(model)) {
    values.give(stored(weights, tensor.name), model.dtype,
                [&](std::span<const std::byte> bytes) { file.append(bytes); });
    append_zeros(file, tensor.padding * size_of(model.dtype));
  }
  file.sync();
  auto warnings = lost_with(weights);
  for (auto& line : values.warnings()) warnings.push_back(std::move(line));
  return {.parameters = std::ssize(weights.parameters()),
          .bytes = file.bytes() - kLlmcHeaderBytes,
          .warnings = std::move(warnings)};
}

}  // namespace quire::convert
