#include "quire/train/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "quire/core/dtype.h"
#include "quire/core/error.h"
#include "quire/data/token_batch.h"
#include "quire/data/tokenizer.h"
#include "quire/train/detail/sample.h"
#include "quire/train/detail/saved_model.h"

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
  if (options.prompt.empty())
    throw UsageError("--prompt is empty; expected a text to go on from");
  if (options.tokens < 0) {
    throw UsageError(
        fmt::format("--tokens is {}; expected 0 or more", options.tokens));
  }
}

void check_vocabulary(const SavedFacts& facts, const data::Tokenizer& bytes,
                      const std::string& model) {
  if (facts.vocab == bytes.vocabulary()) return;
  throw UsageError(fmt::format(
      "{} has a vocabulary of {}; text is made with the bytes tokenizer, whose "
      "vocabulary is {}: generate with a model that was trained on bytes",
      model, facts.vocab, bytes.vocabulary()));
}

std::span<const std::int32_t> last_of(const Ids& ids, std::int64_t count) {
  const auto kept = std::min(ids.size(), static_cast<std::size_t>(count));
  return std::span(ids).last(kept);
}

}  // namespace

GenerateResult generate(const GenerateOptions& options,
                        comm::Communicator& communicator) {
  const SampleOptions how{.temperature = options.temperature,
                          .top_k = options.top_k,
                          .seed = options.seed};
  check_options(options, how);
  SavedModel saved(options.model, options.threads, communicator);
  const auto tokenizer = data::make_tokenizer("bytes");
  check_vocabulary(saved.facts(), *tokenizer, options.model);
  communicator.locate({.step = -1, .phase = "generate"});
  const OpenEngine engine(saved.engine());
  Ids ids = tokenizer->encode(options.prompt);
  const std::size_t prompt = ids.size();
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const auto logits = engine.logits(last_of(ids, saved.facts().context));
    ids.push_back(sample_token(logits, how, i));
    saved.together().barrier();  // where a rank that is gone is missed
  }
  return {.text = tokenizer->decode(std::span(ids).subspan(prompt)),
          .tokens = options.tokens,
          .warnings = saved.warnings()};
}

}  // namespace quire::train
