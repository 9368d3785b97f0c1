#include "quire/models/options.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::models {

std::string_view type_of(const Options& options) {
  return std::holds_alternative<Gpt2Options>(options) ? "gpt2" : "llama";
}

Options options_of(std::string_view type) {
  if (type == "gpt2") return Gpt2Options{};
  if (type == "llama") return LlamaOptions{};
  throw UsageError(fmt::format(
      "got a model of type \"{}\"; expected \"gpt2\" or \"llama\"", type));
}

nn::Model build(const Options& options) {
  if (const auto* gpt2_options = std::get_if<Gpt2Options>(&options))
    return gpt2(*gpt2_options);
  return llama(std::get<LlamaOptions>(options));
}

std::int64_t context_of(const Options& options) {
  return std::visit([](const auto& o) { return o.context; }, options);
}

std::int64_t vocab_of(const Options& options) {
  return std::visit([](const auto& o) { return o.vocab; }, options);
}

}  // namespace quire::models
