#include "quire/convert/llmc/layout.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::convert {
namespace {

constexpr std::int32_t kFloats = 3;        // the version of fp32
constexpr std::int32_t kBfloats = 5;       // of bf16
constexpr std::int32_t kLlama = 20240803;  // its magic
// With these no product of a model's sizes leaves 63 bits.
constexpr std::int64_t kMostLayers = std::int64_t{1} << 14;
constexpr std::int64_t kMostWidth = std::int64_t{1} << 18;
constexpr std::int64_t kMostVocab = std::int64_t{1} << 28;
constexpr std::int64_t kMostContext = (std::int64_t{1} << 31) - 1;

struct Field {
  std::string_view name;
  int index;
  std::int64_t most;
};
constexpr Field kContext{"context", 2, kMostContext};
constexpr Field kVocab{"vocab", 3, kMostVocab};
constexpr Field kLayers{"layers", 4, kMostLayers};
constexpr Field kHeads{"heads", 5, kMostWidth};
constexpr Field kWidth{"width", 6, kMostWidth};
constexpr Field kPadded{"padded vocab", 7, kMostVocab};

void check(const Field& field, std::int64_t value, const std::string& source) {
  if (value < 1 || value > field.most)
    throw UsageError(
        fmt::format("{}: its header has {} {} (number {}); expected 1 to {}",
                    source, field.name, value, field.index, field.most));
}

std::int64_t value_of(const LlmcHeader& header, const Field& field,
                      const std::string& source) {
  const std::int64_t value = header[static_cast<std::size_t>(field.index)];
  check(field, value, source);
  return value;
}

DType dtype_of(const LlmcHeader& header, const std::string& source) {
  if (header[0] == kLlama)
    throw UsageError(
        source +
        " is llm.c's file of a Llama 3, whose header cuts norm_eps "
        "and theta to whole numbers; take the model from Hugging Face");
  if (header[0] != kLlmcMagic)
    throw UsageError(
        fmt::format("{} starts with {}, as no model of llm.c does; expected {}",
                    source, header[0], kLlmcMagic));
  if (header[1] != kFloats && header[1] != kBfloats)
    throw UsageError(
        fmt::format("{} has version {}; expected {} (fp32) or {} (bf16)",
                    source, header[1], kFloats, kBfloats));
  return header[1] == kFloats ? DType::kF32 : DType::kBF16;
}

void check_relations(const LlmcModel& model, const std::string& source) {
  const auto& options = model.options;
  if (options.width % options.heads != 0)
    throw UsageError(fmt::format(
        "{}: its header has {} heads; expected a divisor of the width {}",
        source, options.heads, options.width));
  if (model.padded_vocab < options.vocab)
    throw UsageError(fmt::format(
        "{}: its header pads a vocab of {} to {}; expected at least as many",
        source, options.vocab, model.padded_vocab));
}

// Of one layer, in the file's order; `elements` as multiples of the width and
// of its square.
struct Part {
  std::string_view name;
  std::int64_t widths, squares;

  std::int64_t numel(std::int64_t width) const {
    return widths * width + squares * width * width;
  }
};
constexpr std::array kOfLayers = {
    Part{"ln_1.weight", 1, 0},        Part{"ln_1.bias", 1, 0},
    Part{"attn.c_attn.weight", 0, 3}, Part{"attn.c_attn.bias", 3, 0},
    Part{"attn.c_proj.weight", 0, 1}, Part{"attn.c_proj.bias", 1, 0},
    Part{"ln_2.weight", 1, 0},        Part{"ln_2.bias", 1, 0},
    Part{"mlp.c_fc.weight", 0, 4},    Part{"mlp.c_fc.bias", 4, 0},
    Part{"mlp.c_proj.weight", 0, 4},  Part{"mlp.c_proj.bias", 1, 0}};

}  // namespace

LlmcModel read_llmc_header(const LlmcHeader& header,
                           const std::string& source) {
  LlmcModel model{.dtype = dtype_of(header, source),
                  .options = {.layers = value_of(header, kLayers, source),
                              .width = value_of(header, kWidth, source),
                              .heads = value_of(header, kHeads, source),
                              .context = value_of(header, kContext, source),
                              .vocab = value_of(header, kVocab, source),
                              .dropout = 0.0f,
                              .norm_eps = kLlmcNormEps},
                  .padded_vocab = value_of(header, kPadded, source)};
  check_relations(model, source);
  return model;
}

LlmcHeader llmc_header_of(const LlmcModel& model, const std::string& source) {
  LlmcHeader header{kLlmcMagic,
                    model.dtype == DType::kF32 ? kFloats : kBfloats};
  const auto put = [&](const Field& field, std::int64_t value) {
    check(field, value, source);
    header[static_cast<std::size_t>(field.index)] =
        static_cast<std::int32_t>(value);
  };
  put(kContext, model.options.context);
  put(kVocab, model.options.vocab);
  put(kLayers, model.options.layers);
  put(kHeads, model.options.heads);
  put(kWidth, model.options.width);
  put(kPadded, model.padded_vocab);
  return header;
}

std::vector<LlmcTensor> llmc_tensors(const LlmcModel& model) {
  const auto& o = model.options;
  std::vector<LlmcTensor> tensors = {
      {"embed.wte.weight", o.vocab * o.width,
       (model.padded_vocab - o.vocab) * o.width},
      {"embed.wpe.weight", o.context * o.width, 0}};
  for (const Part& part : kOfLayers)
    for (std::int64_t layer = 0; layer < o.layers; ++layer)
      tensors.push_back(
          {fmt::format("h.{}.{}", layer, part.name), part.numel(o.width), 0});
  tensors.push_back({"head.ln_f.weight", o.width, 0});
  tensors.push_back({"head.ln_f.bias", o.width, 0});
  return tensors;
}

std::int64_t llmc_elements(const LlmcModel& model) {
  const auto& o = model.options;
  std::int64_t of_layer = 0;
  for (const Part& part : kOfLayers) of_layer += part.numel(o.width);
  return (model.padded_vocab + o.context + 2) * o.width + o.layers * of_layer;
}

}  // namespace quire::convert
