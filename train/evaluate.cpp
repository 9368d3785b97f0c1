#include "quire/train/evaluate.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/data/evaluation_windows.h"
#include "quire/train/detail/saved_model.h"
#include "quire/train/detail/token_source.h"
#include "quire/train/detail/validation.h"

namespace quire::train {
namespace {

std::int64_t sequence_of(const EvaluateOptions& options,
                         const SavedFacts& facts) {
  if (options.sequence == 0) return facts.sequence;
  if (options.sequence >= 1 && options.sequence <= facts.context)
    return options.sequence;
  throw UsageError(fmt::format(
      "--sequence is {}; expected 1 to {}, the context of the model",
      options.sequence, facts.context));
}

}  // namespace

EvaluateResult evaluate(const EvaluateOptions& options,
                        comm::Communicator& communicator) {
  SavedModel saved(options.model, options.threads, communicator);
  const SavedFacts& facts = saved.facts();
  const TokenSource source =
      open_tokens(options.data, facts.vocab, saved.together());
  communicator.locate({.step = -1, .phase = "evaluate"});
  EvaluateResult result = evaluate_over(
      saved.engine(),
      data::EvaluationWindows({.tokens = source.tokens,
                               .sequence = sequence_of(options, facts),
                               .lane_samples = facts.lane_samples}));
  result.warnings = saved.warnings();
  return result;
}

}  // namespace quire::train
