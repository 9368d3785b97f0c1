#include "bench/model_case.h"

#include <cstring>
#include <memory>
#include <vector>

namespace quire::bench {
namespace {

constexpr ModelCase kCases[] = {
    {.name = "124m",
     .title = "GPT-2 124M",
     .model = {.layers = 12,
               .width = 768,
               .heads = 12,
               .context = 1024,
               .vocab = 50257},
     .samples = 4,
     .sequence = 256,
     .steps = 1},
    {.name = "small",
     .title = "GPT-2 of 4 layers, width 128, vocabulary 256",
     .model =
         {.layers = 4, .width = 128, .heads = 4, .context = 64, .vocab = 256},
     .samples = 12,
     .sequence = 64,
     .steps = 16},
};

}  // namespace

double ModelCase::flops_per_token() const {
  const auto parameters = models::gpt2(model).numel();
  const auto n = static_cast<double>(parameters - model.context * model.width);
  return 6.0 * n +
         12.0 * static_cast<double>(model.layers * model.width * sequence);
}

const ModelCase* model_case(const char* name) {
  for (const ModelCase& c : kCases) {
    if (std::strcmp(c.name, name) == 0) return &c;
  }
  return nullptr;
}

Batch lane_batch(const ModelCase& c, std::int64_t samples, int lane) {
  auto tokens = std::make_shared<std::vector<std::int32_t>>(
      static_cast<std::size_t>(samples * c.sequence));
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    const std::size_t spread =
        i * 7919 + static_cast<std::size_t>(lane) * 104729;
    (*tokens)[i] = static_cast<std::int32_t>(
        spread % static_cast<std::size_t>(c.model.vocab));
  }
  auto* data = reinterpret_cast<std::byte*>(tokens->data());
  const Tensor tensor =
      tensor_over(data, DType::kI32, {samples, c.sequence}, tokens);
  return {.inputs = {{"tokens", tensor}}, .targets = {{"targets", tensor}}};
}

}  // namespace quire::bench
