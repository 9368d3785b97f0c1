#include "quire/train/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "quire/core/dtype.h"
#include "quire/core/error.h"
#include "quire/data/token_batch.h"
#include "quire/data/tokenizer.h"
#include "quire/train/detail/characters.h"
#include "quire/train/detail/language.h"
#include "quire/train/detail/sample.h"
#include "quire/train/detail/saved_model.h"
#include "quire/train/detail/token_text.h"

namespace quire::train {
namespace {

using Ids = std::vector<std::int32_t>;

// As long as it lives, an engine has its values whole.
class OpenEngine {
 public:
  explicit OpenEngine(engine::Engine& engine) : engine_(&engine) {
    engine_->open();
  }
  ~OpenEngine() { engine_->close(); }
  OpenEngine(const OpenEngine&) = delete;
  OpenEngine& operator=(const OpenEngine&) = delete;

  // [V], of the token that follows `ids`.
  std::vector<float> logits(std::span<const std::int32_t> ids) const {
    const auto length = static_cast<std::int64_t>(ids.size());
    data::TokenBatch batch(1, length);
    batch.set(0, ids);
    return last_row(engine_->forward(std::move(batch).finish()), length);
  }

 private:
  static std::vector<float> last_row(const Tensor& logits,
                                     std::int64_t length) {
    const std::int64_t vocab = logits.numel() / length;
    const Tensor row = logits.range((length - 1) * vocab, vocab);
    std::vector<float> values(static_cast<std::size_t>(vocab));
    if (row.dtype() == DType::kBF16) {
      std::ranges::transform(std::span(row.data<BFloat16>(), values.size()),
                             values.begin(),
                             [](BFloat16 x) { return static_cast<float>(x); });
    } else {
      std::ranges::copy(std::span(row.data<float>(), values.size()),
                        values.begin());
    }
    return values;
  }

  engine::Engine* engine_;
};

void check_options(const GenerateOptions& options, const SampleOptions& how) {
  check(how);
  if (options.tokens < 0) {
    throw UsageError(
        fmt::format("--tokens is {}; expected 0 or more", options.tokens));
  }
}

// At least one, and every one is an id that the model knows.
Ids ids_of(const std::string& prompt, const data::Tokenizer& tokenizer,
           const SavedFacts& facts) {
  Ids ids = tokenizer.encode_prompt(prompt);
  if (ids.empty()) {
    throw UsageError(fmt::format(
        "--prompt is empty, and the tokenizer {} puts nothing before a text; "
        "expected a text to go on from",
        tokenizer.name()));
  }
  const auto beyond =
      std::ranges::find_if(ids, [&](auto id) { return id >= facts.vocab; });
  if (beyond == ids.end()) return ids;
  throw UsageError(fmt::format(
      "the prompt has token {} in the tokenizer {}; the model's vocabulary is "
      "{}: expected the model's own tokenizer",
      *beyond, tokenizer.name(), facts.vocab));
}

std::span<const std::int32_t> last_of(const Ids& ids, std::int64_t count) {
  const auto kept = std::min(ids.size(), static_cast<std::size_t>(count));
  return std::span(ids).last(kept);
}

// A text that grows token by token.
class Writer {
 public:
  Writer(SavedModel& saved, const GenerateOptions& options,
         const Language& language)
      : saved_(&saved),
        options_(&options),
        language_(&language),
        engine_(saved.engine()),
        ids_(ids_of(options.prompt, *language.tokenizer, saved.facts())) {}

  GenerateResult write(const SampleOptions& how) {
    GenerateResult result{.text = {}, .warnings = saved_->warnings()};
    while (result.tokens < options_->tokens) {
      const std::int32_t next = sample_token(logits(), how, result.tokens);
      saved_->together().barrier();  // where a rank that is gone is missed
      if (std::ranges::count(language_->ends, next) > 0) {
        result.end = GenerateResult::End::kEndOfText;
        break;
      }
      add(next, result);
    }
    show(characters_.rest());
    return result;
  }

 private:
  // Of the tokens that are text: a vocabulary may be padded.
  std::vector<float> logits() const {
    auto logits = engine_.logits(last_of(ids_, saved_->facts().context));
    const auto known =
        static_cast<std::size_t>(language_->tokenizer->vocabulary());
    if (logits.size() > known) logits.resize(known);
    return logits;
  }

  void add(std::int32_t id, GenerateResult& result) {
    const bool begins = options_->prompt.empty() && result.tokens == 0;
    const std::string bytes =
        added_text(*language_->tokenizer,
                   begins ? std::nullopt : std::optional(ids_.back()), id);
    ids_.push_back(id);
    ++result.tokens;
    result.text += bytes;
    show(characters_.take(bytes));
  }

  void show(const std::string& text) const {
    const bool is_root = saved_->together().communicator().rank() == 0;
    if (is_root && options_->on_text && !text.empty()) options_->on_text(text);
  }

  SavedModel* saved_;
  const GenerateOptions* options_;
  const Language* language_;
  OpenEngine engine_;
  Ids ids_;
  Characters characters_;
};

}  // namespace

GenerateResult generate(const GenerateOptions& options,
                        comm::Communicator& communicator) {
  const SampleOptions how{.temperature = options.temperature,
                          .top_k = options.top_k,
                          .seed = options.seed};
  check_options(options, how);
  SavedModel saved(options.model, options.threads, communicator);
  const Language language = language_of(saved.description(), options.model);
  communicator.locate({.step = -1, .phase = "generate"});
  return Writer(saved, options, language).write(how);
}

}  // namespace quire::train
