#include "quire/models/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quire/core/error.h"

namespace quire::models {
namespace {

nn::Model built(const Gpt2Options& options) { return gpt2(options); }
nn::Model built(const LlamaOptions& options) { return llama(options); }

}  // namespace

std::string_view type_of(const Options& options) {
  return kTypes.at(options.index());
}

Options options_of(std::string_view type) {
  for (const Options& options :
       {Options(Gpt2Options{}), Options(LlamaOptions{})})
    if (type_of(options) == type) return options;
  throw UsageError(
      fmt::format("got a model of type \"{}\"; expected one of \"{}\"", type,
                  fmt::join(kTypes, "\", \"")));
}

nn::Model build(const Options& options) {
  return std::visit([](const auto& o) { return built(o); }, options);
}

std::int64_t context_of(const Options& options) {
  return std::visit([](const auto& o) { return o.context; }, options);
}

std::int64_t vocab_of(const Options& options) {
  return std::visit([](const auto& o) { return o.vocab; }, options);
}

}  // namespace quire::models
